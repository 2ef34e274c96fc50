import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { EventStream } from "../../src/core/event-stream.ts";
import { type StreamEvent, StreamEventSchema } from "../../src/gen/outrigger/v1/stream_event_pb.ts";

function getEvents(...sequences: number[]): StreamEvent[] {
  return sequences.map((sequence) => create(StreamEventSchema, { sequence }));
}

/** A source that records how far it was read, and whether it was closed. */
class Source {
  read = 0;
  closed = 0;

  async *give<Item>(items: readonly Item[], failure?: Error): AsyncGenerator<Item> {
    try {
      for (const item of items) {
        this.read += 1;
        yield item;
      }
      if (failure !== undefined) throw failure;
    } finally {
      this.closed += 1;
    }
  }
}

async function sequencesIn(events: AsyncIterable<StreamEvent>): Promise<number[]> {
  const sequences: number[] = [];
  for await (const { sequence } of events) sequences.push(sequence);
  return sequences;
}

describe("EventStream", () => {
  it("gives the events of its batches one at a time, in order", async () => {
    const stream = new EventStream(new Source().give([getEvents(0, 1), [], getEvents(2)]));
    expect(await sequencesIn(stream)).toEqual([0, 1, 2]);
  });

  it("gives the batches as they became ready", async () => {
    const batches = [getEvents(0, 1), [], getEvents(2)];
    const seen: (readonly StreamEvent[])[] = [];
    for await (const batch of new EventStream(new Source().give(batches)).batches()) seen.push(batch);
    expect(seen).toEqual(batches);
  });

  it("reads nothing before it is consumed, and no batch ahead", async () => {
    const source = new Source();
    const stream = new EventStream(source.give([getEvents(0, 1), getEvents(2)]));
    const iterator = stream[Symbol.asyncIterator]();
    expect(source.read).toBe(0);
    await iterator.next();
    await iterator.next();
    expect(source.read).toBe(1);
    await iterator.next();
    expect(source.read).toBe(2);
    await iterator.return(undefined);
  });

  it.each([
    ["between two batches", 2],
    ["amid a batch", 1],
  ])("closes its source when the loop is left %s", async (_where, events) => {
    const source = new Source();
    const stream = new EventStream(source.give([getEvents(0, 1), getEvents(2)]));
    let left = events;
    for await (const _event of stream) {
      left -= 1;
      if (left === 0) break;
    }
    expect([source.read, source.closed]).toEqual([1, 1]);
  });

  it("closes its source when the loop over batches is left, or throws", async () => {
    const [broken, left] = [new Source(), new Source()];
    for await (const _batch of new EventStream(left.give([getEvents(0), getEvents(1)])).batches()) break;
    const throwing = async () => {
      for await (const _event of new EventStream(broken.give([getEvents(0), getEvents(1)])))
        throw new Error("the reader's error");
    };
    await expect(throwing()).rejects.toThrow("the reader's error");
    expect([left.closed, broken.closed, broken.read]).toEqual([1, 1, 1]);
  });

  it("passes on the failure of its source after the events before", async () => {
    const seen: number[] = [];
    const reading = async () => {
      for await (const { sequence } of new EventStream(
        new Source().give([getEvents(0)], new Error("the line is down")),
      ))
        seen.push(sequence);
    };
    await expect(reading()).rejects.toThrow("the line is down");
    expect(seen).toEqual([0]);
  });
});

describe("EventStream.from()", () => {
  it("passes an EventStream through", () => {
    const stream = new EventStream(new Source().give([getEvents(0)]));
    expect(EventStream.from(stream)).toBe(stream);
  });

  it("makes a batch of every event of another iterable", async () => {
    const batches: (readonly StreamEvent[])[] = [];
    for await (const batch of EventStream.from(new Source().give(getEvents(0, 1))).batches())
      batches.push(batch);
    expect(batches).toEqual([getEvents(0), getEvents(1)]);
  });

  it("closes the other iterable when the loop is left", async () => {
    const source = new Source();
    for await (const _event of EventStream.from(source.give(getEvents(0, 1)))) break;
    expect([source.read, source.closed]).toEqual([1, 1]);
  });
});
