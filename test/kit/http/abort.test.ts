import { describe, expect, it } from "vitest";
import { AbortError, RequestTimeoutError } from "../../../src/core/errors.ts";
import { toAbortError } from "../../../src/kit/http/abort.ts";

describe("toAbortError()", () => {
  it("returns a reason that is one of our errors unchanged", () => {
    const reason = new RequestTimeoutError("the deadline ran out");
    expect(toAbortError(AbortSignal.abort(reason))).toBe(reason);
  });

  it("treats the reason of AbortSignal.timeout() as a time limit", () => {
    const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
    expect(toAbortError(AbortSignal.abort(reason))).toBeInstanceOf(RequestTimeoutError);
  });

  it.each([undefined, "left", new Error("left")])("treats %s as a caller that disconnected", (reason) => {
    expect(toAbortError(AbortSignal.abort(reason))).toBeInstanceOf(AbortError);
  });
});
