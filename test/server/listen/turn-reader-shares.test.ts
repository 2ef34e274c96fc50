/** Tests of the pieces and turns that a connection gets, over a socket, turns and a clock that they play. */
import type { Socket } from "node:net";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import * as turns from "../../../src/core/loop-turns.ts";
import { TurnReader } from "../../../src/server/listen/turn-reader.ts";

vi.mock("../../../src/core/loop-turns.ts");

/** Work that waits for a turn. */
let waiting: { readonly kind: string; readonly run: () => void }[];

beforeEach(() => {
  waiting = [];
  const wait = (kind: string) => (run: () => void) => void waiting.push({ kind, run });
  vi.mocked(turns.hasShare).mockReturnValue(true);
  vi.mocked(turns.runInTurn).mockImplementation(wait("in turn"));
  vi.mocked(turns.runInLaterTurn).mockImplementation(wait("in a later turn"));
  vi.mocked(turns.runAfterOthers).mockImplementation(wait("after others"));
});

/** Runs the work that waits, and returns when it was to run. */
function runNext(): string | undefined {
  const next = waiting.shift();
  next?.run();
  return next?.kind;
}

function open() {
  const clock = { now: 1000, costMs: 0 };
  const now = vi.spyOn(performance, "now").mockImplementation(() => clock.now);
  onTestFinished(() => now.mockRestore());
  let held: Buffer = Buffer.alloc(0);
  const socket = {
    pause: () => {},
    unshift: (bytes: Buffer) => {
      held = bytes;
    },
    resume: () => reader.read(held),
  };
  const pieces: number[] = [];
  const reader = new TurnReader(socket as unknown as Socket, ({ length }) => {
    pieces.push(length);
    clock.now += clock.costMs;
  });
  return { clock, pieces, read: (length: number) => reader.read(Buffer.alloc(length)) };
}

describe("the pieces of a connection", () => {
  const KIB = 1024;

  it.each([
    [0, [4 * KIB, 8 * KIB, 16 * KIB, 16 * KIB]],
    [0.24, [4 * KIB, 8 * KIB, 16 * KIB, 16 * KIB]],
    [0.25, [4 * KIB, 4 * KIB, 4 * KIB, 4 * KIB]],
    [1, [4 * KIB, 4 * KIB, 4 * KIB, 4 * KIB]],
    [1.01, [4 * KIB, 2 * KIB, KIB, 512, 512]],
  ])("come in separate turns, and have the size for a millisecond if each takes %d ms", (costMs, sizes) => {
    const { clock, pieces, read } = open();
    clock.costMs = costMs;
    read(64 * KIB);
    for (const _ of sizes.slice(1)) expect(runNext()).toBe("in a later turn");
    expect(pieces).toEqual(sizes);
  });

  it("wait if the share of the turn is used up, all for one turn", () => {
    const { pieces, read } = open();
    vi.mocked(turns.hasShare).mockReturnValue(false);
    read(1);
    read(2);
    expect(pieces).toEqual([]);
    expect(runNext()).toBe("in turn");
    expect([pieces, waiting]).toEqual([[2], []]);
    read(3);
    expect(pieces).toEqual([2]);
  });

  it("wait for others after more than 10 ms, less 5 % of the time that has gone by", () => {
    const { clock, pieces, read } = open();
    clock.costMs = 10;
    read(1);
    read(2);
    expect(pieces).toEqual([1, 2]);
    // By now 19.5 ms.
    read(40_000);
    expect([pieces.length, runNext(), pieces.length]).toEqual([2, "after others", 3]);
    clock.costMs = 0;
    expect([runNext(), pieces.length]).toEqual(["after others", 4]);
    // By now 29 ms, of which each second takes off 50.
    clock.now += 300;
    expect([runNext(), pieces.length]).toEqual(["after others", 5]);
    clock.now += 200;
    expect([runNext(), runNext(), runNext()]).toEqual(["after others", "after others", "in a later turn"]);
  });
});
