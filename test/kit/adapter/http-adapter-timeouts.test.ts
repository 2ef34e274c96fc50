import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { NetworkError, RequestTimeoutError, type SDKError } from "../../../src/core/errors.ts";
import type { Request } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { hangingPort } from "../http/servers.ts";
import { ask, getCases, openAdapter, read, useSimulator } from "./adapter-calls.ts";

const simulator = useSimulator();

/** A request with time limits, in milliseconds. */
function askWithin(
  model: string,
  limits: { connect?: number; request?: number; betweenBytes?: number },
): Request {
  const timeouts = Object.entries(limits).map(([name, limit]) => [name, durationFromMs(limit)]);
  return ask(model, { timeouts: Object.fromEntries(timeouts) });
}

async function toFailure(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("the limit of a request", () => {
  it("ends a call that is not answered, and closes the provider's socket", async () => {
    const adapter = openAdapter(simulator());
    const request = askWithin("sim-text:delay_ms=60000", { request: 50 });
    for (const error of [
      await toFailure(adapter.complete(request)),
      (await read(adapter.stream(request))).error,
    ]) {
      expect(error).toBeInstanceOf(RequestTimeoutError);
      expect(error).toMatchObject({ retryable: true, outputStarted: false });
      expect((error as Error).message).toMatch(/^no complete answer from 127.0.0.1:\d+ within 0.05 seconds/);
    }
    expect((await simulator().waitForClose()).aborted).toBe(true);
  });

  it("ends a stream in progress with an error event", async () => {
    const request = askWithin("sim-text:stall_after=6,keepalive_ms=20", {
      request: 1500,
      betweenBytes: 1000,
    });
    const { events, error } = await read(openAdapter(simulator()).stream(request));
    expect(error).toBeInstanceOf(RequestTimeoutError);
    expect(error).toMatchObject({
      message: expect.stringContaining("limit of a request"),
      outputStarted: true,
    });
    expect(events.at(-1)?.event).toEqual({ case: "error", value: (error as SDKError).toProto() });
    expect((await simulator().waitForClose()).aborted).toBe(true);
  });

  it("of 0 takes the adapter's limit away", async () => {
    const adapter = openAdapter(simulator(), { timeouts: { requestMs: 50 } });
    const model = "sim-text:delay_ms=120";
    expect(await toFailure(adapter.complete(ask(model)))).toBeInstanceOf(RequestTimeoutError);
    expect(await toFailure(adapter.complete(askWithin(model, { request: 0 })))).toBeUndefined();
    expect(await toFailure(adapter.complete(ask(model)))).toBeInstanceOf(RequestTimeoutError);
  });
});

describe("the limit between bytes", () => {
  it("ends a stream that falls silent, after the events that had arrived", async () => {
    const request = askWithin("sim-text:stall_after=6", { betweenBytes: 800 });
    const { events, error } = await read(openAdapter(simulator()).stream(request));
    expect(error).toBeInstanceOf(RequestTimeoutError);
    expect(error).toMatchObject({ retryable: true, outputStarted: true });
    expect((error as Error).message).toMatch(/^127.0.0.1:\d+ sent nothing for 0.8 seconds/);
    expect(getCases(events)).toEqual(["streamStart", "textStart", "textDelta", "textDelta", "error"]);
    expect((await simulator().waitForClose()).aborted).toBe(true);
  });

  it("ends a stream whose first event never comes, with nothing but the error", async () => {
    const request = askWithin("sim-text:stall_after=0", { betweenBytes: 50 });
    const { events, error } = await read(openAdapter(simulator()).stream(request));
    expect([events, error]).toEqual([[], expect.any(RequestTimeoutError)]);
  });

  it("restarts with events and with comments", async () => {
    const adapter = openAdapter(simulator());
    const streams = ["event", "comment"].map((style) => {
      const model = `sim-long:tokens=2,rate=1,keepalive_ms=40,keepalive_style=${style}`;
      return read(adapter.stream(askWithin(model, { betweenBytes: 1200 })));
    });
    for (const { error } of await Promise.all(streams)) expect(error).toBeUndefined();
  });

  it("does not count the wait for the head of the answer", async () => {
    const request = askWithin("sim-text:delay_ms=1200", { betweenBytes: 1000 });
    expect(await toFailure(openAdapter(simulator()).complete(request))).toBeUndefined();
  });

  it("is the adapter's if the request sets none", async () => {
    const adapter = openAdapter(simulator(), { timeouts: { betweenBytesMs: 50 } });
    const { error } = await read(adapter.stream(ask("sim-text:stall_after=0")));
    expect(error).toBeInstanceOf(RequestTimeoutError);
  });
});

describe("the limit of connecting", () => {
  it("ends a call to a server that does not take the connection", async () => {
    const adapter = openAdapter({ port: await hangingPort() });
    const error = await toFailure(adapter.complete(askWithin("m", { connect: 50 })));
    expect(error).toBeInstanceOf(NetworkError);
    expect((error as Error).message).toMatch(/^no connection to 127.0.0.1:\d+ within 0.05 seconds$/);
    expect((await read(adapter.stream(askWithin("m", { connect: 50 })))).error).toBeInstanceOf(NetworkError);
  });
});
