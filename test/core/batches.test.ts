import type { StreamEvent } from "outrigger";
import { create, StreamEventSchema } from "outrigger/proto";
import { describe, expect, it, vi } from "vitest";
import { lazyBatches } from "../../src/core/batches.ts";

function batch(sequence: number): readonly StreamEvent[] {
  return [create(StreamEventSchema, { sequence })];
}

async function* twoBatches(onEnd: () => void = () => {}): AsyncGenerator<readonly StreamEvent[]> {
  try {
    yield batch(0);
    yield batch(1);
  } finally {
    onEnd();
  }
}

const done = { done: true, value: undefined };

describe("lazyBatches()", () => {
  it("opens once, even if several batches are asked for at once", async () => {
    const open = vi.fn(async () => twoBatches());
    const iterator = lazyBatches(open)[Symbol.asyncIterator]();
    expect(open).not.toHaveBeenCalled();
    const results = await Promise.all([iterator.next(), iterator.next(), iterator.next()]);
    expect(results).toEqual([{ done: false, value: batch(0) }, { done: false, value: batch(1) }, done]);
    expect(open).toHaveBeenCalledOnce();
  });

  it("throws the error of opening once, and then ends", async () => {
    const iterator = lazyBatches(() => Promise.reject(new Error("refused")))[Symbol.asyncIterator]();
    await expect(iterator.next()).rejects.toThrow("refused");
    expect(await iterator.next()).toEqual(done);
    expect(await iterator.return?.()).toEqual(done);
  });

  it("closes what it opened, even if its reader leaves while it opens", async () => {
    const ended = vi.fn();
    const opened = Promise.withResolvers<AsyncGenerator<readonly StreamEvent[]>>();
    const iterator = lazyBatches(() => opened.promise)[Symbol.asyncIterator]();
    const first = iterator.next();
    const left = iterator.return?.();
    opened.resolve(twoBatches(ended));
    expect(await first).toEqual({ done: false, value: batch(0) });
    expect(await left).toEqual(done);
    expect(ended).toHaveBeenCalledOnce();
    expect(await iterator.next()).toEqual(done);
  });
});
