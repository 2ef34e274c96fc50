/** A shared rate over a server of the test. Over a real one it is in valkey.test.ts. */
import { describe, expect, it } from "vitest";
import { UnavailableError } from "../../../src/middleware/shared/reconnecting-connection.ts";
import { SharedRateStore } from "../../../src/middleware/shared/shared-rate.ts";
import type { Valkey } from "../../../src/middleware/shared/valkey.ts";

type Reply = readonly [isTaken: number, bucket: number, waitMs: number] | UnavailableError;

/** A store with one bucket whose server gives these replies in turn, and what the server was asked to take. */
function open(replies: readonly Reply[], maxQueue: number) {
  const left = [...replies];
  const taken: number[] = [];
  const valkey = {
    async run<Result>(
      _script: unknown,
      _key: string,
      args: readonly unknown[],
      decode: (reply: unknown) => Result,
    ) {
      taken.push(Number(args[3]));
      const reply = left.shift() ?? [1, 0, 0];
      if (reply instanceof UnavailableError) throw reply;
      return decode(reply);
    },
  } as Partial<Valkey> as Valkey;
  const local = { take: () => expect.fail("counted alone") };
  const limits = { maxQueue, maxWaitMs: 1000 };
  const rate = { buckets: [{ capacity: 10, perMinute: 10 }], limits, local };
  return { taken, store: new SharedRateStore(valkey, "key", rate, "allow") };
}

describe("a shared rate", () => {
  it("gives back what was taken for a call that can no longer wait, since others already wait", async () => {
    const { taken, store } = open(
      [
        [1, 0, 20],
        [1, 0, 30],
      ],
      1,
    );
    const [first, second] = await Promise.all([
      store.take([2], Infinity, undefined),
      store.take([3], Infinity, undefined),
    ]);
    expect(first).toBeTypeOf("function");
    expect(second).toEqual({ bucket: 0, waitMs: 30 });
    expect(taken).toEqual([2, 3, -3]);
  });

  it("deducts what the server counted too late, after a further outage as well", async () => {
    const late = new UnavailableError("no answer", "timeout", Promise.resolve([1, 0, 0]));
    const { taken, store } = open([late, new UnavailableError("away", "connection")], 0);
    for (const amount of [4, 2, 5]) {
      await store.take([amount], Infinity, undefined);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // The second call was not counted at all.
    expect(taken).toEqual([4, -2, 1]);
  });
});
