import { describe, expect, it } from "vitest";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { callGrpc, grpcClient } from "../support/clients.ts";
import { oneByOne, textEvents } from "../support/scripted-inference.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

describe("the admin listener", () => {
  it("answers probes", async () => {
    const server = await servers.start();
    for (const [path, text] of [
      ["/livez", "ok\n"],
      ["/readyz", "ready\n"],
      ["/readyz?verbose=1", "ready\n"],
      ["/livez?", "ok\n"],
    ]) {
      const response = await fetch(`${server.adminUrl}${path}`);
      expect([response.status, await response.text()]).toEqual([200, text]);
    }
  });

  it("names what is degraded, and stays ready", async () => {
    const server = await servers.start({}, { problems: ["store of runs: full"] });
    const read = async (path: string) => {
      const response = await fetch(`${server.adminUrl}${path}`);
      return [response.status, await response.text()];
    };
    expect(await read("/readyz")).toEqual([200, "ready\n"]);
    for (const path of ["/readyz?verbose", "/readyz?x=1&verbose=true"])
      expect(await read(path)).toEqual([200, "ready, degraded\n[-] store of runs: full\n"]);
  });

  it("answers HEAD without a body, and takes nothing else", async () => {
    const server = await servers.start();
    const head = await fetch(`${server.adminUrl}/livez`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await fetch(`${server.adminUrl}/livez`, { method: "POST" })).status).toBe(405);
    expect((await fetch(`${server.adminUrl}/nothing`)).status).toBe(404);
  });

  it("has metrics of calls, tokens and the process", async () => {
    const server = await servers.start({ stream: (call) => oneByOne(textEvents(call, ["a"])) });
    const client = grpcClient(server.authority);
    servers.onEnd(() => client.close());
    await callGrpc(client, InferenceService.method.stream, { model: "m-1" });
    await fetch(`${server.url}/nothing`, { method: "POST" });
    const scrape = async () => (await fetch(`${server.adminUrl}/metrics`)).text();
    await expect.poll(scrape).toContain('outrigger_requests_total{rpc="unknown",code="UNIMPLEMENTED"} 1\n');
    const metrics = await scrape();
    const rpc = 'rpc="outrigger.v1.InferenceService/Stream"';
    expect(metrics).toContain(`outrigger_requests_total{${rpc},code="OK"} 1\n`);
    expect(metrics).toContain(`outrigger_request_seconds_count{${rpc}} 1\n`);
    expect(metrics).toContain(`outrigger_request_seconds_bucket{${rpc},le="+Inf"} 1\n`);
    expect(metrics).toContain("outrigger_inflight 0\n");
    expect(metrics).toContain(
      'outrigger_tokens_total{provider="scripted",model="m-1",direction="input"} 7\n',
    );
    expect(metrics).toContain(
      'outrigger_tokens_total{provider="scripted",model="m-1",direction="output"} 5\n',
    );
    expect(metrics).toContain('outrigger_build_info{version="0.0.0-test"} 1\n');
    const [, seconds] = /^process_cpu_seconds_total ([\d.]+)$/m.exec(metrics) ?? [];
    expect(Number(seconds)).toBeGreaterThan(0);
    expect(Number(/^process_resident_memory_bytes (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(1e7);
    const startedAt = Number(/^process_start_time_seconds ([\d.]+)$/m.exec(metrics)?.[1]);
    expect(Math.abs(startedAt - (Date.now() / 1000 - process.uptime()))).toBeLessThan(5);
  });

  it("does not exist if none is requested", async () => {
    const server = await servers.start({}, { adminListen: undefined });
    expect(server.adminAddress).toBeUndefined();
  });

  it("names the setting when its address is wrong, and closes its sockets", async () => {
    await expect(servers.start({}, { adminListen: "nonsense" })).rejects.toThrow(
      /^admin_listen: "nonsense" is not/,
    );
  });
});

describe("the data listener", () => {
  it("needs an address", async () => {
    await expect(servers.start({}, { listen: [] })).rejects.toThrow(
      "listen: is empty, expected at least one address",
    );
  });
});
