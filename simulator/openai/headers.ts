import { now } from "../request-log.ts";
import type { ReceivedRequest } from "../wire-format.ts";

/** Limits per minute in the headers. They are not enforced; the option `status=429` simulates that. */
const limits = { requests: 10_000, tokens: 2_000_000 };

const minute = 60_000;

/** The facts that the headers of an answer contain besides the request's id. */
export interface HeaderFacts {
  readonly contentType: string;
  /** Tokens of the prompt, which count against the limit. */
  readonly inputTokens: number;
  /** Time until exhausted limits reset, in milliseconds; unset if they are not exhausted. */
  readonly exhaustedForMs?: number;
}

/** Returns the headers of OpenAI's answers, including rate limits. */
export function openaiHeaders(request: ReceivedRequest, facts: HeaderFacts): Record<string, string> {
  return {
    "content-type": facts.contentType,
    "x-request-id": request.requestId,
    "openai-processing-ms": String(Math.max(1, Math.round(now() - request.receivedAt))),
    "openai-version": "2020-10-01",
    "openai-organization": "org-simulator",
    ...rateLimit(
      "requests",
      limits.requests,
      1 + ((request.number - 1) % limits.requests),
      facts.exhaustedForMs,
    ),
    ...rateLimit("tokens", limits.tokens, Math.min(facts.inputTokens, limits.tokens), facts.exhaustedForMs),
  };
}

function rateLimit(
  what: string,
  limit: number,
  used: number,
  exhaustedForMs: number | undefined,
): Record<string, string> {
  return {
    [`x-ratelimit-limit-${what}`]: String(limit),
    [`x-ratelimit-remaining-${what}`]: String(exhaustedForMs === undefined ? limit - used : 0),
    [`x-ratelimit-reset-${what}`]: formatDuration(exhaustedForMs ?? (used / limit) * minute),
  };
}

/** Writes a duration as Go does: `20ms`, `1.5s`, `6m0s`, `1h2m3.5s`. */
function formatDuration(milliseconds: number): string {
  const rounded = Math.ceil(milliseconds);
  if (rounded < 1000) return `${rounded}ms`;
  const hours = Math.floor(rounded / 3_600_000);
  const minutes = Math.floor(rounded / minute) % 60;
  const seconds = `${(rounded % minute) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
