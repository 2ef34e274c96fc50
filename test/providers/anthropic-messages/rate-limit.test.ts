import { timestampDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { createHeaders } from "../../../src/kit/http/transport.ts";
import { getRateLimit } from "../../../src/providers/anthropic-messages/rate-limit.ts";

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

function read(headers: Record<string, string>) {
  const named = Object.entries(headers).map(([name, value]) => [`anthropic-ratelimit-${name}`, value]);
  const info = getRateLimit(createHeaders(Object.fromEntries(named)), NOW);
  if (info === undefined) return undefined;
  const { $typeName, resetAt, ...counts } = info;
  expect($typeName).toBe("outrigger.v1.RateLimitInfo");
  return { ...counts, ...(resetAt === undefined ? {} : { resetAt: timestampDate(resetAt).toISOString() }) };
}

const REQUESTS = {
  "requests-limit": "4000",
  "requests-remaining": "3999",
  "requests-reset": "2026-11-21T12:00:01Z",
};

describe("getRateLimit()", () => {
  it("reads requests and tokens, and the reset of the window nearest to its limit", () => {
    const headers = {
      ...REQUESTS,
      "tokens-limit": "5000000",
      "tokens-remaining": "1000",
      "tokens-reset": "2026-11-21T12:00:59Z",
      "input-tokens-limit": "7",
    };
    expect(read(headers)).toEqual({
      requestsLimit: 4000,
      requestsRemaining: 3999,
      tokensLimit: 5_000_000,
      tokensRemaining: 1000,
      resetAt: "2026-11-21T12:00:59.000Z",
    });
  });

  it("reads the tighter of input and output tokens if there is no joint limit", () => {
    const headers = {
      "input-tokens-limit": "1000",
      "input-tokens-remaining": "900",
      "output-tokens-limit": "100",
      "output-tokens-remaining": "10",
      "output-tokens-reset": "2026-11-21T12:01:00Z",
    };
    expect(read(headers)).toEqual({
      tokensLimit: 100,
      tokensRemaining: 10,
      resetAt: "2026-11-21T12:01:00.000Z",
    });
  });

  it("ignores values that are not a count or a date", () => {
    expect(read({ ...REQUESTS, "requests-remaining": "many", "requests-reset": "soon" })).toEqual({
      requestsLimit: 4000,
    });
    expect(read({})).toBeUndefined();
  });
});
