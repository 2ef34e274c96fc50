import { EventStream, ServerError } from "outrigger";
import { describe, expect, it, vi } from "vitest";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { openStream } from "../../src/middleware/open-stream.ts";
import { getEvents, START, type Step } from "../core/steps.ts";

const TEXT_START: Step = { case: "textStart", value: { partIndex: 0 } };
const DELTA: Step = { case: "textDelta", value: { partIndex: 0, delta: "a" } };
const PING: Step = { case: "providerEvent", value: { type: "ping" } };

/** A source that gives one event for each read, and records its reads and its end. */
function toSource(steps: readonly (Step | Promise<never>)[]) {
  const state = { reads: 0, ended: 0 };
  async function* batches(): AsyncGenerator<readonly StreamEvent[]> {
    try {
      for (const step of steps) {
        state.reads += 1;
        if (step instanceof Promise) await step;
        else yield getEvents([step]);
      }
    } finally {
      state.ended += 1;
    }
  }
  return { state, stream: new EventStream(batches()) };
}

async function listNames(batches: AsyncIterable<readonly StreamEvent[]>): Promise<string[]> {
  const names: string[] = [];
  for await (const batch of batches) names.push(...batch.map(({ event }) => event.case ?? "none"));
  return names;
}

const never = () => new Promise<never>(() => {});

describe("openStream()", () => {
  it("reads up to the first output and gives the whole stream", async () => {
    const { state, stream } = toSource([START, TEXT_START, DELTA, DELTA]);
    const opened = await openStream(stream);
    expect(state.reads).toBe(3);
    expect(await listNames(opened)).toEqual(["streamStart", "textStart", "textDelta", "textDelta"]);
    expect(state.ended).toBe(1);
  });

  it("throws a failure before the first output, even from an error event", async () => {
    const error = new ServerError("overloaded");
    const thrown = toSource([START, Promise.reject(error)]);
    await expect(openStream(thrown.stream)).rejects.toBe(error);
    const named = toSource([START, { case: "error", value: error.toProto() }]);
    await expect(openStream(named.stream)).rejects.toMatchObject({
      kindName: "SERVER",
      message: "overloaded",
    });
    expect([thrown.state.ended, named.state.ended]).toEqual([1, 1]);
  });

  it("throws the error itself that follows its event, which has more detail", async () => {
    const error = new ServerError("overloaded", { retryAfter: 7 });
    const { stream } = toSource([START, { case: "error", value: error.toProto() }, Promise.reject(error)]);
    await expect(openStream(stream)).rejects.toBe(error);
  });

  it("closes the source of a stream that failed", async () => {
    const error: StreamEvent[] = getEvents([
      START,
      { case: "error", value: new ServerError("busy").toProto() },
    ]);
    const source = { next: vi.fn(), return: vi.fn(async () => ({ done: true as const, value: undefined })) };
    source.next.mockResolvedValueOnce({ done: false, value: error }).mockResolvedValue({ done: true });
    const stream = new EventStream({ [Symbol.asyncIterator]: () => source });
    await expect(openStream(stream)).rejects.toThrow("busy");
    expect(source.return).toHaveBeenCalledTimes(1);
  });

  it("passes a failure after the first output on", async () => {
    const { stream } = toSource([START, DELTA, Promise.reject(new ServerError("broken"))]);
    await expect(listNames(await openStream(stream))).rejects.toThrow("broken");
  });

  it("yields its events after a time without output, and then later events", async () => {
    const output = Promise.withResolvers<never>();
    const { state, stream } = toSource([START, output.promise]);
    const iterator = (await openStream(stream, 20))[Symbol.asyncIterator]();
    expect((await iterator.next()).value?.[0]?.event.case).toBe("streamStart");
    const rest = iterator.next();
    output.reject(new ServerError("late"));
    await expect(rest).rejects.toThrow("late");
    expect(state.reads).toBe(2);
  });

  it("yields events that come after that time once each", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    async function* batches(): AsyncGenerator<readonly StreamEvent[]> {
      yield getEvents([START]);
      await promise;
      yield getEvents([TEXT_START]);
      yield getEvents([DELTA]);
    }
    const opened = await openStream(new EventStream(batches()), 20);
    const names = listNames(opened);
    resolve();
    expect(await names).toEqual(["streamStart", "textStart", "textDelta"]);
  });

  it("holds back a limited number of events of the provider", async () => {
    const { state, stream } = toSource([START, ...Array.from({ length: 100 }, () => PING), never()]);
    expect(await openStream(stream)).toBeDefined();
    expect(state.reads).toBe(32);
  });

  it("sets no timer if the first batch has output", async () => {
    const set = vi.spyOn(globalThis, "setTimeout");
    const clear = vi.spyOn(globalThis, "clearTimeout");
    await openStream(toSource([DELTA]).stream);
    expect(set).not.toHaveBeenCalled();
    await openStream(toSource([START, DELTA]).stream);
    expect(clear).toHaveBeenCalledWith(set.mock.results[0]?.value);
    vi.restoreAllMocks();
  });

  it("yields all events of a stream that ends without output", async () => {
    const { state, stream } = toSource([START, TEXT_START]);
    expect(await listNames(await openStream(stream))).toEqual(["streamStart", "textStart"]);
    expect(state.ended).toBe(1);
  });

  it("closes the source when its reader leaves", async () => {
    const { state, stream } = toSource([START, DELTA, DELTA]);
    for await (const _batch of await openStream(stream)) break;
    expect(state.ended).toBe(1);
    const unread = (await openStream(toSource([START, DELTA]).stream))[Symbol.asyncIterator]();
    expect(await unread.return?.()).toEqual({ done: true, value: undefined });
    expect(await unread.next()).toEqual({ done: true, value: undefined });
  });
});
