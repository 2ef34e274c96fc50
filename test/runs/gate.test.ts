import { describe, expect, it } from "vitest";
import { MemoryAccount } from "../../src/core/memory-account.ts";
import { RunLimitError } from "../../src/runs/errors.ts";
import { Gate } from "../../src/runs/gate.ts";

const never = new AbortController().signal;

function openGate(max: number, isShared: boolean): Gate {
  const account = new MemoryAccount({ isShared: () => isShared });
  return new Gate("max_foreground_runs", max, "runs in the foreground", account);
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

  it("refuses a place that was waited for to an owner that has its share", async () => {
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
});
