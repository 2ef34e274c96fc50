import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { CallScope } from "../../src/core/call-scope.ts";
import { AbortError } from "../../src/core/errors.ts";

describe("The scope of a call", () => {
  it("has one signal, which follows the caller's", () => {
    const caller = new AbortController();
    const scope = new CallScope(caller.signal);
    const { signal } = scope;
    expect(scope.signal).toBe(signal);
    expect(getEventListeners(caller.signal, "abort")).toHaveLength(1);
    caller.abort("left");
    expect([signal.aborted, signal.reason]).toEqual([true, "left"]);
    expect(new CallScope(caller.signal).signal.reason).toBe("left");
  });

  it("aborts the signal when it is closed early, with a reason", () => {
    const scope = new CallScope(undefined);
    const { signal } = scope;
    scope.abort();
    expect(signal.reason).toBeInstanceOf(AbortError);
    const other = new CallScope(undefined);
    const reason = new AbortError("lost");
    const { signal: lost } = other;
    other.abort(reason);
    expect(lost.reason).toBe(reason);
  });

  it.each(["release", "abort"] as const)("leaves no listener at the caller's signal after %s()", (method) => {
    const caller = new AbortController();
    const scope = new CallScope(caller.signal);
    const { signal } = scope;
    scope[method]();
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
    caller.abort("left");
    scope.abort();
    expect(signal.reason).not.toBe("left");
    expect(signal.aborted).toBe(method === "abort");
  });
});
