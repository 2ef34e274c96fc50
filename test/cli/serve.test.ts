import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { userMessage } from "outrigger";
import { InferenceService, RunService, RunStatus } from "outrigger/proto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { Authority, hasTlsTools, replaceFiles } from "../support/certificates.ts";
import {
  killLeftovers,
  type Outrigger,
  runHere,
  runOutrigger,
  spawnOutrigger,
  withBusyPort,
} from "./support/spawn-outrigger.ts";

const anyPort = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];

let simulator: Simulator;
let folder: string;

beforeAll(async () => {
  simulator = await startSimulator();
  folder = await mkdtemp(join(tmpdir(), "outrigger-serve-"));
});

afterEach(killLeftovers);

afterAll(async () => {
  await simulator.close();
  await rm(folder, { recursive: true });
});

function provider(): Record<string, string> {
  return { OPENAI_API_KEY: "sk-very-secret", OPENAI_BASE_URL: simulator.openaiBaseUrl };
}

/** Waits until a sidecar serves. Returns its addresses. */
async function listAddresses(outrigger: Outrigger): Promise<{ data: string; admin: string }> {
  await outrigger.printed(/"msg":"serving"/);
  const listening = await outrigger.printed(/\{[^\n]*"msg":"listening"\}/);
  const { addresses, admin_address: admin } = JSON.parse(listening[0]) as {
    addresses: string[];
    admin_address: string;
  };
  return { data: addresses[0] ?? "", admin };
}

/** Reports whether a process has a listener for a signal. */
function catches(pid: number | undefined, signal: NodeJS.Signals): boolean {
  const [, mask = "0"] = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (BigInt(`0x${mask}`) & (1n << BigInt(constants.signals[signal] - 1))) !== 0n;
}

function clientFor(address: string) {
  return createClient(InferenceService, createGrpcTransport({ baseUrl: `http://${address}` }));
}

describe("outrigger serve", () => {
  it("does not start without a provider, and says which variables it looked for", async () => {
    const { code, stdout, stderr } = await runOutrigger(["serve"], { OPENAI_ORG_ID: "o" });
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toBe(
      "outrigger: no provider is configured. None of these environment variables is set: OPENAI_API_KEY, " +
        "ANTHROPIC_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OUTRIGGER_COMPATIBLE_BASE_URL. " +
        "OPENAI_ORG_ID is set, but OPENAI_API_KEY is not: the provider openai is not registered.\n" +
        'Name one in a configuration file, or try "outrigger demo", which needs no key.\n',
    );
  });

  it.skipIf(!hasTlsTools)(
    "serves TLS, knows callers by their certificates, and uses certificates that replace others",
    async () => {
      const ca = new Authority();
      const [files, identity] = [ca.issue(), ca.issue({ name: "checkout" })];
      const tls = {
        OUTRIGGER_TLS_CERTIFICATE_FILE: files.cert,
        OUTRIGGER_TLS_KEY_FILE: files.key,
        OUTRIGGER_TLS_CLIENT_CA_FILE: ca.file,
      };
      // Open to the network: certificates decide who may call.
      const args = ["serve", "--listen", "0.0.0.0:0", "--admin-listen", "127.0.0.1:0"];
      const outrigger = spawnOutrigger(args, { ...provider(), ...tls });
      const { data, admin } = await listAddresses(outrigger);
      const readExpiry = async () => {
        const metrics = await (await fetch(`http://${admin}/metrics`)).text();
        const [, seconds] =
          /^outrigger_certificate_expiry_timestamp_seconds\{listener="data"\} (\S+)$/m.exec(metrics) ?? [];
        return Math.round((Number(seconds) * 1000 - Date.now()) / 86_400_000);
      };
      expect(await readExpiry()).toBe(30);
      const [cert, key, root] = await Promise.all(
        [identity.cert, identity.key, ca.file].map((path) => readFile(path)),
      );
      const baseUrl = `https://localhost:${data.split(":")[1]}`;
      const client = createClient(
        InferenceService,
        createGrpcTransport({ baseUrl, nodeOptions: { ca: root, cert, key } }),
      );
      const call = () => client.complete({ model: "sim-text", messages: [userMessage("x")] });
      expect((await call()).provider).toBe("openai");
      replaceFiles(files, ca.issue({ to: 20 }));
      await outrigger.printed(/"msg":"using the changed certificate"/);
      expect(await readExpiry()).toBe(20);
      await call();
      await outrigger.printed(/"caller":"checkout"/);
      outrigger.child.kill("SIGTERM");
      expect(await outrigger.ended).toBe(0);
    },
  );

  it("names the address of an unreachable database of runs, and its setting", async () => {
    const config = join(folder, "database.yaml");
    await writeFile(config, 'runs: { store: "postgres://user:very-secret@127.0.0.1:1/runs" }\n');
    const outrigger = spawnOutrigger(["serve", "--config", config, ...anyPort], provider());
    const [line] = await outrigger.printed(/[^\n]*could not reach the database of runs[^\n]*/);
    expect(line).toContain("could not reach the database of runs at 127.0.0.1:1, which runs.store names");
    expect(line).toContain("ECONNREFUSED");
    expect(line).not.toContain("very-secret");
  });

  it("reports all mistakes of its configuration and exits with 3", async () => {
    const config = join(folder, "wrong.yaml");
    await writeFile(config, "lisen: :1\nlog_level: loud\n");
    const { code, stderr } = await runHere(["serve", "--config", config, "--listen", "here"], provider());
    expect(code).toBe(3);
    expect(stderr.split("\n")).toEqual([
      "outrigger: the configuration has 3 mistakes:",
      expect.stringContaining("wrong.yaml:2:1 log_level: expected trace, debug,"),
      expect.stringContaining("wrong.yaml:1:1 lisen: unknown field, expected one of listen,"),
      expect.stringContaining("--listen: expected an address such as"),
      "",
    ]);
  });

  it("says that a configuration file does not exist", async () => {
    const { code, stderr } = await runHere(["serve"], { OUTRIGGER_CONFIG: "none.yaml" });
    expect([code, stderr]).toEqual([3, "outrigger: cannot read the configuration file none.yaml (ENOENT)\n"]);
  });

  it.each(["--listen", "--admin-listen"])(
    "says that the port of %s is busy and exits with 4",
    async (flag) => {
      await withBusyPort(async (port) => {
        const { code, stderr } = await runHere(["serve", ...anyPort, flag, `127.0.0.1:${port}`], provider());
        expect(code).toBe(4);
        expect(stderr).toContain(
          `127.0.0.1:${port} cannot be bound (EADDRINUSE): another process is listening there`,
        );
        expect(stderr).toMatch(new RegExp(`\\nChoose one with ${flag} ADDRESS\\.\\n$`));
      });
    },
  );

  it("exits with 4 for an address that cannot be listened on, and with 3 for a wrong configuration", async () => {
    const file = join(folder, "no-socket");
    await writeFile(file, "");
    const env = { ...provider(), OUTRIGGER_ALLOW_UNAUTHENTICATED: "true" };
    for (const address of [`unix://${file}`, "no-such-host.invalid:0"]) {
      const { code, stderr } = await runHere(["serve", ...anyPort, "--listen", address], env);
      expect(code).toBe(4);
      expect(stderr).toMatch(/^outrigger: listen: .*\nChoose one with --listen ADDRESS\.\n$/);
    }
  });

  it("serves calls, logs one JSON line each without prompts or keys, and stops with 0 on SIGTERM", async () => {
    const outrigger = spawnOutrigger(["serve", ...anyPort], provider());
    const { data, admin } = await listAddresses(outrigger);
    expect((await fetch(`http://${admin}/readyz`)).status).toBe(200);
    const messages = [userMessage("a very private prompt")];
    const response = await clientFor(data).complete({ model: "sim-text", messages });
    expect(response.provider).toBe("openai");
    await outrigger.printed(/InferenceService\/Complete/);
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
    const lines = outrigger
      .stdout()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { msg: string });
    const said = lines.map(({ msg }) => msg);
    expect(said.slice(0, 5)).toEqual(["listening", "serving", "call", "stopping", "draining"]);
    // A pipe that is not read for a moment can swap the last lines of a process that ends.
    expect(said.slice(5).sort()).toEqual(["drained", "stopped"]);
    expect(outrigger.stdout()).not.toMatch(/private prompt|very-secret/);
    expect(outrigger.stderr()).toBe("");
  });

  it("lets a stream in flight end before it stops", async () => {
    const outrigger = spawnOutrigger(["serve", ...anyPort], provider());
    const { data } = await listAddresses(outrigger);
    const seen: (string | undefined)[] = [];
    for await (const { event } of clientFor(data).stream({
      model: "sim-long:tokens=30,rate=60",
      messages: [userMessage("hi")],
    })) {
      if (seen.length === 2) outrigger.child.kill("SIGTERM");
      seen.push(event.case);
    }
    expect(seen.at(-1)).toBe("finish");
    expect(await outrigger.ended).toBe(0);
  });

  it("drains and stops with 0 on SIGQUIT", async () => {
    const outrigger = spawnOutrigger(["serve", ...anyPort], provider());
    await listAddresses(outrigger);
    outrigger.child.kill("SIGQUIT");
    expect(await outrigger.ended).toBe(0);
    expect(outrigger.stdout()).toMatch(/"signal":"SIGQUIT"[^\n]*"msg":"stopping"/);
  });

  it.skipIf(process.platform !== "linux")(
    "stops with 0 on a SIGTERM while it starts, and is not ended by SIGHUP",
    async () => {
      const outrigger = spawnOutrigger(["serve", ...anyPort], provider());
      // Node has a listener for SIGTERM from the beginning, which ends the process.
      while (!catches(outrigger.child.pid, "SIGHUP")) await new Promise(setImmediate);
      expect(outrigger.stdout()).toBe("");
      outrigger.child.kill("SIGHUP");
      outrigger.child.kill("SIGTERM");
      expect(await outrigger.ended).toBe(0);
      expect(outrigger.stdout()).toContain('"signal":"SIGTERM","msg":"stopping"');
    },
  );

  it("reads its key files again on SIGHUP, and continues serving", async () => {
    const config = join(folder, "key-file.yaml");
    await writeFile(join(folder, "rotated"), "sk-one");
    await writeFile(
      config,
      `providers: { main: { api: openai-responses, api_key_file: rotated, base_url: "${simulator.openaiBaseUrl}" } }`,
    );
    const outrigger = spawnOutrigger(["serve", ...anyPort, "--config", config]);
    const { data } = await listAddresses(outrigger);
    await writeFile(join(folder, "rotated"), "sk-two");
    outrigger.child.kill("SIGHUP");
    await outrigger.printed(/"provider":"main"[^\n]*"msg":"using the new key of the key file"/);
    await outrigger.printed(/"signal":"SIGHUP","providers":\["main"\],"msg":"reloaded the key files"/);
    const response = await clientFor(data).complete({ model: "sim-text", messages: [userMessage("hi")] });
    expect(response.provider).toBe("main");
    expect(outrigger.stdout()).not.toContain("sk-");
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
  });

  it("reloads a replaced configuration file without a failed call, and keeps the last valid one", async () => {
    const config = join(folder, "changing.yaml");
    const replaceFile = async (aliases: string, more = "") => {
      const main = `main: { api: openai-responses, api_key: sk-in-file, base_url: "${simulator.openaiBaseUrl}" }`;
      const text = `providers: { ${main} }\nmiddleware: { model_aliases: { ${aliases} } }\n${more}`;
      await writeFile(`${config}.next`, text);
      await rename(`${config}.next`, config);
    };
    await replaceFile("old: { model: sim-text }");
    // The caller may use two aliases; the configuration does not have the second one yet.
    const keys = join(folder, "keys-of-aliases.yaml");
    await writeFile(
      keys,
      "keys: [{ name: checkout, key: first-access-key-1, models: [sim-text, old, new] }]",
    );
    const environment = { OUTRIGGER_ACCESS_KEYS_FILE: keys };
    const outrigger = spawnOutrigger(["serve", ...anyPort, "--config", config], environment);
    const { data, admin } = await listAddresses(outrigger);
    const client = clientFor(data);
    const headers = { authorization: "Bearer first-access-key-1" };
    const call = (model: string) => client.complete({ model, messages: [userMessage("hi")] }, { headers });
    await call("old");
    let calls = 0;
    let isOver = false;
    const load = (async () => {
      for (; !isOver; calls += 1) await call("sim-text");
    })();
    await replaceFile("new: { model: sim-reasoning }");
    const [line] = await outrigger.printed(/\{[^\n]*using the reloaded configuration[^\n]*/);
    expect(JSON.parse(line)).toMatchObject({
      level: 30,
      path: config,
      changed: ["middleware.model_aliases"],
    });
    expect((await call("new")).model).toBe("sim-reasoning");
    const readPage = async (path: string) => (await fetch(`http://${admin}/${path}`)).text();
    expect(await readPage("metrics")).toContain("outrigger_config_last_reload_successful 1");
    await replaceFile("broken: {}", "log_levl: info");
    await outrigger.printed(
      /"level":50[^\n]*changing.yaml:3:1 log_levl: unknown field[^\n]*keeping the previous one/,
    );
    expect((await call("new")).model).toBe("sim-reasoning");
    expect(await readPage("metrics")).toContain("outrigger_config_last_reload_successful 0");
    expect(await readPage("readyz?verbose")).toContain("configuration: the changed file cannot be used");
    await replaceFile("newer: { model: sim-text }", "reflection: false");
    await outrigger.printed(/reflection: a change needs a restart/);
    await rm(config);
    await outrigger.printed(/cannot read the configuration file [^\n]*\(ENOENT\)/);
    await replaceFile("new: { model: sim-reasoning }");
    outrigger.child.kill("SIGHUP");
    await outrigger.printed(/"changed":\[\],"msg":"using the reloaded configuration/);
    expect(await readPage("readyz?verbose")).not.toContain("configuration:");
    isOver = true;
    await load;
    expect(calls).toBeGreaterThan(2);
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
    expect(outrigger.stdout()).not.toContain("sk-in-file");
  });

  it("requires access keys if any are configured, takes new ones on SIGHUP, and shows none", async () => {
    const keys = join(folder, "keys.yaml");
    const entry = (key: string) => `keys: [{ name: checkout, key: ${key}, models: [openai/sim-text] }]`;
    await writeFile(keys, entry("first-access-key-1"));
    const outrigger = spawnOutrigger(["serve", "--admin-listen", "127.0.0.1:0", "--listen", "0.0.0.0:0"], {
      ...provider(),
      OUTRIGGER_ACCESS_KEYS_FILE: keys,
    });
    const { data } = await listAddresses(outrigger);
    const client = clientFor(data.replace("0.0.0.0", "127.0.0.1"));
    const call = (key: string, model = "sim-text") =>
      client
        .complete({ model, messages: [userMessage("hi")] }, { headers: { authorization: `Bearer ${key}` } })
        .then(({ provider: name }) => name)
        .catch((error: ConnectError) => Code[error.code]);
    expect(await call("wrong-access-key-1")).toBe("Unauthenticated");
    expect(await call("first-access-key-1")).toBe("openai");
    expect(await call("first-access-key-1", "sim-tools")).toBe("PermissionDenied");
    const runs = createClient(
      RunService,
      createGrpcTransport({
        baseUrl: `http://${data.replace("0.0.0.0", "127.0.0.1")}`,
        interceptors: [
          (next) => (request) => {
            request.header.set("authorization", "Bearer first-access-key-1");
            return next(request);
          },
        ],
      }),
    );
    const callModel = async (model: string) => {
      const options = { request: { model, messages: [userMessage("hi")] } };
      const { id: runId } = await runs.createRun({ options, background: true });
      for await (const _event of runs.streamRun({ runId }));
      return runs.getRun({ runId });
    };
    expect(await callModel("sim-text")).toMatchObject({ status: RunStatus.COMPLETED });
    expect(await callModel("sim-tools")).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: 'the caller checkout may not use the model "sim-tools" of "openai"' },
    });
    await writeFile(keys, entry("second-access-key"));
    outrigger.child.kill("SIGHUP");
    await outrigger.printed(/"names":\["checkout"\],"msg":"using the changed access keys"/);
    expect(await call("first-access-key-1")).toBe("Unauthenticated");
    expect(await call("second-access-key")).toBe("openai");
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
    expect(outrigger.stdout()).toContain('"caller":"checkout"');
    expect(outrigger.stdout()).not.toMatch(/access-key-1|second-access|not authenticated/);
  });

  it("does not open Node's inspector on SIGUSR1", async () => {
    const outrigger = spawnOutrigger(["serve", ...anyPort], provider());
    await listAddresses(outrigger);
    outrigger.child.kill("SIGUSR1");
    outrigger.child.kill("SIGHUP");
    await outrigger.printed(/reloaded the key files/);
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
    expect(outrigger.stderr()).toBe("");
  });

  it.each(["0.0.0.0:0", ":0", "[::]:0", "192.0.2.7:0", "some-host:0"])(
    "does not start on %s without access keys, unless that is configured explicitly",
    async (address) => {
      const listen = [...anyPort, "--listen", address];
      const { code, stderr } = await runHere(["serve", ...listen], provider());
      expect(code).toBe(3);
      expect(stderr).toContain(
        `outrigger: listen: ${address} is open to the network: any client that reaches it could use the providers' ` +
          "keys, because no access keys or tokens are configured.\nName a file with keys in access_keys_file (OUTRIGGER_ACCESS_KEYS_FILE)",
      );
      expect(stderr).toContain("OUTRIGGER_ALLOW_UNAUTHENTICATED=true");
    },
  );

  it("warns only if its data address is open to the network without access keys", async () => {
    const socket = `unix://${join(folder, "local.sock")}`;
    const addresses = ["127.0.0.1:0", "[::1]:0", "localhost:0", socket, "0.0.0.0:0"];
    const listen = addresses.flatMap((address) => ["--listen", address]);
    const outrigger = spawnOutrigger(["serve", "--admin-listen", "127.0.0.1:0", ...listen], {
      ...provider(),
      OUTRIGGER_ALLOW_UNAUTHENTICATED: "true",
    });
    const [line] = await outrigger.printed(/\{[^\n]*calls are not authenticated[^\n]*\}/);
    expect(JSON.parse(line)).toMatchObject({
      level: 40,
      addresses: [expect.stringMatching(/^0\.0\.0\.0:\d+$/)],
    });
    const local = spawnOutrigger(["serve", ...anyPort], provider());
    await local.printed(/"msg":"serving"/);
    expect(local.stdout()).not.toContain("not authenticated");
  });

  it("stops at once on a second signal", async () => {
    const outrigger = spawnOutrigger(["serve", ...anyPort], provider());
    const { data } = await listAddresses(outrigger);
    const reading = (async () => {
      for await (const _event of clientFor(data).stream({
        model: "sim-long:rate=5",
        messages: [userMessage("hi")],
      })) {
        outrigger.child.kill("SIGINT");
        await outrigger.printed(/"msg":"draining"/);
        outrigger.child.kill("SIGINT");
      }
    })();
    const [code, outcome] = await Promise.all([outrigger.ended, reading.catch((error: unknown) => error)]);
    expect(code).toBe(130);
    expect(outcome).toBeInstanceOf(ConnectError);
  });

  it("serves the configuration of a file", async () => {
    const config = join(folder, "outrigger.yaml");
    const socket = join(folder, "outrigger.sock");
    await writeFile(join(folder, "key"), "sk-from-file\n");
    await writeFile(
      config,
      `listen: unix://${socket}\nadmin_listen: off\nlog_level: warn\nproviders:\n  main:\n    api: openai-responses\n` +
        `    api_key_file: key\n    base_url: \${BASE_URL}\n`,
    );
    simulator.clearRequests();
    const env = { OUTRIGGER_CONFIG: config, BASE_URL: simulator.openaiBaseUrl, OPENAI_ORG_ID: "o" };
    const outrigger = spawnOutrigger(["serve"], env);
    await outrigger.printed(/"msg":"OPENAI_ORG_ID is set, but/);
    const transport = createGrpcTransport({
      baseUrl: "http://localhost",
      nodeOptions: { path: socket } as never,
    });
    const response = await createClient(InferenceService, transport).complete({
      model: "sim-text",
      messages: [userMessage("hi")],
    });
    expect(response.provider).toBe("main");
    expect(simulator.requests[0]?.headers.authorization).toBe("Bearer sk-from-file");
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
  });
});
