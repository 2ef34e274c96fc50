import { create } from "@bufbuild/protobuf";
import { EventStream, ServerError } from "outrigger";
import { describe, expect, it } from "vitest";
import { type Batches, lazyBatches } from "../../src/core/batches.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { ResponseSchema } from "../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { openStream } from "../../src/middleware/open-stream.ts";
import { type CallEnd, watchCalls, watchStream } from "../../src/middleware/watch-stream.ts";
import { getEvents, START, type Step } from "../core/steps.ts";

const DELTA: Step = { case: "textDelta", value: { partIndex: 0, delta: "a" } };
const FINISH: Step = { case: "finish", value: { response: { id: "r1" } } };

/** One batch for each event; then an error, if there is one. */
async function* toSource(steps: readonly Step[], error?: Error): AsyncGenerator<readonly StreamEvent[]> {
  for (const event of getEvents(steps)) yield [event];
  if (error !== undefined) throw error;
}

/**
 * A stream with three watchers around each other, as three middleware put them, and the notifications that they get.
 */
function watchedThreeTimes(source: Batches<StreamEvent>) {
  const told: string[] = [];
  const watch = (batches: Batches<StreamEvent>, name: string) =>
    lazyBatches(() =>
      watchStream(batches, {
        begin: () => void told.push(`${name} begins`),
        end: ({ response, error, events }) =>
          void told.push(`${name} ends: ${response?.id ?? error?.message ?? "left"} after ${events}`),
      }),
    );
  const inner = watch(watch(source, "first"), "second");
  const opened = lazyBatches(() => openStream(new EventStream(inner)));
  return { told, stream: watch(opened, "third") };
}

async function read(batches: AsyncIterable<unknown>, count = Infinity): Promise<number> {
  let read = 0;
  for await (const _batch of batches) {
    read += 1;
    if (read === count) break;
  }
  return read;
}

const BEGINS = ["first begins", "second begins", "third begins"];

function getEnds(how: string): string[] {
  return ["first", "second", "third"].map((name) => `${name} ends: ${how}`);
}

describe("watchStream()", () => {
  it("notifies each of several watchers of the beginning and the end, once", async () => {
    const { told, stream } = watchedThreeTimes(toSource([START, DELTA, DELTA, DELTA, DELTA, FINISH]));
    expect(await read(stream)).toBe(6);
    expect(told.sort()).toEqual([...BEGINS, ...getEnds("r1 after 6")].sort());
  });

  it.each([2, 5])("notifies each of a failure after %i events, once", async (count) => {
    const steps = [START, ...Array.from({ length: count - 1 }, () => DELTA)];
    const { told, stream } = watchedThreeTimes(toSource(steps, new ServerError("down")));
    await expect(read(stream)).rejects.toThrow("down");
    expect(told.sort()).toEqual([...BEGINS, ...getEnds(`down after ${count}`)].sort());
  });

  it.each([1, 2, 4])("notifies each that the reader left after %i batches, once", async (count) => {
    const { told, stream } = watchedThreeTimes(toSource([START, DELTA, DELTA, DELTA, DELTA, FINISH]));
    await read(stream, count);
    expect(told.filter((line) => line.includes("ends: left"))).toHaveLength(3);
    expect(told).toHaveLength(6);
  });

  it("reports the end with the finish event, even if nobody reads on", async () => {
    const { told, stream } = watchedThreeTimes(toSource([START, FINISH]));
    const events = stream[Symbol.asyncIterator]();
    await events.next();
    await events.next();
    expect(told.filter((line) => line.includes("ends: r1 after 2"))).toHaveLength(3);
  });

  it("closes the source when the reader leaves", async () => {
    const source = toSource([START, DELTA, DELTA, DELTA, DELTA]);
    await read(watchedThreeTimes(source).stream, 4);
    expect(await source.next()).toEqual({ done: true, value: undefined });
  });

  it("ends with the error of an error event if the reader leaves after it", async () => {
    const told: string[] = [];
    const error: Step = { case: "error", value: new ServerError("named").toProto() };
    const stream = watchStream(toSource([START, DELTA, error], new ServerError("thrown")), {
      end: (end) => void told.push(`${end.error?.message}`),
    });
    await read(stream, 3);
    expect(told).toEqual(["named"]);
  });
});

describe("watchCalls()", () => {
  const request = create(RequestSchema, { provider: "p", model: "m" });
  const response = create(ResponseSchema, { id: "r1" });

  /** Calls that are watched, and what their watchers are told. */
  function watched(isWatched = true) {
    const told: string[] = [];
    const calls = watchCalls((_request, _options, kind) => {
      const watcher = {
        output: () => void told.push(`${kind} has output`),
        end: ({ response, error }: CallEnd) =>
          void told.push(`${kind} ends: ${response?.id ?? error?.message}`),
      };
      return isWatched ? watcher : undefined;
    });
    return { calls, told };
  }

  it("notifies of a whole answer as of output, and of its end", async () => {
    const { calls, told } = watched();
    expect(await calls.complete(request, async () => response, {})).toBe(response);
    const failed = calls.complete(request, () => Promise.reject(new ServerError("down")), {});
    await expect(failed).rejects.toThrow("down");
    expect(told).toEqual(["complete has output", "complete ends: r1", "complete ends: down"]);
  });

  it("notifies of the first output of a stream, and of its end", async () => {
    const { calls, told } = watched();
    const stream = calls.stream(request, () => new EventStream(toSource([START, DELTA, DELTA, FINISH])), {});
    await read(stream, 2);
    expect(told).toEqual(["stream has output", "stream ends: undefined"]);
  });

  it("does not wrap a call without watchers", async () => {
    const { calls, told } = watched(false);
    expect(await calls.complete(request, async () => response, {})).toBe(response);
    const stream = calls.stream(request, () => new EventStream(toSource([START, DELTA])), {});
    expect(await read(stream)).toBe(2);
    expect(told).toEqual([]);
  });
});
