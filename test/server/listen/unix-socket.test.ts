import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { callGrpc, grpcClient } from "../support/clients.ts";
import { textResponse } from "../support/scripted-inference.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

async function socketPath(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "outrigger-"));
  servers.onEnd(() => rm(directory, { recursive: true, force: true }));
  return join(directory, "outrigger.sock");
}

function start(path: string, unixSocketMode?: number) {
  const script = { complete: async (call: Parameters<typeof textResponse>[0]) => textResponse(call, "x") };
  return servers.start(script, {
    listen: [`unix://${path}`],
    ...(unixSocketMode === undefined ? {} : { unixSocketMode }),
  });
}

function statusOver(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath: path, path: "/nothing", agent: false }, (response) => {
      response.resume().once("close", () => resolve(response.statusCode));
    });
    request.on("error", reject).end();
  });
}

describe("a Unix socket", () => {
  it("is an address like any other", async () => {
    const path = await socketPath();
    const server = await start(path);
    expect(server.addresses).toEqual([`unix://${path}`]);
    expect(await statusOver(path)).toBe(404);
    const client = grpcClient(`unix:${path}`);
    servers.onEnd(() => client.close());
    const { code } = await callGrpc(client, InferenceService.method.complete, { model: "m" });
    expect(code).toBe(0);
  });

  it("is open to its owner and group, and goes with its server", async () => {
    const path = await socketPath();
    const server = await start(path);
    expect((await stat(path)).mode & 0o777).toBe(0o660);
    await server.close();
    expect(existsSync(path)).toBe(false);
  });

  it("has the permissions that are configured", async () => {
    const path = await socketPath();
    await start(path, 0o600);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("replaces the socket that a killed process left", async () => {
    const path = await socketPath();
    const leave = `require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;
    expect(() => execFileSync(process.execPath, ["-e", leave, path], { stdio: "ignore" })).toThrow();
    expect(existsSync(path)).toBe(true);
    await start(path);
    expect(await statusOver(path)).toBe(404);
  });

  it("does not replace the socket of a running server", async () => {
    const path = await socketPath();
    const other = net.createServer((socket) => socket.on("error", () => {}).end("mine"));
    await new Promise<void>((resolve) => other.listen(path, resolve));
    servers.onEnd(() => new Promise((resolve) => other.close(resolve)));
    await expect(start(path)).rejects.toThrow(`listen: unix://${path} is in use by another process`);
    expect(existsSync(path)).toBe(true);
  });

  it("does not remove a file", async () => {
    const path = await socketPath();
    await writeFile(path, "precious");
    await expect(start(path)).rejects.toThrow(`listen: unix://${path} exists and is not a socket`);
    expect(existsSync(path)).toBe(true);
  });
});
