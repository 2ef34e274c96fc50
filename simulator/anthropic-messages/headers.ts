import type { Turn } from "../script/turn.ts";
import type { ReceivedRequest } from "../wire-format.ts";

/** Limits per minute in the headers. They are not enforced; the option `status=429` simulates that. */
const limits = { requests: 4000, inputTokens: 2_000_000, outputTokens: 400_000 };

const minute = 60_000;

/** The facts that the headers of an answer contain besides the request's id. */
export interface HeaderFacts {
  readonly contentType: string;
  /** Tokens that count against the limits; undefined if the request never reached a model. */
  readonly usage: Turn["usage"] | undefined;
  /** Milliseconds until the limits reset, if they are exhausted. */
  readonly exhaustedForMs?: number;
}

/**
 * Returns the headers of Anthropic's answers. Rate limits are in answers of a model and in answers that exceeded a
 * limit.
 */
export function anthropicHeaders(request: ReceivedRequest, facts: HeaderFacts): Record<string, string> {
  const { usage, exhaustedForMs } = facts;
  const counts = usage !== undefined || exhaustedForMs !== undefined;
  return {
    "content-type": facts.contentType,
    "request-id": request.requestId,
    "anthropic-organization-id": "00000000-0000-4000-8000-000000000000",
    ...(counts ? rateLimits(request, facts) : {}),
  };
}

/** Returns the headers about rate limits. Tokens read from the cache do not count against them. */
function rateLimits(
  request: ReceivedRequest,
  { usage, exhaustedForMs }: HeaderFacts,
): Record<string, string> {
  const input = (usage?.inputTokens ?? 0) - (usage?.cachedTokens ?? 0);
  const output = usage?.outputTokens ?? 0;
  const requests = 1 + ((request.number - 1) % limits.requests);
  const limit = (name: string, max: number, used: number): Record<string, string> =>
    rateLimit(name, max, Math.min(used, max), exhaustedForMs);
  return {
    ...limit("requests", limits.requests, requests),
    ...limit("input-tokens", limits.inputTokens, input),
    ...limit("output-tokens", limits.outputTokens, output),
    ...limit("tokens", limits.inputTokens + limits.outputTokens, input + output),
  };
}

function rateLimit(
  window: string,
  limit: number,
  used: number,
  exhaustedForMs: number | undefined,
): Record<string, string> {
  const name = `anthropic-ratelimit-${window}`;
  return {
    [`${name}-limit`]: String(limit),
    [`${name}-remaining`]: String(exhaustedForMs === undefined ? limit - used : 0),
    [`${name}-reset`]: formatTime(exhaustedForMs ?? (used / limit) * minute),
  };
}

/** Formats the time after a number of milliseconds, as RFC 3339, in whole seconds. */
function formatTime(milliseconds: number): string {
  const seconds = Math.ceil((Date.now() + milliseconds) / 1000);
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}
