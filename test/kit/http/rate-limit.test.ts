import { timestampDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { getRateLimit } from "../../../src/kit/http/rate-limit.ts";
import { createHeaders } from "../../../src/kit/http/transport.ts";

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

function read(headers: Record<string, string>) {
  const info = getRateLimit(createHeaders(headers), NOW);
  if (info === undefined) return undefined;
  const { $typeName, resetAt, ...counts } = info;
  expect($typeName).toBe("outrigger.v1.RateLimitInfo");
  return { ...counts, ...(resetAt === undefined ? {} : { resetAt: timestampDate(resetAt).getTime() - NOW }) };
}

describe("getRateLimit()", () => {
  it("reads all six headers; the window nearest to its limit names the reset", () => {
    const headers = {
      "x-ratelimit-limit-requests": "60",
      "x-ratelimit-remaining-requests": "59",
      "x-ratelimit-reset-requests": "6m0s",
      "x-ratelimit-limit-tokens": "150000",
      "x-ratelimit-remaining-tokens": "149",
      "x-ratelimit-reset-tokens": "20ms",
    };
    const counts = {
      requestsLimit: 60,
      requestsRemaining: 59,
      tokensLimit: 150_000,
      tokensRemaining: 149,
    };
    expect(read(headers)).toEqual({ ...counts, resetAt: 20 });
    const busy = { ...headers, "x-ratelimit-remaining-requests": "0" };
    expect(read(busy)).toEqual({ ...counts, requestsRemaining: 0, resetAt: 360_000 });
  });

  it("takes the later reset if neither window is nearer to its limit", () => {
    const resets = { "x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "1h2m3.5s" };
    expect(read(resets)).toEqual({ resetAt: 3_723_500 });
  });

  it("leaves missing and unreadable values unset, and clamps values that do not fit", () => {
    expect(read({ "x-ratelimit-remaining-tokens": "7" })).toStrictEqual({ tokensRemaining: 7 });
    expect(read({ "x-ratelimit-remaining-requests": "7" })).toStrictEqual({ requestsRemaining: 7 });
    expect(read({ "x-ratelimit-limit-tokens": "99999999999" })).toEqual({ tokensLimit: 2_147_483_647 });
    const garbage = { "x-ratelimit-limit-requests": "-1", "x-ratelimit-reset-requests": "soon" };
    expect(read({ ...garbage, "x-ratelimit-limit-tokens": "0" })).toEqual({ tokensLimit: 0 });
  });

  it("takes the tightest of several windows, as Mistral and Hugging Face name them", () => {
    const mistral = {
      "x-ratelimit-limit-req-minute": "60",
      "x-ratelimit-remaining-req-minute": "59",
      "x-ratelimit-limit-tokens-minute": "500000",
      "x-ratelimit-remaining-tokens-minute": "400000",
      "x-ratelimit-limit-tokens-month": "1000000000",
      "x-ratelimit-remaining-tokens-month": "1000",
    };
    expect(read(mistral)).toEqual({
      requestsLimit: 60,
      requestsRemaining: 59,
      tokensLimit: 1_000_000_000,
      tokensRemaining: 1000,
    });
    const daily = { "x-ratelimit-limit-requests-day": "1000", "x-ratelimit-remaining-requests-day": "3" };
    expect(read(daily)).toEqual({ requestsLimit: 1000, requestsRemaining: 3 });
  });

  it.each(["second", "minute", "hour", "day", "month"])(
    "reads a window of a %s that has one count",
    (length) => {
      const requests = { [`x-ratelimit-remaining-req-${length}`]: "5" };
      const tokens = { [`x-ratelimit-limit-tokens-${length}`]: "9" };
      expect(read({ ...requests, ...tokens })).toStrictEqual({ requestsRemaining: 5, tokensLimit: 9 });
    },
  );

  it("is undefined without headers that can be read", () => {
    expect(read({})).toBeUndefined();
    expect(read({ "x-ratelimit-limit-requests": "many", "x-request-id": "1" })).toBeUndefined();
  });
});
