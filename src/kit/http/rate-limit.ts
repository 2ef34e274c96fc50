import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type RateLimitInfo, RateLimitInfoSchema } from "../../gen/outrigger/v1/response_pb.ts";
import type { HttpHeaders } from "./headers.ts";
import { parseGoDuration } from "./retry-after.ts";

/** One of the windows in which a provider counts. */
export interface RateWindow {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  /** Seconds until it starts anew. */
  readonly reset: number | undefined;
}

const LARGEST_COUNT = 2_147_483_647;

/**
 * The limits of an account from the headers of OpenAI and its kin,
 * `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, where a reset is a Go duration from
 * `now` (milliseconds). Undefined where there are none that can be read. A count that does not
 * fit is the largest that does.
 */
export function rateLimitOf(
  headers: Pick<HttpHeaders, "get">,
  now: number = Date.now(),
): RateLimitInfo | undefined {
  return rateLimitIn(windowIn(headers, "requests"), windowIn(headers, "tokens"), now);
}

/**
 * The limits of an account from its windows, however its provider spells them. Undefined where
 * neither window says anything.
 * @param now What the resets count from, in milliseconds.
 */
export function rateLimitIn(
  requests: RateWindow,
  tokens: RateWindow,
  now: number,
): RateLimitInfo | undefined {
  const reset = nearestToLimit(requests, tokens).reset;
  const counts = [requests.limit, requests.remaining, tokens.limit, tokens.remaining];
  if (reset === undefined && counts.every((count) => count === undefined)) return undefined;
  const info = create(RateLimitInfoSchema);
  if (requests.remaining !== undefined) info.requestsRemaining = requests.remaining;
  if (requests.limit !== undefined) info.requestsLimit = requests.limit;
  if (tokens.remaining !== undefined) info.tokensRemaining = tokens.remaining;
  if (tokens.limit !== undefined) info.tokensLimit = tokens.limit;
  if (reset !== undefined) info.resetAt = timestampFromMs(Math.round(now + reset * 1000));
  return info;
}

function windowIn(headers: Pick<HttpHeaders, "get">, name: "requests" | "tokens"): RateWindow {
  return {
    limit: countIn(headers.get(`x-ratelimit-limit-${name}`)),
    remaining: countIn(headers.get(`x-ratelimit-remaining-${name}`)),
    reset: parseGoDuration(headers.get(`x-ratelimit-reset-${name}`)?.trim() ?? ""),
  };
}

/** A count in a header; undefined for what is none. A count that does not fit is the largest that does. */
export function countIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+\s*$/.test(text) ? Math.min(Number(text), LARGEST_COUNT) : undefined;
}

/** The window of which the least is left; of two that are alike, the one that takes longer to start anew. */
export function nearestToLimit(left: RateWindow, right: RateWindow): RateWindow {
  const difference = partLeft(left) - partLeft(right);
  if (difference !== 0) return difference < 0 ? left : right;
  return (left.reset ?? 0) > (right.reset ?? 0) ? left : right;
}

/** Part of a window that is left; a window that does not say is taken for untouched. */
function partLeft({ limit, remaining }: RateWindow): number {
  if (limit === undefined || remaining === undefined) return 1;
  return limit === 0 ? 0 : remaining / limit;
}
