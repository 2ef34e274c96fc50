/** Answers of a shared cache, over a server of the test. Over a real one it is in valkey.test.ts. */
import { expect, it } from "vitest";
import { SharedCacheStore } from "../../../src/middleware/shared/shared-cache.ts";
import type { Valkey } from "../../../src/middleware/shared/valkey.ts";

/** Reads a value of the server in a cache that uses answers for 10 s. */
async function read(value: Uint8Array | string, leftMs: unknown) {
  const valkey = {
    run: async <Result>(_script: unknown, _key: string, _args: unknown, decode: (reply: unknown) => Result) =>
      decode([value, leftMs]),
  } as Partial<Valkey> as Valkey;
  const store = new SharedCacheStore(valkey, { maxAge: 10, maxEntryBytes: 8 }, "refuse");
  return (await store.get("key"))?.bytes;
}

/** A value that was kept for a minute. */
function toValue(text: string, magic = "outrigger1"): Buffer {
  const kept = Buffer.alloc(4);
  kept.writeUInt32BE(60_000);
  return Buffer.concat([Buffer.from(magic), kept, Buffer.from(text)]);
}

it("A shared answer is used for as long as this cache uses answers, however long another one keeps it", async () => {
  for (const leftMs of [60_000, 50_001]) expect(String(await read(toValue("answer"), leftMs))).toBe("answer");
  for (const leftMs of [50_000, 1, 60_001, -1, null])
    expect(await read(toValue("answer"), leftMs)).toBeUndefined();
});

it("A value is not an answer if another program wrote it, or if it is too large or too short", async () => {
  expect(String(await read(toValue("x".repeat(8)), 60_000))).toBe("xxxxxxxx");
  expect(await read(toValue("x".repeat(9)), 60_000)).toBeUndefined();
  expect(await read(toValue("answer", "outrigger0"), 60_000)).toBeUndefined();
  expect(await read(toValue("").subarray(0, 13), 60_000)).toBeUndefined();
  expect(await read("outrigger1", 60_000)).toBeUndefined();
});
