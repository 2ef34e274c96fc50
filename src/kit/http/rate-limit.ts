import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { RateLimitInfo } from "../../gen/outrigger/v1/response_pb.ts";
import type { HttpHeaders } from "./headers.ts";
import { parseGoDuration } from "./retry-after.ts";

/** A window in which a provider counts requests or tokens. */
export interface RateWindow {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  /** Seconds until the window resets. */
  readonly reset: number | undefined;
}

const LARGEST_COUNT = 2_147_483_647;

/**
 * Reads rate limits from the headers of OpenAI and similar servers,
 * `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, in which a reset is a Go duration from `now` (milliseconds).
 * Mistral and Hugging Face add the length of the window (`-req-minute`, `-requests-day`): the window nearest to its
 * limit counts. Undefined if there are no such headers. A count above the range of int32 becomes its maximum.
 */
export function getRateLimit(headers: HttpHeaders, now: number = Date.now()): RateLimitInfo | undefined {
  const info = readRateLimit(readWindow(headers, REQUESTS), readWindow(headers, TOKENS), now);
  if (info !== undefined || !hasRateLimits(headers)) return info;
  return readRateLimit(findTightest(headers, REQUEST_WINDOWS), findTightest(headers, TOKEN_WINDOWS), now);
}

/**
 * Reports whether there are any such headers. Most answers have none, and looking up the names of all windows would
 * cost more than scanning all headers.
 */
function hasRateLimits(headers: Iterable<[name: string, value: string]>): boolean {
  for (const [name] of headers) if (name.startsWith("x-ratelimit-")) return true;
  return false;
}

type WindowHeaders = Readonly<Record<keyof RateWindow, string>>;

function toWindowHeaders(window: string): WindowHeaders {
  return {
    limit: `x-ratelimit-limit-${window}`,
    remaining: `x-ratelimit-remaining-${window}`,
    reset: `x-ratelimit-reset-${window}`,
  };
}

const REQUESTS = toWindowHeaders("requests");
const TOKENS = toWindowHeaders("tokens");
const REQUEST_WINDOWS = [...toWindows("requests"), ...toWindows("req")];
const TOKEN_WINDOWS = toWindows("tokens");

function toWindows(counted: string): WindowHeaders[] {
  return ["second", "minute", "hour", "day", "month"].map((length) =>
    toWindowHeaders(`${counted}-${length}`),
  );
}

const NO_WINDOW: RateWindow = { limit: undefined, remaining: undefined, reset: undefined };

/** Returns the window nearest to its limit among the windows in the headers. */
function findTightest(headers: Pick<HttpHeaders, "get">, windows: readonly WindowHeaders[]): RateWindow {
  const [first = NO_WINDOW, ...others] = windows
    .map((names) => readWindow(headers, names))
    .filter(({ limit, remaining }) => limit !== undefined || remaining !== undefined);
  return others.reduce(nearestToLimit, first);
}

/**
 * Combines the windows of requests and tokens to rate limits. Undefined if both are empty.
 * @param now Time from which the resets count, in milliseconds since the epoch.
 */
export function readRateLimit(
  requests: RateWindow,
  tokens: RateWindow,
  now: number,
): RateLimitInfo | undefined {
  const reset = nearestToLimit(requests, tokens).reset;
  const count = requests.limit ?? requests.remaining ?? tokens.limit ?? tokens.remaining;
  if (reset === undefined && count === undefined) return undefined;
  const info: RateLimitInfo = { $typeName: "outrigger.v1.RateLimitInfo" };
  if (requests.remaining !== undefined) info.requestsRemaining = requests.remaining;
  if (requests.limit !== undefined) info.requestsLimit = requests.limit;
  if (tokens.remaining !== undefined) info.tokensRemaining = tokens.remaining;
  if (tokens.limit !== undefined) info.tokensLimit = tokens.limit;
  if (reset !== undefined) info.resetAt = timestampFromMs(Math.round(now + reset * 1000));
  return info;
}

function readWindow(
  headers: Pick<HttpHeaders, "get">,
  { limit, remaining, reset }: WindowHeaders,
): RateWindow {
  const resetAfter = headers.get(reset);
  return {
    limit: readCount(headers.get(limit)),
    remaining: readCount(headers.get(remaining)),
    reset: resetAfter === undefined ? undefined : parseGoDuration(resetAfter.trim()),
  };
}

/** Reads a count in a header; undefined if there is none. A count above the range of int32 becomes its maximum. */
export function readCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+\s*$/.test(text) ? Math.min(Number(text), LARGEST_COUNT) : undefined;
}

/** Returns the window with the smaller remaining share; of two equal ones, the one that resets later. */
export function nearestToLimit(left: RateWindow, right: RateWindow): RateWindow {
  const difference = getRemainingShare(left) - getRemainingShare(right);
  if (difference !== 0) return difference < 0 ? left : right;
  return (left.reset ?? 0) > (right.reset ?? 0) ? left : right;
}

/** Returns the remaining share of a window, from 0 to 1; 1 if it is unknown. */
function getRemainingShare({ limit, remaining }: RateWindow): number {
  if (limit === undefined || remaining === undefined) return 1;
  return limit === 0 ? 0 : remaining / limit;
}
