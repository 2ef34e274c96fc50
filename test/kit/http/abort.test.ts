import { describe, expect, it } from "vitest";
import { AbortError, RequestTimeoutError } from "../../../src/core/errors.ts";
import { toAbortError } from "../../../src/kit/http/abort.ts";

describe("toAbortError()", () => {
  it("gives a reason that is one of our errors as it is", () => {
    const reason = new RequestTimeoutError("the deadline ran out");
    expect(toAbortError(AbortSignal.abort(reason))).toBe(reason);
  });

  it("takes the reason of AbortSignal.timeout() for a time limit", () => {
    const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
    expect(toAbortError(AbortSignal.abort(reason))).toBeInstanceOf(RequestTimeoutError);
  });

  it.each([undefined, "left", new Error("left")])("takes %s for a caller who left", (reason) => {
    expect(toAbortError(AbortSignal.abort(reason))).toBeInstanceOf(AbortError);
  });
});
