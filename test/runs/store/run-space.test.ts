import { describe, expect, it } from "vitest";
import { InternalError } from "../../../src/core/errors.ts";
import { StoreFullError } from "../../../src/runs/errors.ts";
import type { Space } from "../../../src/runs/store/driver.ts";
import { getSpaceLimit, NoSpaceError, RunSpace } from "../../../src/runs/store/run-space.ts";

const MAX = 6400;

interface Setup {
  readonly evicts?: boolean;
  /** The sizes of the runs that can be removed. */
  readonly removable?: number[];
}

/** A room over a space of 6,400 bytes, of which `used` are taken. */
function createRoom({ evicts = true, removable = [] }: Setup = {}) {
  const state = { used: 0, evictions: [] as number[], warnings: 0 };
  const space: Space = { maxBytes: MAX, setting: "the.setting", evicts, usedBytes: () => state.used };
  const evict = async (limit: number) => {
    state.evictions.push(limit);
    const removed = removable.splice(0, limit);
    for (const bytes of removed) state.used -= bytes;
    return removed.length;
  };
  const room = new RunSpace(space, evict, (problem) => {
    expect(problem).toMatchObject({
      message: expect.stringContaining("raise the.setting, or set runs.store"),
    });
    state.warnings += 1;
  });
  /** Takes bytes, if they are free. */
  const take = async (bytes: number) => {
    const missing = state.used + bytes - MAX;
    if (missing > 0) throw new NoSpaceError("no room", missing);
    state.used += bytes;
    return "done";
  };
  return { room, state, take };
}

describe("the space that changes may use", () => {
  it("is smallest for new data, and the whole space for deletions", () => {
    const space = { maxBytes: MAX, setting: "", evicts: false, usedBytes: () => 0 };
    const limits = (["create", "append", "end", "any"] as const).map((use) => getSpaceLimit(space, use));
    expect(limits).toEqual([5600, 6000, 6300, 6400]);
    expect(getSpaceLimit({ ...space, maxBytes: 1001 }, "create")).toBe(875);
  });

  it("may be used up to a half by runs in progress", () => {
    const { room } = createRoom();
    room.add("a", 2000);
    room.add("a", 200);
    room.add("b", 1000);
    expect(() => room.checkCreation(0)).not.toThrow();
    expect(() => room.checkCreation(1)).toThrow(StoreFullError);
    expect(() => room.checkCreation(1)).toThrow(/more than half of the space for runs; raise the\.setting/);
    room.remove("a");
    room.remove("a");
    room.remove("unknown");
    expect(() => room.checkCreation(2200)).not.toThrow();
    expect(() => room.checkCreation(2201)).toThrow(StoreFullError);
  });
});

describe("a change for which there is no space", () => {
  it("is made when enough old runs are removed, a few at a time", async () => {
    const { room, state, take } = createRoom({ removable: Array.from({ length: 30 }, () => 100) });
    state.used = 6000;
    expect(await room.executeWithEviction(() => take(1500))).toBe("done");
    expect(state.evictions).toEqual([8, 8]);
    expect(state.used).toBe(5900);
    expect(state.warnings).toBe(1);
  });

  it("removes no more than is missing", async () => {
    const { room, state, take } = createRoom({ removable: Array.from({ length: 30 }, () => 100) });
    state.used = 6400;
    expect(await room.executeWithEviction(() => take(800))).toBe("done");
    expect(state.evictions).toEqual([8]);
  });

  it("warns about the first removal only", async () => {
    const { room, state, take } = createRoom({ removable: Array.from({ length: 30 }, () => 100) });
    state.used = 6400;
    await room.executeWithEviction(() => take(500));
    await room.executeWithEviction(() => take(700));
    expect(state.evictions.length).toBeGreaterThan(1);
    expect(state.warnings).toBe(1);
  });

  it("is refused if too little can be removed, without an end", async () => {
    const { room, state, take } = createRoom({ removable: [100, 100] });
    state.used = 6400;
    await expect(room.executeWithEviction(() => take(1000))).rejects.toBeInstanceOf(NoSpaceError);
    expect(state.used).toBe(6200);
    expect(state.warnings).toBe(1);
  });

  it("is refused without a warning if nothing can be removed", async () => {
    const { room, state, take } = createRoom();
    state.used = 6400;
    await expect(room.executeWithEviction(() => take(1))).rejects.toThrow("no room");
    expect([state.evictions, state.warnings]).toEqual([[8], 0]);
  });

  it("is refused at once if the space does not evict, and so is another failure", async () => {
    const full = createRoom({ evicts: false, removable: [6400] });
    full.state.used = 6400;
    await expect(full.room.executeWithEviction(() => full.take(1))).rejects.toThrow("no room");
    const { room, state } = createRoom({ removable: [100] });
    await expect(room.executeWithEviction(() => Promise.reject(new InternalError("broken")))).rejects.toThrow(
      "broken",
    );
    expect([full.state.evictions, state.evictions]).toEqual([[], []]);
  });
});
