/** Middleware behind a server, as callers, metrics and the log show it. */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/client.ts";
import type { Middleware } from "../../../src/client/middleware.ts";
import { ServerError } from "../../../src/core/errors.ts";
import { userMessage } from "../../../src/core/message.ts";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { createCache } from "../../../src/middleware/cache.ts";
import { createCircuitBreaker } from "../../../src/middleware/circuit-breaker.ts";
import { createFallback } from "../../../src/middleware/fallback.ts";
import { createRateLimit } from "../../../src/middleware/rate-limit.ts";
import { createRetry } from "../../../src/middleware/retry.ts";
import { ScriptedAdapter } from "../../client/support/scripted-adapter.ts";
import { callGrpc, grpcClient } from "../support/clients.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();
const { complete, stream } = InferenceService.method;
const request = { model: "m", messages: [userMessage("hi")] };
const down = () => new ServerError("down", { provider: "one" });

async function startWith(middleware: readonly Middleware[], failures: Error[] = []) {
  const one = new ScriptedAdapter("one", { failures });
  const providers = { one, two: new ScriptedAdapter("two") };
  const inference = new Client({ providers, defaultProvider: "one", middleware });
  const server = await servers.start({}, { inference });
  const client = grpcClient(server.authority);
  servers.onEnd(() => client.close());
  return { server, client, one };
}

async function readMetrics(server: TestServer): Promise<string> {
  return (await fetch(`${server.adminUrl}/metrics`)).text();
}

describe("a server over a client with middleware", () => {
  it("sends the attempts with the answer, and counts each call of a provider", async () => {
    const { server, client } = await startWith(
      [createFallback({ targets: [{ provider: "two" }] }), createRetry({ baseDelay: 0.001 })],
      [down(), down(), down()],
    );
    const { messages } = await callGrpc(client, complete, request);
    const [response] = messages;
    expect(response?.attempts.map(({ provider }) => provider)).toEqual(["one", "one", "one"]);
    expect(response?.attempts[0]?.inferenceId).toBe(response?.inferenceId);
    await expect.poll(() => readMetrics(server)).toContain("outrigger_inflight 0");
    expect(await readMetrics(server)).toContain(
      'outrigger_provider_calls_total{rpc="outrigger.v1.InferenceService/Complete"} 4',
    );
    expect(server.log.findLast((line) => "rpc" in line)).toMatchObject({ provider: "two", model: "m" });
  });

  it("does not let a call wait for a retry that its deadline would not reach", async () => {
    const { client, one } = await startWith(
      [createRetry({ baseDelay: 3600, maxDelay: 3600 })],
      [down(), down()],
    );
    for (const method of [complete, stream]) {
      const result = await callGrpc(client, method, request, { deadlineMs: 60_000 });
      expect(result.code).toBe(grpc.status.UNAVAILABLE);
    }
    expect(one.requests).toHaveLength(2);
  });

  it.each([
    ["a retry", createRetry({ baseDelay: 60 }), [down(), down()]],
    ["its turn", createRateLimit({ requestsPerMinute: 1, maxWait: 60 }), []],
  ])(
    "releases everything when callers leave while their calls wait for %s",
    async (_name, middleware, failures) => {
      const { one, server } = await startWith([middleware], failures);
      const client = createClient(InferenceService, createGrpcTransport({ baseUrl: server.url }));
      const left = new AbortController();
      const calls = [1, 2].map(() => client.complete(request, { signal: left.signal }));
      await expect.poll(() => one.requests.length).toBeGreaterThan(0);
      left.abort();
      const ends = await Promise.allSettled(calls);
      expect(ends.map(({ status }) => status)).toContain("rejected");
      await expect.poll(() => readMetrics(server)).toContain("outrigger_inflight 0");
    },
  );

  it("tells callers when to retry a call that a circuit breaker refused", async () => {
    const { client } = await startWith([createCircuitBreaker({ minCalls: 1 })], [down()]);
    await callGrpc(client, complete, request);
    const result = await callGrpc(client, complete, request);
    expect(result.message).toContain("the circuit breaker of one, m is open");
    expect(Number(result.trailers.get("grpc-retry-pushback-ms")[0])).toBeGreaterThan(20_000);
  });

  it("counts no tokens for an answer from the cache", async () => {
    const { server, client, one } = await startWith([createCache()]);
    for (const method of [complete, stream, complete]) await callGrpc(client, method, request);
    expect(one.requests).toHaveLength(1);
    await expect.poll(() => readMetrics(server)).toContain("outrigger_inflight 0");
    expect(await readMetrics(server)).toContain(
      'outrigger_tokens_total{provider="one",model="m",direction="input"} 3\n',
    );
  });
});
