import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { CallTarget } from "../../../src/core/adapter.ts";
import { RateLimitError, ServerError } from "../../../src/core/errors.ts";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import type { Call, CallObserver } from "../../../src/server/telemetry/call-observer.ts";
import { TRANSPORTS } from "../support/clients.ts";
import { oneByOne, type Script, textEvents, textResponse } from "../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

/** An observer that records the calls of its methods, each with the name of the RPC. */
function recordingObserver(): { observer: CallObserver; events: [string, unknown][] } {
  const events: [string, unknown][] = [];
  const getName = (rpc: string) => rpc.slice(rpc.indexOf("/") + 1);
  const observer: CallObserver = {
    begin: (call) => void events.push([`begin ${getName(call.rpc)}`, call.protocol]),
    attempt: (call, attempt) => void events.push([`attempt ${getName(call.rpc)}`, attempt]),
    attemptEnd: (call, attempt, outcome) =>
      void events.push([`attempt end ${getName(call.rpc)}`, { attempt, ...outcome }]),
    firstOutput: (call, output) => void events.push([`first output ${getName(call.rpc)}`, output]),
    end: (call, outcome) => void events.push([`end ${getName(call.rpc)}`, outcome]),
  };
  return { observer, events };
}

async function startObserved(script: Script) {
  const { observer, events } = recordingObserver();
  const server = await servers.start(script, { observers: [observer] });
  return { server, events, ended: () => expect.poll(() => events.at(-1)?.[0]).toMatch(/^end /) };
}

function getClient(server: TestServer, transport: string) {
  const transportTo = TRANSPORTS[transport];
  if (transportTo === undefined) throw new Error(`no transport ${transport}`);
  return createClient(InferenceService, transportTo(server.url));
}

describe("a CallObserver", () => {
  it.each(Object.keys(TRANSPORTS))("observes a stream over %s from start to end", async (transport) => {
    const { server, events, ended } = await startObserved({
      stream: (call) => oneByOne(textEvents(call, ["a", "b"])),
    });
    for await (const _ of getClient(server, transport).stream({ model: "asked-for" }));
    await ended();
    const inferenceId = server.inference.calls[0]?.inferenceId;
    const protocol = transport.startsWith("gRPC-Web")
      ? "grpc-web"
      : transport === "gRPC"
        ? "grpc"
        : "connect";
    expect(events).toMatchObject([
      ["begin Stream", protocol],
      ["attempt Stream", { inferenceId, provider: "", model: "asked-for" }],
      ["first output Stream", { provider: "scripted", model: "asked-for", elapsedMs: expect.any(Number) }],
      [
        "attempt end Stream",
        {
          attempt: { inferenceId, provider: "", model: "asked-for" },
          durationMs: expect.any(Number),
          isRepeated: false,
          error: undefined,
          usage: { inputTokens: 7, outputTokens: 5 },
        },
      ],
      [
        "end Stream",
        {
          code: undefined,
          disconnected: false,
          inferenceId,
          provider: "scripted",
          usage: { inputTokens: 7, outputTokens: 5 },
          firstOutputMs: expect.any(Number),
        },
      ],
    ]);
    const [, { firstOutputMs, durationMs }] = events.at(-1) as [
      string,
      { firstOutputMs: number; durationMs: number },
    ];
    expect(firstOutputMs).toBeLessThanOrEqual(durationMs);
  });

  it("gets the error and the provider of a call that failed", async () => {
    const { server, events, ended } = await startObserved({
      complete: async () => {
        throw new RateLimitError("slow down", { provider: "scripted" });
      },
    });
    const client = getClient(server, "gRPC");
    await expect(client.complete({ model: "m" })).rejects.toThrow("slow down");
    await ended();
    expect(events.map(([name]) => name)).toEqual([
      "begin Complete",
      "attempt Complete",
      "attempt end Complete",
      "end Complete",
    ]);
    expect(events.at(-2)?.[1]).toMatchObject({ isRepeated: false, error: expect.any(RateLimitError) });
    expect(events.at(-1)?.[1]).toMatchObject({
      code: Code.ResourceExhausted,
      error: expect.any(RateLimitError),
      provider: "scripted",
      firstOutputMs: undefined,
    });
  });

  it("gets an end for each attempt of a call that is sent again", async () => {
    const { server, events, ended } = await startObserved({
      complete: async (call) => {
        call.onTarget?.({ provider: "first", model: "a" });
        call.onTarget?.({ provider: "second", model: "b" });
        return textResponse(call, "x");
      },
    });
    await getClient(server, "gRPC").complete({ model: "m" });
    await ended();
    const attempts = events.filter(([name]) => name.startsWith("attempt"));
    expect(attempts).toMatchObject([
      ["attempt Complete", { provider: "first", model: "a" }],
      ["attempt end Complete", { attempt: { provider: "first" }, isRepeated: true, error: undefined }],
      ["attempt Complete", { provider: "second", model: "b" }],
      ["attempt end Complete", { attempt: { provider: "second", model: "b" }, isRepeated: false }],
    ]);
  });

  it("gets the target that middleware chose, which is not the one that the name leads to", async () => {
    const { server, events, ended } = await startObserved({
      complete: async (call) => {
        call.onTarget?.({ provider: "chosen", model: "c" });
        return textResponse(call, "x");
      },
    });
    await getClient(server, "gRPC").complete({ model: "m" });
    await ended();
    const attempts = events.filter(([name]) => name.startsWith("attempt end"));
    expect(attempts).toMatchObject([[expect.any(String), { attempt: { provider: "chosen", model: "c" } }]]);
  });

  it("gets an end for each attempt of parallel calls, and the one that answered as the last", async () => {
    const { server, events, ended } = await startObserved({
      complete: async (call) => {
        const [first, second, third] = ["first", "second", "third"].map((provider) => ({
          provider,
          model: "m",
        }));
        if (first === undefined || second === undefined || third === undefined) throw new Error("no target");
        call.onTarget?.(first);
        const [loser, winner] = [call.beginParallel?.(), call.beginParallel?.()];
        loser?.options.onTarget?.(second);
        winner?.options.onTarget?.(third);
        loser?.lose();
        winner?.win();
        return textResponse(call, "x");
      },
    });
    await getClient(server, "gRPC").complete({ model: "m" });
    await ended();
    const attempts = events.filter(([name]) => name.startsWith("attempt"));
    expect(attempts).toMatchObject([
      ["attempt Complete", { model: "m" }],
      ["attempt Complete", { provider: "second" }],
      ["attempt Complete", { provider: "third" }],
      ["attempt end Complete", { attempt: { provider: "second" }, isRepeated: true }],
      ["attempt end Complete", { attempt: { model: "m" }, isRepeated: true }],
      ["attempt end Complete", { attempt: { provider: "third" }, isRepeated: false }],
    ]);
    expect(events.at(-1)?.[1]).toMatchObject({ attempts: 3 });
  });

  it("gets an end for the first of parallel calls when it fails, and the last failure for the call", async () => {
    const { server, events, ended } = await startObserved({
      complete: async (call) => {
        call.onTarget?.({ provider: "first", model: "m" });
        const second = call.beginParallel?.();
        second?.options.onTarget?.({ provider: "second", model: "m" });
        second?.endFirst();
        second?.endFirst();
        second?.win();
        throw new ServerError("down", { provider: "second" });
      },
    });
    await expect(getClient(server, "gRPC").complete({ model: "m" })).rejects.toThrow();
    await ended();
    const attempts = events.filter(([name]) => name.startsWith("attempt end"));
    expect(attempts).toMatchObject([
      [expect.any(String), { attempt: { model: "m" }, isRepeated: true, error: undefined }],
      [
        expect.any(String),
        { attempt: { provider: "second" }, isRepeated: false, error: { message: "down" } },
      ],
    ]);
  });

  it.each(Object.keys(TRANSPORTS))("gets the trace context of a call over %s", async (transport) => {
    const calls: Call[] = [];
    const observer: CallObserver = { begin: (call) => void calls.push(call), end() {} };
    const server = await servers.start(
      { complete: async (call) => textResponse(call, "x") },
      { observers: [observer] },
    );
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const headers = { traceparent, tracestate: "congo=t61rcWkgMzE" };
    await getClient(server, transport).complete({ model: "m" }, { headers });
    expect(calls[0]?.trace).toMatchObject({ ...headers, traceId: "4bf92f3577b34da6a3ce929d0e0e4736" });
  });

  it("gets the default provider of a request that names none", async () => {
    const { observer, events } = recordingObserver();
    const inference = {
      resolveModel: ({ model }: CallTarget) => ({ provider: "main", model }),
      complete: async () => {
        throw new Error("not reached its provider");
      },
      stream: () => {
        throw new Error("not called");
      },
    };
    const server = await servers.start({}, { inference, observers: [observer] });
    const answer = await fetch(`${server.url}/outrigger.v1.InferenceService/Complete`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(answer.status).toBe(500);
    await expect.poll(() => events.at(-1)).toMatchObject(["end Complete", { provider: "main" }]);
  });

  it("follows rejected requests, and no pages of the admin listener", async () => {
    const { server, events } = await startObserved({ complete: async (call) => textResponse(call, "x") });
    await fetch(`${server.adminUrl}/livez`);
    await fetch(`${server.adminUrl}/metrics`);
    await fetch(`${server.url}/nothing`, { method: "POST" });
    await expect.poll(() => events.length).toBe(2);
    expect(events).toMatchObject([
      ["begin unknown", ""],
      ["end unknown", { code: Code.Unimplemented }],
    ]);
  });
});
