import { describe, expect, it } from "vitest";
import { AnswerStore, type StoreLimits } from "../../src/middleware/cache.ts";

function storeAt(limits: Partial<StoreLimits> = {}) {
  const clock = { now: 0 };
  const store = new AnswerStore({ maxBytes: 100, maxEntries: 3, maxAgeMs: 1000, ...limits }, () => clock.now);
  const has = (...keys: string[]) => keys.map((key) => store.get(key) !== undefined);
  return { clock, store, has };
}

describe("AnswerStore", () => {
  it("forgets an answer when it is too old, however often it is used", () => {
    const { clock, store, has } = storeAt();
    store.set("a", new Uint8Array(1));
    clock.now = 999;
    expect(has("a")).toEqual([true]);
    clock.now = 1000;
    expect(has("a", "a")).toEqual([false, false]);
  });

  it("makes room by the answer that was not used for the longest time", () => {
    const { store, has } = storeAt();
    for (const key of ["a", "b", "c"]) store.set(key, new Uint8Array(1));
    has("a");
    store.set("d", new Uint8Array(1));
    expect(has("a", "b", "c", "d")).toEqual([true, false, true, true]);
  });

  it("keeps its bytes within the limit, and nothing that is larger", () => {
    const { store, has } = storeAt();
    store.set("a", new Uint8Array(60));
    store.set("b", new Uint8Array(101));
    expect(has("a", "b")).toEqual([true, false]);
    store.set("c", new Uint8Array(50));
    expect(has("a", "c")).toEqual([false, true]);
    store.set("c", new Uint8Array(30));
    store.set("d", new Uint8Array(70));
    expect(has("c", "d")).toEqual([true, true]);
  });
});
