/** Streamed answers of an API, whatever its form. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { EventStream, ServerError } from "outrigger";
import { afterEach, describe, expect, it, vi } from "vitest";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import type { EndpointRequest } from "../../src/http/endpoint.ts";
import { type EventWriter, type StreamOptions, streamEvents } from "../../src/http/event-body.ts";

afterEach(() => void vi.useRealTimers());

type Batch = readonly StreamEvent[];

function toEvent(event: NonNullable<MessageInitShape<typeof StreamEventSchema>["event"]>): StreamEvent {
  return create(StreamEventSchema, { event });
}

const START = toEvent({ case: "streamStart", value: { warnings: [{ code: "w" }] } });
const DELTA = toEvent({ case: "textDelta", value: { delta: "a" } });
const SILENT = toEvent({ case: "textStart", value: {} });
const FINISH = toEvent({ case: "finish", value: { response: { model: "m" } } });

/** Writes the names of events, but no starts of texts. */
const writer: EventWriter = {
  write: (batch) =>
    batch
      .map(({ event }) => event.case)
      .filter((name) => name !== "textStart")
      .join(" "),
  fail: ({ kindName }) => `failed ${kindName}`,
};

/** Opens the answer of a model that sends these batches. */
async function open(
  batches: AsyncIterable<Batch>,
  changes: Partial<StreamOptions> = {},
  signal?: AbortSignal,
) {
  const noteFailure = vi.fn();
  const request = {
    client: { stream: () => new EventStream(batches) },
    signal: signal ?? new AbortController().signal,
    noteFailure,
  } as Partial<Record<keyof EndpointRequest, unknown>> as EndpointRequest;
  const getHeaders = vi.fn(() => ({ "x-more": "1" }));
  const answer = await streamEvents(create(RequestSchema), request, { writer, getHeaders, ...changes });
  const chunks = (answer.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const read = async () => {
    const { done, value } = await chunks.next();
    return done === true ? undefined : Buffer.from(value).toString();
  };
  return { answer, chunks, read, noteFailure, getHeaders };
}

async function* toBatches(...batches: readonly (Batch | Error)[]): AsyncGenerator<Batch> {
  for (const batch of batches) {
    if (batch instanceof Error) throw batch;
    yield batch;
  }
}

describe("The body of a streamed answer", () => {
  it("has a chunk for each batch that has a text, and reports the complete answer", async () => {
    const onAnswer = vi.fn();
    const { answer, read, getHeaders } = await open(
      toBatches([START, SILENT], [SILENT], [DELTA, DELTA], [FINISH]),
      { onAnswer },
    );
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
        "x-more": "1",
      },
    });
    expect(getHeaders).toHaveBeenCalledWith([expect.objectContaining({ code: "w" })]);
    expect([await read(), await read()]).toEqual(["streamStart", "textDelta textDelta"]);
    expect(onAnswer).not.toHaveBeenCalled();
    expect([await read(), await read(), await read()]).toEqual(["finish", undefined, undefined]);
    expect(onAnswer).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ model: "m" }));
  });

  it("has the media type of its writer", async () => {
    const { answer } = await open(toBatches([START]), { writer: { ...writer, contentType: "a/b" } });
    expect(answer.headers).toMatchObject({ "content-type": "a/b" });
  });

  it("is none if the call fails before its first event", async () => {
    await expect(open(toBatches(new ServerError("down")))).rejects.toThrow("down");
  });

  it("ends with the failure in the form of the API, which is noted", async () => {
    const { read, noteFailure } = await open(toBatches([START], new ServerError("down")));
    expect([await read(), await read(), await read()]).toEqual(["streamStart", "failed SERVER", undefined]);
    expect(noteFailure).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ kindName: "SERVER" }));
  });

  it("reads nothing more of a call that has failed", async () => {
    const next = vi
      .fn<() => Promise<IteratorResult<Batch>>>()
      .mockResolvedValueOnce({ done: false, value: [START] })
      .mockRejectedValueOnce(new ServerError("no"));
    const { read } = await open({ [Symbol.asyncIterator]: () => ({ next }) });
    expect([await read(), await read(), await read()]).toEqual(["streamStart", "failed SERVER", undefined]);
    expect(next).toHaveBeenCalledTimes(2);
  });

  it("breaks off without a failure if the call was aborted", async () => {
    const controller = new AbortController();
    const { read, noteFailure } = await open(
      toBatches([START], new ServerError("down")),
      {},
      controller.signal,
    );
    await read();
    controller.abort();
    await expect(read()).rejects.toThrow("down");
    expect(await read()).toBeUndefined();
    expect(noteFailure).not.toHaveBeenCalled();
  });

  it.each([
    [undefined, undefined, 15_000, ": keep-alive\n\n"],
    [20, "\n", 20, "\n"],
  ])(
    "has comments while the model is silent, by the interval %s",
    async (keepAliveMs, keepAlive, interval, comment) => {
      vi.useFakeTimers();
      const gate = Promise.withResolvers<void>();
      async function* batches(): AsyncGenerator<Batch> {
        yield [START];
        await gate.promise;
        yield [FINISH];
      }
      const options = { writer: { ...writer, ...(keepAlive !== undefined && { keepAlive }) }, keepAliveMs };
      const { read } = await open(batches(), options);
      await read();
      const first = read();
      let isThere = false;
      void first.then(() => (isThere = true));
      await vi.advanceTimersByTimeAsync(2 * interval - 1);
      expect(isThere).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(await first).toBe(comment);
      // The read of the model outlasts the comment.
      const second = read();
      await vi.advanceTimersByTimeAsync(interval);
      expect(await second).toBe(comment);
      const third = read();
      gate.resolve();
      expect([await third, await read()]).toEqual(["finish", undefined]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("closes the call when its reader leaves, and leaves no timer behind", async () => {
    vi.useFakeTimers();
    let isClosed = false;
    async function* batches(): AsyncGenerator<Batch> {
      try {
        yield [START];
        yield [DELTA];
      } finally {
        isClosed = true;
      }
    }
    const { chunks, read } = await open(batches());
    await read();
    expect([isClosed, vi.getTimerCount()]).toEqual([false, 1]);
    await chunks.return?.();
    expect([isClosed, vi.getTimerCount(), await read()]).toEqual([true, 0, undefined]);
  });
});
