import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { MemoryAccount } from "../../src/core/memory-account.ts";
import { RunLimitError } from "../../src/runs/errors.ts";
import { Gate } from "../../src/runs/limits.ts";

const never = new AbortController().signal;

function openGate(max: number, isShared: boolean): Gate {
  const account = new MemoryAccount({ isShared: () => isShared });
  return new Gate("max_foreground_runs", max, "foreground runs", account);
}

describe("the limit on one kind of work", () => {
  it("lets one owner take three quarters of the places if there are several owners", () => {
    const gate = openGate(8, true);
    for (let count = 0; count < 6; count++) gate.enter("greedy");
    expect(() => gate.enter("greedy")).toThrow(/max_foreground_runs of 6 .* of one access key/);
    gate.enter("modest");
    gate.enter("other");
    expect(() => gate.enter("third")).toThrow(RunLimitError);
    gate.leave("greedy");
    gate.enter("greedy");
  });

  it("lets the only owner take all places", () => {
    const gate = openGate(2, false);
    gate.enter("alone");
    gate.enter("alone");
    expect(() => gate.enter("alone")).toThrow(RunLimitError);
  });

  it("has a place for each owner even if there is only one place", () => {
    const gate = openGate(1, true);
    gate.enter("first");
    gate.leave("first");
    expect(() => gate.enter("second")).not.toThrow();
  });

  it("refuses a waiter whose owner has used its share meanwhile", async () => {
    const gate = openGate(4, true);
    for (let count = 0; count < 3; count++) {
      await gate.wait(never);
      expect(gate.claim("greedy")).toBe(true);
    }
    await gate.wait(never);
    expect(gate.claim("greedy")).toBe(false);
    expect(gate.claim("modest")).toBe(true);
    gate.leave("greedy");
    await gate.wait(never);
    expect(gate.claim("greedy")).toBe(true);
  });

  it("gives a released place to the first waiter", async () => {
    const gate = openGate(1, false);
    gate.enter("");
    const entered: string[] = [];
    const first = gate.wait(never).then(() => entered.push("first"));
    const second = gate.wait(never).then(() => entered.push("second"));
    gate.leave("");
    await first;
    expect([entered, gate.free]).toEqual([["first"], 0]);
    expect(() => gate.enter("")).toThrow("the limit runs.limits.max_foreground_runs of 1 foreground runs");
    gate.leave("");
    await second;
    gate.leave("");
    expect(gate.free).toBe(1);
    await gate.wait(never);
    expect(gate.free).toBe(0);
  });

  it("gives no place to a waiter whose signal was aborted, and leaves no listener", async () => {
    const gate = openGate(1, false);
    const stop = new AbortController();
    await gate.wait(stop.signal);
    const waiting = gate.wait(stop.signal);
    const other = gate.wait(never);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ kindName: "ABORT" });
    await expect(gate.wait(stop.signal)).rejects.toMatchObject({ kindName: "ABORT" });
    gate.leave("");
    await other;
    gate.leave("");
    expect(gate.free).toBe(1);
    const passing = new AbortController();
    gate.enter("");
    const passed = gate.wait(passing.signal);
    gate.leave("");
    await passed;
    expect(getEventListeners(passing.signal, "abort")).toEqual([]);
  });

  it("lists the owners that have used their share, until they release a place", () => {
    const gate = openGate(4, true);
    for (const owner of ["a", "a", "b", "a"]) gate.enter(owner);
    expect(gate.fullOwners).toEqual(["a"]);
    gate.leave("a");
    expect(gate.fullOwners).toEqual([]);
    gate.leave("a");
    gate.leave("a");
    gate.leave("b");
    expect(gate.free).toBe(4);
    for (let count = 0; count < 3; count += 1) gate.enter("a");
    expect(() => gate.enter("a")).toThrow("max_foreground_runs of 3 foreground runs of one access key");
    gate.enter("b");
    gate.leave("");
    expect(gate.free).toBe(1);
  });
});
