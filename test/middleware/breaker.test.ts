import { describe, expect, it } from "vitest";
import {
  Breaker,
  type CallResult,
  type CircuitState,
  LocalBreakerStore,
} from "../../src/middleware/breaker.ts";

function breakerAt(start = 1000) {
  const clock = { now: start };
  const states: CircuitState[] = [];
  const rule = { failureRatio: 0.5, minCalls: 4, windowMs: 10_000, openMs: 5000 };
  const breaker = new Breaker(
    rule,
    (state) => void states.push(state),
    () => clock.now,
  );
  const make = (...results: CallResult[]) => {
    for (const result of results) breaker.admit().end(result);
  };
  return { clock, states, breaker, make };
}

/** A breaker that has opened, with its time over. */
function halfOpened() {
  const parts = breakerAt();
  parts.make("failure", "failure", "failure", "failure");
  parts.clock.now += 5000;
  return parts;
}

describe("Breaker", () => {
  it("opens when enough calls were made and the share of failures is reached", () => {
    const { states, breaker, make } = breakerAt();
    make("failure", "failure", "failure");
    expect(breaker.waitMs).toBe(0);
    make("failure");
    expect(breaker.waitMs).toBe(5000);
    expect(states).toEqual(["open"]);
  });

  it("forgets a call after ten seconds, or up to a second later", () => {
    for (const [later, states] of [
      [8999, ["open"]],
      [11_000, []],
    ] as const) {
      const parts = breakerAt(1_700_000_000_500);
      parts.make("failure", "failure", "failure");
      parts.clock.now += later;
      parts.make("failure");
      expect(parts.states).toEqual(states);
    }
  });

  it("stays closed while fewer calls fail, and does not count calls of which nothing is known", () => {
    const { states, breaker, make } = breakerAt();
    make("success", "success", "success", "failure", "failure", "unknown", "unknown");
    expect(states).toEqual([]);
    expect(breaker.waitMs).toBe(0);
    make("failure");
    expect(breaker.waitMs).toBe(5000);
  });

  it("forgets calls that are older than its window", () => {
    const { clock, breaker, make } = breakerAt();
    make("failure", "failure", "failure");
    clock.now += 10_000;
    make("failure");
    expect(breaker.waitMs).toBe(0);
  });

  it("lets one call through after its time, which closes it if it succeeds", () => {
    const { clock, states, breaker, make } = halfOpened();
    expect(breaker.waitMs).toBe(0);
    const probe = breaker.admit();
    clock.now += 1000;
    expect(breaker.waitMs).toBe(4000);
    probe.end("success");
    expect(breaker.waitMs).toBe(0);
    make("failure", "failure", "failure");
    expect(states).toEqual(["open", "half_open", "closed"]);
  });

  it("opens again for the whole time if that call fails", () => {
    const { clock, states, breaker } = halfOpened();
    const probe = breaker.admit();
    clock.now += 1000;
    probe.end("failure");
    expect(breaker.waitMs).toBe(5000);
    expect(states).toEqual(["open", "half_open", "open"]);
  });

  it("admits the next call immediately if the first one had no known result", () => {
    const { breaker, states } = halfOpened();
    breaker.admit().end("unknown");
    expect(breaker.waitMs).toBe(0);
    expect(states).toEqual(["open", "half_open"]);
  });

  it("lets another call through if the first one never ends", () => {
    const { clock, breaker } = halfOpened();
    breaker.admit();
    clock.now += 5000;
    expect(breaker.waitMs).toBe(0);
  });

  it("closes with the first events of a stream, and counts its end like any call's", () => {
    const { breaker, make } = halfOpened();
    const probe = breaker.admit();
    probe.begin();
    expect(breaker.waitMs).toBe(0);
    make("failure", "failure", "failure");
    probe.end("failure");
    expect(breaker.waitMs).toBe(5000);
  });

  it("is decided by each call once, and only while it is half open", () => {
    const { clock, states, breaker, make } = halfOpened();
    const [late, probe] = [breaker.admit(), breaker.admit()];
    expect(states).toEqual(["open", "half_open"]);
    probe.end("failure");
    late.begin();
    expect(states).toEqual(["open", "half_open", "open"]);
    clock.now += 5000;
    const next = breaker.admit();
    next.begin();
    make("failure", "failure", "failure", "failure");
    clock.now += 5000;
    breaker.admit();
    next.begin();
    expect(states.slice(3)).toEqual(["half_open", "closed", "open", "half_open"]);
  });

  it("does not count the failures of calls that began before it opened", () => {
    const { clock, breaker, make } = breakerAt();
    const early = breaker.admit();
    make("failure", "failure", "failure", "failure");
    clock.now += 1000;
    early.end("failure");
    expect(breaker.waitMs).toBe(4000);
  });
});

it("The breakers in memory are one for each model, for the thousand models that failed last", () => {
  const rule = { failureRatio: 0.5, minCalls: 1, windowMs: 10_000, openMs: 5000 };
  const store = new LocalBreakerStore(rule, () => {});
  const enter = (model: string) => store.enter({ provider: "p", model });
  const fail = (model: string) => {
    const call = enter(model);
    if ("end" in call) call.end("failure");
  };
  for (let index = 0; index < 1000; index += 1) fail(`m${index}`);
  expect([enter("m0"), enter("m999")]).toMatchObject([
    { waitMs: expect.any(Number) },
    { waitMs: expect.any(Number) },
  ]);
  fail("other");
  expect(enter("m1")).not.toHaveProperty("waitMs");
});
