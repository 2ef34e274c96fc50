import type { RateLimitInfo } from "../../gen/outrigger/v1/response_pb.ts";
import type { HttpHeaders } from "../../kit/http/headers.ts";
import { nearestToLimit, type RateWindow, readCount, readRateLimit } from "../../kit/http/rate-limit.ts";

type Headers = Pick<HttpHeaders, "get">;

/**
 * Reads the limits of an account from `anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-
 * {limit,remaining,reset}` (provider documentation: "Rate limits", response headers), in which a reset is an RFC 3339
 * date. `tokens`, if present, already describes the tightest token limit; otherwise the tighter of input and output is
 * used.
 * @param now Milliseconds since 1970.
 */
export function getRateLimit(headers: Headers, now: number = Date.now()): RateLimitInfo | undefined {
  return readRateLimit(readWindow(headers, "requests", now), readTokenWindow(headers, now), now);
}

function readTokenWindow(headers: Headers, now: number): RateWindow {
  const tokens = readWindow(headers, "tokens", now);
  if (tokens.limit !== undefined || tokens.remaining !== undefined) return tokens;
  return nearestToLimit(readWindow(headers, "input-tokens", now), readWindow(headers, "output-tokens", now));
}

function readWindow(headers: Headers, name: string, now: number): RateWindow {
  const reset = Date.parse(headers.get(`anthropic-ratelimit-${name}-reset`) ?? "");
  return {
    limit: readCount(headers.get(`anthropic-ratelimit-${name}-limit`)),
    remaining: readCount(headers.get(`anthropic-ratelimit-${name}-remaining`)),
    reset: Number.isNaN(reset) ? undefined : (reset - now) / 1000,
  };
}
