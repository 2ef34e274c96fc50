import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  runAfterOthers,
  runInLaterTurn,
  runInTurn,
  yieldTurn,
  yieldTurnAfter,
} from "../../src/core/loop-turns.ts";

/** More than half of the share of a turn, in milliseconds. */
const PIECE_MS = 6;
const PIECES = 12;

function compute(): void {
  for (const end = performance.now() + PIECE_MS; performance.now() < end; );
}

/** Takes the whole share of a turn. */
function useUp(): void {
  compute();
  compute();
}

/** Counts turns of the event loop until some work is done. */
async function countTurns(isDone: () => boolean): Promise<number> {
  let turns = 0;
  for (; !isDone(); turns += 1) await setImmediate();
  return turns;
}

describe("the share of a turn", () => {
  it("spreads work that is given in one turn over several turns, in its order", async () => {
    await setImmediate();
    const done: number[] = [];
    for (let index = 0; index < PIECES; index += 1) {
      runInTurn(() => {
        compute();
        done.push(index);
      });
    }
    const turns = await countTurns(() => done.length === PIECES);
    expect(turns).toBeGreaterThanOrEqual(PIECES / 2 - 1);
    expect(done).toEqual(Array.from({ length: PIECES }, (_, index) => index));
  });

  it("counts the promise callbacks that follow from a piece of work", async () => {
    await setImmediate();
    let done = 0;
    const work = async () => {
      const turn = yieldTurn();
      if (turn !== undefined) await turn;
      await null;
      await null;
      compute();
      done += 1;
    };
    runInTurn(useUp);
    for (let index = 0; index < PIECES; index += 1) void work();
    expect(await countTurns(() => done === PIECES)).toBeGreaterThanOrEqual(PIECES / 2 - 1);
  });

  it("lets a later turn come between two passes over a large value, and none over a small one", async () => {
    await setImmediate();
    expect(yieldTurnAfter(1024 * 1024 - 1)).toBeUndefined();
    let isDone = false;
    yieldTurnAfter(1024 * 1024)?.then(() => {
      isDone = true;
    });
    expect(await countTurns(() => isDone)).toBeGreaterThanOrEqual(1);
    runInTurn(useUp);
    expect(yieldTurnAfter(1024)).toBeUndefined();
  });

  it("runs work in a later turn even if there is time in this one", async () => {
    await setImmediate();
    let hasRun = false;
    runInLaterTurn(() => (hasRun = true));
    expect(hasRun).toBe(false);
    expect(await countTurns(() => hasRun)).toBeGreaterThanOrEqual(1);
  });

  it("lets other work run between two pieces of postponed work", async () => {
    await setImmediate();
    const order: string[] = [];
    const note = (name: string) => () => {
      useUp();
      order.push(name);
    };
    runAfterOthers(note("a"));
    runAfterOthers(note("b"));
    for (const name of ["1", "2", "3"]) runInLaterTurn(note(name));
    // Each piece takes as long as all the work of a turn may.
    await countTurns(() => order.length === 5);
    expect(order).toEqual(["a", "1", "b", "2", "3"]);
  });

  it("lets timers run before work that waits", async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    const order: string[] = [];
    runInTurn(useUp);
    runInTurn(() => order.push("work"));
    setTimeout(() => order.push("timer"), 1);
    compute();
    await countTurns(() => order.length === 2);
    expect(order).toEqual(["timer", "work"]);
  });

  it("needs no wait before it is used up", async () => {
    await setImmediate();
    expect(yieldTurn()).toBeUndefined();
    let hasRun = false;
    runInTurn(() => (hasRun = true));
    expect(hasRun).toBe(true);
  });

  it("continues with the next work if some fails", async () => {
    await setImmediate();
    const failures: unknown[] = [];
    const onFailure = (error: unknown) => failures.push(error);
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException").on("uncaughtException", onFailure);
    let hasRun = false;
    try {
      runInTurn(useUp);
      runInTurn(() => {
        throw new Error("failed");
      });
      runInTurn(() => (hasRun = true));
      await countTurns(() => hasRun);
    } finally {
      process.off("uncaughtException", onFailure);
      for (const listener of others) process.on("uncaughtException", listener);
    }
    expect(failures).toEqual([new Error("failed")]);
  });
});
