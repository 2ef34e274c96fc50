import type { HttpHeaders } from "./headers.ts";

/** Headers that can be looked up by name. */
type HeaderSource = Pick<HttpHeaders, "get">;

/** A delay of more than ten years is a time stamp that a server sent by mistake. */
const LONGEST_DELAY_SECONDS = 10 * 366 * 86_400;

/** The dates of RFC 9110 §5.6.7 begin with the name of a day; Date.parse alone would read `1` as a year. */
const HTTP_DATE = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? /i;

/**
 * Reads the seconds to wait before a retry from the headers of an answer: `retry-after-ms` first (OpenAI, Anthropic),
 * then `retry-after` as seconds, with or without a fraction, or as an HTTP date. Undefined if neither is present, or
 * its value is negative, in the past or implausibly long.
 */
export function getRetryAfter(headers: HeaderSource, now: number = Date.now()): number | undefined {
  const milliseconds = readNumber(headers.get("retry-after-ms"));
  const value = headers.get("retry-after")?.trim() ?? "";
  return (
    plausible(milliseconds === undefined ? undefined : milliseconds / 1000) ??
    plausible(readNumber(value) ?? secondsUntil(value, now))
  );
}

/** Reads the value of `x-should-retry` (OpenAI, Anthropic), which takes precedence over the status. */
export function getShouldRetry(headers: HeaderSource): boolean | undefined {
  const value = headers.get("x-should-retry")?.trim().toLowerCase();
  if (value === "true") return true;
  return value === "false" ? false : undefined;
}

const GO_UNITS: Readonly<Record<string, number>> = {
  h: 3600,
  m: 60,
  s: 1,
  ms: 1e-3,
  us: 1e-6,
  µs: 1e-6,
  μs: 1e-6,
  ns: 1e-9,
};

const GO_PART = /(\d+(?:\.\d*)?|\.\d+)(ms|us|\u00b5s|\u03bcs|ns|[hms])/y;

/** Parses a duration in Go's notation to seconds: `6m0s`, `20ms`, `1h2m3.5s`, `0`. Undefined for anything else. */
export function parseGoDuration(text: string): number | undefined {
  if (text === "0") return 0;
  GO_PART.lastIndex = 0;
  let seconds = 0;
  for (let match = GO_PART.exec(text); match !== null; match = GO_PART.exec(text)) {
    const [, count = "", unit = ""] = match;
    seconds += Number(count) * (GO_UNITS[unit] ?? Number.NaN);
    if (GO_PART.lastIndex === text.length) return plausible(seconds);
  }
  return undefined;
}

/** Parses a `google.protobuf.Duration` in JSON to seconds, as in `google.rpc.RetryInfo`: `46s`, `3.5s`. */
export function parseRetryDelay(text: string): number | undefined {
  return text.endsWith("s") ? plausible(readNumber(text.slice(0, -1))) : undefined;
}

/**
 * Finds the seconds that a provider's message asks for: `Please retry in 10h17m5.7s`. The last resort, after headers
 * and details.
 */
export function findRetryDelayInText(text: string): number | undefined {
  const match = /please (?:retry|try again) (?:in|after) ([\d.]+(?:ms|[hms])[\d.hms]*)/i.exec(text);
  return match?.[1] === undefined ? undefined : parseGoDuration(match[1].replace(/\.+$/, ""));
}

/** Returns a number without sign or exponent. */
function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*(\d+(\.\d*)?|\.\d+)\s*$/.test(text) ? Number(text) : undefined;
}

function secondsUntil(date: string, now: number): number | undefined {
  if (!HTTP_DATE.test(date)) return undefined;
  return (Date.parse(date) - now) / 1000;
}

function plausible(seconds: number | undefined): number | undefined {
  return seconds !== undefined && seconds >= 0 && seconds <= LONGEST_DELAY_SECONDS ? seconds : undefined;
}
