import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { accumulate } from "../../../src/core/accumulator.ts";
import { AbortError, RequestTimeoutError, SDKError, ServerError } from "../../../src/core/errors.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { pause, serveHttp, waitUntil } from "../http/servers.ts";
import { ask, getCases, openAdapter, PROMPT, read, relayTo, settle, useSimulator } from "./adapter-calls.ts";

const simulator = useSimulator();

/**
 * Waits until we have closed the provider's socket. Anything else that ends these streams would do so later or never.
 */
async function expectClosed(): Promise<void> {
  expect(await simulator().waitForClose()).toMatchObject({ aborted: true });
}

function toListeners(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}

/** Phases before any data: the model string, and a check that the phase is reached. */
const SILENT: [string, string, () => boolean][] = [
  ["before the head of the answer", "sim-text:delay_ms=60000", () => simulator().requests.length > 0],
  ["before the first event", "sim-text:stall_after=0", () => simulator().requests[0]?.status === 200],
];

/** Phases of a stream in progress: the model string, and the event that shows it. */
const PHASES: [string, string, StreamEvent["event"]["case"]][] = [
  ["before the first token", "sim-text:stall_after=1", "streamStart"],
  ["while the first token is awaited", "sim-text:stall_after=4", "textStart"],
  ["mid reasoning", "sim-reasoning:rate=20", "reasoningStart"],
  ["mid text", "sim-long:rate=20", "textDelta"],
  ["mid text that stalls", "sim-text:stall_after=6", "textDelta"],
  ["mid tool arguments", "sim-tools:rate=20", "toolCallDelta"],
  ["mid tool arguments that stall", "sim-tools:stall_after=4", "toolCallDelta"],
  ["between two tool calls", "sim-tools:calls=3,rate=100", "toolCallEnd"],
  ["amid signs of life", "sim-text:stall_after=6,keepalive_ms=5", "textDelta"],
  ["amid bytes that trickle", "sim-long:trickle_ms=1,trickle_bytes=100,tokens=5000,rate=100000", "textDelta"],
];

describe("an aborted signal", () => {
  it.each(SILENT)(
    "ends a stream %s and closes the provider's socket at once",
    async (_phase, model, isThere) => {
      const controller = new AbortController();
      const reading = read(openAdapter(simulator()).stream(ask(model), controller));
      await waitUntil(isThere);
      controller.abort();
      await expectClosed();
      const { events, error } = await reading;
      expect(events).toEqual([]);
      expect(error).toBeInstanceOf(AbortError);
      expect(toListeners(controller.signal)).toBe(0);
    },
  );

  it.each(PHASES)(
    "ends a stream %s and closes the provider's socket at once",
    async (_phase, model, wanted) => {
      const controller = new AbortController();
      const { events, error } = await read(
        openAdapter(simulator()).stream(ask(model), controller),
        ({ event }) => {
          if (event.case === wanted) controller.abort();
          return false;
        },
      );
      await expectClosed();
      expect(error).toBeInstanceOf(AbortError);
      expect(error).toMatchObject({ retryable: false, outputStarted: wanted !== "streamStart" });
      expect(events.at(-1)?.event).toEqual({ case: "error", value: (error as SDKError).toProto() });
      expect(getCases(events)).not.toContain("finish");
      expect(toListeners(controller.signal)).toBe(0);
    },
  );

  it.each([
    ["before the head of the answer", "sim-text:delay_ms=60000", () => simulator().requests.length > 0],
    ["amid the answer", "sim-text:stall_after=0", () => simulator().requests[0]?.status === 200],
  ] as const)(
    "ends a whole answer %s and closes the provider's socket at once",
    async (_phase, model, isThere) => {
      const controller = new AbortController();
      const call = openAdapter(simulator())
        .complete(ask(model), controller)
        .catch((error: unknown) => error);
      await waitUntil(isThere);
      controller.abort();
      await expectClosed();
      expect(await call).toBeInstanceOf(AbortError);
      expect(toListeners(controller.signal)).toBe(0);
    },
  );

  it("ends a call in the middle of a failure's body with the caller's reason, whatever the failure", async () => {
    const server = await serveHttp((request, response) => {
      request.resume();
      response.writeHead(503, { "content-type": "application/json" }).write('{"error":');
    });
    const adapter = openAdapter(server);
    const deadline = new RequestTimeoutError("the caller's deadline was exceeded");
    for (const reason of [undefined, deadline]) {
      const controller = new AbortController();
      const calls = [
        adapter.complete(ask("m"), controller),
        accumulate(adapter.stream(ask("m"), controller)),
      ];
      const failures = calls.map((call) => call.catch((error: unknown) => error));
      await pause(30);
      controller.abort(reason);
      for (const failure of failures) {
        if (reason === undefined) expect(await failure).toBeInstanceOf(AbortError);
        else expect(await failure).toBe(deadline);
      }
      expect(toListeners(controller.signal)).toBe(0);
    }
    await waitUntil(() => server.sockets.every(({ destroyed }) => destroyed));
  });

  it("with a deadline's reason ends a call with that error, before and after output", async () => {
    const deadline = new RequestTimeoutError("the caller's deadline of 2 seconds ran out");
    const adapter = openAdapter(simulator());
    const early = new AbortController();
    const whole = adapter.complete(ask("sim-text:delay_ms=60000"), early).catch((error: unknown) => error);
    await simulator().waitForRequest();
    early.abort(deadline);
    expect(await whole).toBe(deadline);
    const late = new AbortController();
    const { events, error } = await read(adapter.stream(ask("sim-text:stall_after=6"), late), ({ event }) => {
      if (event.case === "textDelta") late.abort(deadline);
      return false;
    });
    expect(error).toBeInstanceOf(RequestTimeoutError);
    expect(error).toMatchObject({ message: deadline.message, retryable: true, outputStarted: true });
    expect(getCases(events).at(-1)).toBe("error");
  });

  it("sends nothing if it was aborted before", async () => {
    const adapter = openAdapter(simulator());
    const options = { signal: AbortSignal.abort() };
    await expect(adapter.complete(ask("sim-text"), options)).rejects.toThrow(AbortError);
    expect((await read(adapter.stream(ask("sim-text"), options))).error).toBeInstanceOf(AbortError);
    await settle();
    expect(simulator().requests).toEqual([]);
  });

  it("changes nothing once the call has ended, and the connection stays open", async () => {
    const relay = await relayTo(simulator());
    const adapter = openAdapter(relay);
    for (const model of ["sim-text", "sim-text:status=500"]) {
      const controller = new AbortController();
      const { error } = await read(adapter.stream(ask(model), controller));
      await adapter.complete(ask("sim-text"), controller);
      expect(error === undefined || error instanceof ServerError).toBe(true);
      expect(toListeners(controller.signal)).toBe(0);
      await settle();
      controller.abort();
    }
    await settle();
    expect(relay.sockets.map(({ destroyed }) => destroyed)).not.toContain(true);
  });

  it("leaves the other calls of the adapter alone", async () => {
    const adapter = openAdapter(simulator());
    const controller = new AbortController();
    const other = accumulate(adapter.stream(ask("sim-long:tokens=40,rate=200")));
    await read(adapter.stream(ask("sim-long:rate=20"), controller), () => {
      controller.abort();
      return false;
    });
    expect((await other).usage?.outputTokens).toBeGreaterThan(0);
  });

  it("puts nothing of the call into its error", async () => {
    const controller = new AbortController();
    controller.abort(PROMPT);
    const error = await openAdapter(simulator())
      .complete(ask("sim-text"), controller)
      .catch((thrown) => thrown);
    if (!(error instanceof SDKError)) throw error;
    expect(JSON.stringify(error.toProto())).not.toContain("hens");
  });
});

describe("a reader who leaves", () => {
  it.each(PHASES)("%s closes the provider's socket at once", async (_phase, model, wanted) => {
    const { signal } = new AbortController();
    const stream = openAdapter(simulator()).stream(ask(model), { signal });
    const { error } = await read(stream, ({ event }) => event.case === wanted);
    await expectClosed();
    expect(error).toBeUndefined();
    expect(toListeners(signal)).toBe(0);
  });

  it("at the last event leaves the connection for the next call", async () => {
    const relay = await relayTo(simulator());
    const adapter = openAdapter(relay);
    for (let call = 0; call < 3; call += 1) {
      await read(adapter.stream(ask("sim-text")), ({ event }) => event.case === "finish");
      await settle();
    }
    expect(relay.sockets.map(({ destroyed }) => destroyed)).toEqual([false]);
    expect(simulator().requests.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  });
});
