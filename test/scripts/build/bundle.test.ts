import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type BundleFile, bundleProgram, writeBundle } from "../../../scripts/build/bundle.ts";
import { killLeftovers, type Outrigger, spawnOutrigger } from "../../cli/support/spawn-outrigger.ts";
import { serveByHand } from "../../runs/mcp/servers.ts";
import { Postgres } from "../../support/postgres/start-postgres.ts";

const postgres = await Postgres.start();

const anyPort = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];

/** A folder outside of the project, so that a program in it finds no packages. */
let folder: string;
let files: readonly BundleFile[];

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "outrigger-bundle-")));
  files = await bundleProgram("src/cli/main.ts", "outrigger.cjs");
  await writeBundle(files, folder);
});

afterEach(killLeftovers);

afterAll(async () => {
  await rm(folder, { recursive: true });
  await postgres?.stop();
});

function spawnBundle(args: readonly string[], env: Record<string, string> = {}): Outrigger {
  return spawnOutrigger(args, env, join(folder, "outrigger.cjs"));
}

async function complete(address: string): Promise<unknown> {
  const response = await fetch(`http://${address}/outrigger.v1.InferenceService/Complete`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "sim-text",
      messages: [{ role: "ROLE_USER", content: [{ text: "Say hello." }] }],
    }),
  });
  return response.json();
}

/** Variables that make a process write the list of its loaded files when it ends. */
async function recordLoadedFiles(): Promise<{ env: Record<string, string>; loaded(): Promise<string[]> }> {
  const [preload, list] = [join(folder, "list-loaded.cjs"), join(folder, "loaded.json")];
  const write = `require("node:fs").writeFileSync(${JSON.stringify(list)}, JSON.stringify(Object.keys(require.cache)))`;
  await writeFile(preload, `process.on("exit", () => ${write});`);
  return {
    env: { NODE_OPTIONS: `--require=${preload}` },
    async loaded() {
      const paths: string[] = JSON.parse(await readFile(list, "utf8"));
      return paths.filter((path) => path !== preload).map((path) => relative(folder, path));
    },
  };
}

function modulesIn(paths: readonly string[]): string[] {
  return files.filter(({ path }) => paths.includes(path)).flatMap(({ modules }) => modules);
}

describe("the bundle", () => {
  it("leaves out modules that a sidecar never runs", () => {
    const modules = files.flatMap((file) => file.modules);
    expect(modules).toContain("node_modules/undici/lib/dispatcher/pool.js");
    expect(modules).toContain("node_modules/zod/v4/mini/schemas.js");
    const dead =
      /undici\/lib\/(milo|mock|cache|web\/(websocket|eventsource|fetch\/index))|zod\/v4\/(classic|locales)|\/(ajv|jose)|node_modules\/(luxon|cron-parser|rrule-temporal)/;
    // The MCP client is written with zod's larger form, and tokens are verified by jose. Both load when they are used.
    const users = ["chunks/runs-mcp-connection.cjs", "chunks/server-access-token-verifier.cjs"];
    const others = files.filter(({ path }) => !users.includes(path));
    expect(others.flatMap((file) => file.modules).filter((module) => dead.test(module))).toEqual([]);
  });

  it("bundles a program that has no store", async () => {
    const stock = await bundleProgram("bench/implementations/stock.ts", "stock.cjs");
    expect(stock.map(({ path }) => path)).toContain("stock.cjs");
    expect(stock.flatMap(({ modules }) => modules).join()).not.toContain("/pg-boss/");
  });

  it("has every module once, and names its files after their importers", () => {
    const modules = files.flatMap((file) => file.modules);
    expect(new Set(modules).size).toBe(modules.length);
    expect(files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["chunks/cli-demo+cli-serve.cjs", "chunks/common.cjs", "outrigger.cjs"]),
    );
  });

  it("serves without loading the simulator, or what only some configurations need", async () => {
    const { env, loaded } = await recordLoadedFiles();
    const serve = spawnBundle(["serve", ...anyPort], { ...env, OPENAI_API_KEY: "sk-none" });
    await serve.printed(/"msg":"serving"/);
    serve.child.kill("SIGTERM");
    expect(await serve.ended).toBe(0);
    const modules = modulesIn(await loaded());
    expect(modules).toContain("src/server/rpc/grpc/transport.ts");
    const unused =
      /^src\/simulator\/|^src\/config\/yaml-file|^src\/middleware\/shared\/|^node_modules\/(yaml|@modelcontextprotocol|pg|jose|@redis)\/|^src\/cli\/(demo|simulate)/;
    expect(modules.filter((module) => unused.test(module))).toEqual([]);
    expect(files.flatMap((file) => file.modules).filter((module) => unused.test(module))).not.toEqual([]);
  });

  it("prints its version from the start file and the shared chunk alone", async () => {
    const { env, loaded } = await recordLoadedFiles();
    const outrigger = spawnBundle(["--version"], env);
    expect(await outrigger.ended).toBe(0);
    expect(outrigger.stdout()).toMatch(/^outrigger \d+\.\d+\.\d+\n$/);
    expect((await loaded()).sort()).toEqual(["chunks/cli-run.cjs", "chunks/common.cjs", "outrigger.cjs"]);
  });

  it("answers calls and health checks in a folder that holds nothing else", async () => {
    const demo = spawnBundle(["demo", ...anyPort]);
    const [, address = ""] = await demo.printed(/calls +(\S+)/);
    const [, admin = ""] = await demo.printed(/health and metrics +http:\/\/([^/]+)\//);
    expect(await complete(address)).toMatchObject({
      model: "sim-text",
      finishReason: { reason: "REASON_STOP" },
    });
    const check = spawnBundle(["healthcheck"], { OUTRIGGER_ADMIN_LISTEN: admin });
    expect([await check.ended, check.stdout()]).toEqual([0, "ready\n"]);
    demo.child.kill("SIGTERM");
    expect(await demo.ended).toBe(0);
  });

  it("serves runs whose model is a program and whose tools belong to an MCP server", async () => {
    const desk = await serveByHand({});
    const config = join(folder, "outrigger.yaml");
    const provider = "{ api: command, command: [/bin/cat], format: text }";
    await writeFile(
      config,
      `providers: { echo: ${provider} }\nmcp: { servers: { desk: { url: ${desk.url} } } }\n`,
    );
    const serve = spawnBundle(["serve", "--config", config, ...anyPort]);
    const [, address = ""] = await serve.printed(/"addresses":\["([^"]+)"/);
    const response = await fetch(`http://${address}/outrigger.v1.RunService/CreateRun`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        options: {
          request: { model: "m", messages: [{ role: "ROLE_USER", content: [{ text: "Say hello." }] }] },
        },
        mcpServers: [{ serverLabel: "desk" }],
      }),
    });
    expect(await response.json()).toMatchObject({
      status: "RUN_STATUS_COMPLETED",
      mcpTools: [{ name: "desk__work", serverLabel: "desk", toolName: "work" }],
      steps: [{ response: { provider: "echo", message: { content: [{ text: "Say hello." }] } } }],
    });
    serve.child.kill("SIGTERM");
    expect(await serve.ended).toBe(0);
  });

  it.skipIf(postgres === undefined)("executes runs in the background that PostgreSQL keeps", async () => {
    const config = join(folder, "postgres.yaml");
    await writeFile(config, "providers: { echo: { api: command, command: [/bin/cat], format: text } }\n");
    const env = { OUTRIGGER_RUNS_STORE: postgres?.url() ?? "" };
    const serve = spawnBundle(["serve", "--config", config, ...anyPort], env);
    const [, address = ""] = await serve.printed(/"addresses":\["([^"]+)"/);
    const call = async (method: string, body: object): Promise<unknown> => {
      const response = await fetch(`http://${address}/outrigger.v1.RunService/${method}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return response.json();
    };
    const options = { request: { model: "m" }, prompt: "Say hello." };
    expect(await call("CreateRun", { options, background: true })).toMatchObject({
      status: "RUN_STATUS_QUEUED",
    });
    const list = () => call("ListRuns", {});
    await expect.poll(list).toMatchObject({ runs: [{ status: "RUN_STATUS_COMPLETED" }] });
    serve.child.kill("SIGTERM");
    expect(await serve.ended).toBe(0);
  });

  it("runs the simulator without loading the server", async () => {
    const { env, loaded } = await recordLoadedFiles();
    const simulate = spawnBundle(["simulate", "--port", "0"], env);
    const [, baseUrl] = await simulate.printed(/\nOPENAI_BASE_URL=(\S+)/);
    const response = await fetch(`${baseUrl}/responses`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer any" },
      body: JSON.stringify({ model: "sim-text", input: "Hello" }),
    });
    expect(await response.json()).toMatchObject({ object: "response", status: "completed" });
    simulate.child.kill("SIGTERM");
    expect(await simulate.ended).toBe(0);
    const modules = modulesIn(await loaded());
    expect(modules).toContain("simulator/start-simulator.ts");
    expect(modules).not.toContain("src/server/rpc/grpc/transport.ts");
  });

  it("reads a configuration file, for which it loads a chunk", async () => {
    const config = join(folder, "outrigger.yaml");
    await writeFile(config, "listen: [nowhere]\n");
    const serve = spawnBundle(["serve", "--config", config]);
    expect(await serve.ended).toBe(3);
    expect(serve.stderr()).toContain("outrigger.yaml:1:10 listen[0]: expected an address");
  });

  it("runs once if its start file has another name", async () => {
    await writeFile(join(folder, "renamed.cjs"), await readFile(join(folder, "outrigger.cjs")));
    const renamed = spawnOutrigger(["--version"], {}, join(folder, "renamed.cjs"));
    expect(await renamed.ended).toBe(0);
    expect(renamed.stdout()).toMatch(/^outrigger \S+\n$/);
  });
});
