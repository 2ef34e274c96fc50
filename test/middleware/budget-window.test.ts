import { describe, expect, it } from "vitest";
import { type BudgetPeriod, BudgetWindow } from "../../src/middleware/budget-window.ts";

const one = { requests: 1, tokens: 10, nanoUsd: 5 };

function windowAt(period: BudgetPeriod, moment: string) {
  const clock = { now: Date.parse(moment) };
  return { clock, window: new BudgetWindow(period, () => clock.now) };
}

describe("BudgetWindow", () => {
  it.each([
    ["hour", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00.000Z"],
    ["day", "2026-02-28T12:00:00Z", "2026-03-01T00:00:00.000Z"],
    ["month", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00.000Z"],
    ["hour", "2026-05-10T10:30:00Z", "2026-05-10T11:00:00.000Z"],
    ["day", "2026-05-10T10:30:00Z", "2026-05-11T00:00:00.000Z"],
    ["month", "2026-05-10T10:30:00Z", "2026-06-01T00:00:00.000Z"],
  ] as const)("of an %s ends with it, by UTC", (period, moment, end) => {
    const { clock, window } = windowAt(period, moment);
    expect(new Date(window.resetsAt).toISOString()).toBe(end);
    window.take(one);
    expect(window.with(one)).toEqual({ requests: 2, tokens: 20, nanoUsd: 10 });
    clock.now = Date.parse(end);
    expect(window.with(one)).toEqual(one);
  });

  it("replaces the reservation by the usage, in the window of the reservation", () => {
    const { clock, window } = windowAt("day", "2026-02-28T23:00:00Z");
    const [first, second] = [window.take(one), window.take(one)];
    window.settle(first, { requests: 1, tokens: 100, nanoUsd: 50 });
    expect(window.with(one)).toEqual({ requests: 3, tokens: 120, nanoUsd: 60 });
    clock.now += 3_600_000;
    window.settle(second, { requests: 1, tokens: 100, nanoUsd: 50 });
    expect(window.with(one)).toEqual(one);
  });

  it("is drained and filled again, unless its window has ended meanwhile", () => {
    const { clock, window } = windowAt("hour", "2026-05-10T10:30:00Z");
    window.take(one);
    const drained = window.drain();
    expect(drained.amount).toEqual(one);
    expect(window.with(one)).toEqual(one);
    window.put(drained);
    expect(window.with(one)).toEqual({ requests: 2, tokens: 20, nanoUsd: 10 });
    clock.now += 3_600_000;
    window.put(drained);
    expect(window.with(one)).toEqual(one);
  });
});
