import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { InternalError, SDKError, ServerError, StreamError } from "../../src/core/errors.ts";
import { LawChecker } from "../../src/core/laws.ts";
import { isTerminal, streamCall, withTerminalEvent } from "../../src/core/streamed-call.ts";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { finish, getEvents, START, type Step, textBlock } from "./steps.ts";

const overloaded = new ServerError("overloaded", { provider: "sim" });

interface Read {
  readonly events: StreamEvent[];
  readonly error: unknown;
}

/** Reads a source of these batches, which throws when it comes to an error. */
async function read(...source: (readonly StreamEvent[] | Error)[]): Promise<Read> {
  let now = 1000;
  async function* batches(): AsyncGenerator<readonly StreamEvent[]> {
    for (const batch of source) {
      if (batch instanceof Error) throw batch;
      yield batch;
      now += 250;
    }
  }
  const events: StreamEvent[] = [];
  try {
    for await (const batch of withTerminalEvent(batches(), { now: () => now })) events.push(...batch);
  } catch (error) {
    return { events, error };
  }
  return { events, error: undefined };
}

function check(events: readonly StreamEvent[]): void {
  const laws = new LawChecker();
  for (const event of events) laws.check(event);
  laws.end();
}

const hello: Step[] = [START, ...textBlock(0, "Hel", "lo")];

describe("withTerminalEvent()", () => {
  it("passes a stream that finishes on unchanged", async () => {
    const events = getEvents([...hello, finish({ part: { case: "text", value: "Hello" } })]);
    expect(await read(events.slice(0, 2), events.slice(2), [])).toEqual({ events, error: undefined });
  });

  it("throws a failure before the first event, and sends no event", async () => {
    expect(await read(overloaded)).toEqual({ events: [], error: overloaded });
  });

  it("throws if a stream ends without any event", async () => {
    const { events, error } = await read();
    expect(events).toEqual([]);
    expect(error).toEqual(new StreamError("the stream ended without finish or error"));
  });

  it("sends an error event for a later failure, and throws it after the event", async () => {
    const { events, error } = await read(
      getEvents(hello).slice(0, 2),
      getEvents(hello).slice(2, 3),
      overloaded,
    );
    expect(error).toBe(overloaded);
    expect(events.at(-1)).toMatchObject({ sequence: 3, elapsedMs: 500, event: { case: "error" } });
    expect(events.at(-1)?.event.value).toEqual(overloaded.toProto());
    expect(() => check(events)).not.toThrow();
  });

  it("turns a stream that ends without a terminal event into a failure of kind STREAM", async () => {
    const { events, error } = await read(getEvents(hello));
    expect(error).toEqual(new StreamError("the stream ended without finish or error"));
    expect(events.filter(isTerminal)).toHaveLength(1);
    expect(() => check(events)).not.toThrow();
  });

  it("adds nothing to a stream that has an error event already", async () => {
    const failed = getEvents([START, { case: "error", value: { message: "broke" } }]);
    expect(await read(failed, overloaded)).toEqual({ events: failed, error: overloaded });
  });

  it("hides the message of an internal error", async () => {
    const { events } = await read(getEvents([START]), new TypeError("secret prompt"));
    expect(
      JSON.stringify(events.at(-1)?.event.value, (_, value) => (typeof value === "bigint" ? 0 : value)),
    ).not.toContain("secret");
  });

  it("throws nothing to a reader who stops at the error event", async () => {
    const stream = withTerminalEvent(
      (async function* () {
        yield getEvents([START]);
        throw overloaded;
      })(),
    )[Symbol.asyncIterator]();
    await stream.next();
    expect((await stream.next()).value?.[0]?.event.case).toBe("error");
    await stream.return?.();
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it("yields nothing that arrives after its reader has closed it", async () => {
    const late = Promise.withResolvers<IteratorResult<readonly StreamEvent[]>>();
    const source = { [Symbol.asyncIterator]: () => ({ next: () => late.promise }) };
    const stream = withTerminalEvent(source)[Symbol.asyncIterator]();
    const pending = stream.next();
    await stream.return?.();
    late.resolve({ done: false, value: getEvents([START]) });
    expect(await pending).toEqual({ done: true, value: undefined });
  });

  it("throws a bug of other code as it is, if it is asked to", async () => {
    const bug = new TypeError("x is not a function");
    const source = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(bug) }) };
    const [plain, original] = [{}, { throwsOriginals: true }].map((options) =>
      withTerminalEvent(source, options)[Symbol.asyncIterator]().next(),
    );
    await expect(plain).rejects.toBeInstanceOf(InternalError);
    await expect(original).rejects.toBe(bug);
    const toFailure = () => overloaded;
    const known = withTerminalEvent(source, { throwsOriginals: true, toFailure })[Symbol.asyncIterator]();
    await expect(known.next()).rejects.toBe(overloaded);
    expect(await known.next()).toEqual({ done: true, value: undefined });
  });

  it("passes a stream on that it has made already, and takes the time of the process", async () => {
    const failing = async function* () {
      yield getEvents([START]);
      throw overloaded;
    };
    const stream = withTerminalEvent(failing());
    expect(withTerminalEvent(stream)).toBe(stream);
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    expect((await iterator.next()).value?.[0]?.elapsedMs).toBeGreaterThanOrEqual(0);
  });

  it("closes the source of a reader who stops", async () => {
    let closed = 0;
    async function* source(): AsyncGenerator<readonly StreamEvent[]> {
      try {
        yield getEvents([START]);
        yield getEvents([START]);
      } finally {
        closed += 1;
      }
    }
    for await (const batch of withTerminalEvent(source())) {
      expect(batch).toHaveLength(1);
      break;
    }
    expect(closed).toBe(1);
  });
});

describe("streamCall()", () => {
  const events = getEvents([...hello, finish({ part: { case: "text", value: "Hello" } })]);

  async function* give(
    ...source: (readonly StreamEvent[] | Error)[]
  ): AsyncGenerator<readonly StreamEvent[]> {
    for (const batch of source) {
      if (batch instanceof Error) throw batch;
      yield batch;
    }
  }

  it.each([
    ["finishes", () => give(events)],
    ["fails at once", () => give(overloaded)],
    ["fails later", () => give(events.slice(0, 2), overloaded)],
    ["ends without a terminal event", () => give(events.slice(0, 2))],
    ["cannot be opened", () => Promise.reject(overloaded)],
    ["ends in a call of an adapter", () => withTerminalEvent(give(events))],
  ])("leaves no listener on its caller's signal if it %s", async (_, open) => {
    const { signal } = new AbortController();
    const iterator = streamCall(open, { signal }).batches()[Symbol.asyncIterator]();
    try {
      for (let result = await iterator.next(); result.done !== true; result = await iterator.next())
        expect(getEventListeners(signal, "abort").length).toBeLessThanOrEqual(1);
    } catch (error) {
      expect(error).toBeInstanceOf(SDKError);
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it("aborts a call that is closed while it opens, and closes what it opened", async () => {
    const caller = new AbortController();
    const opening = Promise.withResolvers<AsyncGenerator<readonly StreamEvent[]>>();
    const returned = vi.fn(async () => ({ done: true as const, value: undefined }));
    let signal = caller.signal;
    const stream = streamCall(
      (given) => {
        signal = given;
        return opening.promise;
      },
      { signal: caller.signal },
    );
    const iterator = stream.batches()[Symbol.asyncIterator]();
    const pending = iterator.next();
    const closed = iterator.return?.();
    expect(signal.aborted).toBe(true);
    opening.resolve(Object.assign(give(events), { return: returned }));
    expect(await closed).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(returned).toHaveBeenCalledOnce();
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
  });
});
