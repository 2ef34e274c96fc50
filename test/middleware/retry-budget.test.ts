import { ConfigurationError } from "outrigger";
import { describe, expect, it } from "vitest";
import { RetryBudget, type RetryBudgetOptions } from "../../src/middleware/retry-budget.ts";

function budgetAt(options?: RetryBudgetOptions) {
  const clock = { now: 0 };
  return { clock, budget: new RetryBudget(options, () => clock.now) };
}

/** Retries that are left. */
function drain(budget: RetryBudget): number {
  let count = 0;
  while (budget.withdraw()) count += 1;
  return count;
}

describe("RetryBudget", () => {
  it("allows the retries of ten seconds at once, and then one each second", () => {
    const { clock, budget } = budgetAt();
    expect(drain(budget)).toBe(10);
    clock.now += 3000;
    expect(drain(budget)).toBe(3);
    clock.now += 3_600_000;
    expect(drain(budget)).toBe(10);
  });

  it("gains the configured number of retries per second", () => {
    const { clock, budget } = budgetAt({ minPerSecond: 2 });
    expect(drain(budget)).toBe(20);
    clock.now += 3000;
    expect(drain(budget)).toBe(6);
  });

  it("allows one retry for ten calls beyond that", () => {
    const { budget } = budgetAt({ minPerSecond: 0 });
    expect(drain(budget)).toBe(0);
    for (let call = 0; call < 55; call += 1) budget.deposit();
    expect(drain(budget)).toBe(5);
  });

  it("accumulates a limited number of retries, and always allows the minimum", () => {
    const { budget } = budgetAt({ ratio: 1, minPerSecond: 0 });
    for (let call = 0; call < 1000; call += 1) budget.deposit();
    expect(drain(budget)).toBe(100);
    const { budget: high } = budgetAt({ minPerSecond: 30 });
    high.deposit();
    expect(drain(high)).toBe(300);
  });

  it.each([{ ratio: -1 }, { minPerSecond: Number.NaN }, { ratio: Infinity }])("refuses %o", (options) => {
    expect(() => new RetryBudget(options)).toThrow(ConfigurationError);
  });
});
