/** Sidecars that share counts, as processes. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { userMessage } from "outrigger";
import { InferenceService } from "outrigger/proto";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { hasValkey, ValkeyServer } from "../support/valkey/start-valkey.ts";
import { killLeftovers, spawnOutrigger } from "./support/spawn-outrigger.ts";

let simulator: Simulator;
let folder: string;

beforeAll(async () => {
  simulator = await startSimulator();
  folder = await mkdtemp(join(tmpdir(), "outrigger-shared-"));
});

afterEach(killLeftovers);

afterAll(async () => {
  await simulator.close();
  await rm(folder, { recursive: true });
});

/** Starts a sidecar of a configuration. */
async function serve(config: string) {
  const listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
  const outrigger = spawnOutrigger(["serve", "--config", config, ...listen], {
    OPENAI_API_KEY: "k",
    OPENAI_BASE_URL: simulator.openaiBaseUrl,
  });
  await outrigger.printed(/"msg":"serving"/);
  const [line] = await outrigger.printed(/\{[^\n]*"msg":"listening"\}/);
  const { addresses, admin_address: admin } = JSON.parse(line) as {
    addresses: string[];
    admin_address: string;
  };
  const transport = createGrpcTransport({ baseUrl: `http://${addresses[0]}` });
  const client = createClient(InferenceService, transport);
  const call = () => client.complete({ model: "sim-text", messages: [userMessage("Hi")] });
  const get = async (path: string) => (await fetch(`http://${admin}${path}`)).text();
  return { outrigger, call, get };
}

describe.skipIf(!hasValkey)("sidecars that share counts", () => {
  it("keep one budget, report when the server is unavailable, and continue counting when it returns", async () => {
    const valkey = await ValkeyServer.start("--requirepass", "hush-password");
    onTestFinished(() => valkey.stop());
    await writeFile(join(folder, "password"), "hush-password\n");
    const config = join(folder, "outrigger.yaml");
    await writeFile(
      config,
      `
shared:
  valkey: { url: "${valkey.url()}", password_file: password, timeout: 5s }
middleware:
  budget: { window: month, requests: 3, shared: true }
  circuit_breaker: { shared: true }
`,
    );
    const [one, two] = [await serve(config), await serve(config)];
    await one.call();
    await two.call();
    await one.call();
    await expect(two.call()).rejects.toThrow(
      "the budget of 3 requests per month for this sidecar has too little",
    );
    expect(await one.get("/readyz?verbose")).not.toContain("shared counts");
    expect(await one.get("/metrics")).toContain('outrigger_shared_server_reachable{server="valkey"} 1');
    await valkey.kill();
    await one.outrigger.printed(
      /"msg":"cannot use the server of shared counts: each sidecar counts separately"/,
    );
    expect(await one.get("/readyz?verbose")).toContain(`shared counts: Valkey at 127.0.0.1:${valkey.port}: `);
    expect(await one.get("/metrics")).toContain('outrigger_shared_server_reachable{server="valkey"} 0');
    // Alone, it begins with the sums that it knows.
    await expect(two.call()).rejects.toThrow("too little left");
    await valkey.resume("--requirepass", "hush-password");
    await expect
      .poll(() => one.get("/metrics"))
      .toContain('outrigger_shared_server_reachable{server="valkey"} 1');
    await one.call();
    one.outrigger.child.kill("SIGTERM");
    expect(await one.outrigger.ended).toBe(0);
    expect(one.outrigger.stdout()).not.toContain("hush");
  });
});
