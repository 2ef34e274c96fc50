import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MAX_WAITING } from "../../src/server/telemetry/log-output.ts";
import { freePort, killLeftovers, spawnWithOutputs } from "./support/spawn-outrigger.ts";

afterEach(killLeftovers);

const STOP_TIMEOUT_MS = 4000;

/** A sidecar whose log goes to `stdout`. */
async function startOnto(stdout: number | "pipe") {
  const [dataPort, adminPort] = [await freePort(), await freePort()];
  const addresses = ["--listen", `127.0.0.1:${dataPort}`, "--admin-listen", `127.0.0.1:${adminPort}`];
  const env = { OPENAI_API_KEY: "unused" };
  const child = spawnWithOutputs(["serve", ...addresses], env, ["ignore", stdout, "inherit"]);
  const admin = `http://127.0.0.1:${adminPort}`;
  await vi.waitFor(async () => expect((await fetch(`${admin}/readyz`)).status).toBe(200), {
    timeout: 15_000,
    interval: 50,
  });
  return {
    child,
    call: () => callNothing(dataPort),
    livez: async () => (await fetch(`${admin}/livez`, { signal: AbortSignal.timeout(1000) })).status,
    async dropped(): Promise<number> {
      const text = await (await fetch(`${admin}/metrics`)).text();
      return Number(/^outrigger_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
    },
    /** Sends SIGTERM. Returns the exit code. Rejects if the process takes too long. */
    async stop(): Promise<unknown> {
      child.kill("SIGTERM");
      const [code] = await once(child, "exit", { signal: AbortSignal.timeout(STOP_TIMEOUT_MS) });
      return code;
    },
  };
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** Makes a call with a long line in the log. Returns its HTTP status. */
function callNothing(port: number): Promise<number | undefined> {
  const headers = { "x-request-id": "r".repeat(128) };
  return new Promise((resolve, reject) => {
    const request = get({ port, host: "127.0.0.1", path: "/nothing", agent, headers }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    request.on("error", reject);
  });
}

describe("outrigger serve with a log that cannot be written", () => {
  it("serves calls on a full disk, counts the lost lines and stops on SIGTERM", async () => {
    const disk = openSync("/dev/full", "w");
    const sidecar = await startOnto(disk);
    closeSync(disk);
    for (let call = 0; call < 50; call += 1) expect(await sidecar.call()).toBe(404);
    expect(await sidecar.livez()).toBe(200);
    await expect.poll(sidecar.dropped).toBeGreaterThanOrEqual(50);
    expect(await sidecar.stop()).toBe(0);
  });

  it("serves calls while its log pipe is not read, drops lines beyond its buffer and stops on SIGTERM", async () => {
    const folder = await mkdtemp(join(tmpdir(), "outrigger-pipe-"));
    const path = join(folder, "pipe");
    execFileSync("mkfifo", [path]);
    const pipe = openSync(path, constants.O_RDWR);
    const sidecar = await startOnto(pipe);
    const calls = Math.ceil((1.5 * MAX_WAITING) / 300);
    for (let call = 0; call < calls; call += 8) await Promise.all(Array.from({ length: 8 }, sidecar.call));
    expect(await sidecar.livez()).toBe(200);
    expect(await sidecar.dropped()).toBeGreaterThan(0);
    expect(await sidecar.stop()).toBe(0);
    closeSync(pipe);
    await rm(folder, { recursive: true });
  });

  it("serves calls after the reader of its pipe has left, and stops on SIGTERM", async () => {
    const sidecar = await startOnto("pipe");
    sidecar.child.stdout?.destroy();
    for (let call = 0; call < 50; call += 1) expect(await sidecar.call()).toBe(404);
    await expect.poll(sidecar.dropped).toBeGreaterThan(0);
    expect(await sidecar.livez()).toBe(200);
    expect(await sidecar.stop()).toBe(0);
  });
});
