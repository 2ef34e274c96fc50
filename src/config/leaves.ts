/** The scalar values of a configuration, each with its description for errors. */
import { isAbsolute } from "node:path";
import * as z from "zod/mini";
import { describeKeyMistake } from "../client/check-key.ts";
import { ConfigurationError } from "../core/errors.ts";
import { parseBaseUrl } from "../kit/http/transport.ts";
import { didYouMean } from "./suggest.ts";
import { parseDuration, parseSize } from "./units.ts";

/**
 * A value that a function reads.
 * @param expected Description of the expected value, for the error.
 * @param read Returns the value, or undefined if it is not as expected.
 */
export function leaf<Value>(expected: string, read: (value: unknown) => Value | undefined) {
  return reader((found, context): Value => {
    const value = read(found);
    if (value !== undefined) return value;
    context.issues.push({ code: "custom", input: found, message: `expected ${expected}` });
    return z.NEVER;
  });
}

/** A text that a function accepts. @param expected As for `leaf`. */
export function checkedText(expected: string, isValid: (text: string) => boolean) {
  return leaf(expected, (value) => (typeof value === "string" && isValid(value) ? value : undefined));
}

/** A non-empty text without control characters, since it may become a header. */
export const text = leaf("a text", readText);

/** A whole number from 1, also as text, since variables are texts. */
export const count = leaf("a whole number from 1", (value) => {
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number > 0 ? number : undefined;
});

/** A whole number within bounds. */
export function wholeNumber(from: number, to: number) {
  return leaf(`a whole number from ${from} to ${to}`, (value) => {
    const isWithin = typeof value === "number" && Number.isInteger(value) && value >= from && value <= to;
    return isWithin ? value : undefined;
  });
}

/** A number within bounds. */
export function number(from: number, to: number) {
  return leaf(`a number from ${from} to ${to}`, (value) => {
    return typeof value === "number" && value >= from && value <= to ? value : undefined;
  });
}

/** A regular expression, for all its matches. */
export const pattern = leaf("a regular expression in quotes", (value) => {
  try {
    return typeof value === "string" && value !== "" ? new RegExp(value, "gu") : undefined;
  } catch {
    return undefined;
  }
});

const FLAGS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [true, true],
  ...["true", "1", "yes", "on"].map((word) => [word, true] as const),
  [false, false],
  ...["false", "0", "no", "off"].map((word) => [word, false] as const),
]);

/** true or false, also in the words that are common in variables. */
export const flag = leaf("true or false", (value) => {
  return FLAGS.get(typeof value === "string" ? value.toLowerCase() : value);
});

/** A duration, as milliseconds. */
export const duration = leaf('a duration such as "500ms", "10s" or "1m30s"', parseDuration);

/** A duration above zero, as milliseconds. */
export const positiveDuration = leaf('a duration above 0 such as "500ms" or "10s"', (value) => {
  return parseDuration(value) || undefined;
});

/** A duration, as seconds. */
export const seconds = z.pipe(duration, z.transform(toSeconds));

/** A duration above zero, as seconds. */
export const positiveSeconds = z.pipe(positiveDuration, z.transform(toSeconds));

function toSeconds(milliseconds: number): number {
  return milliseconds / 1000;
}

/** A size, in bytes. */
export const size = leaf('a size such as "32MiB" or a number of bytes from 1', parseSize);

/** A price in US dollars. */
export const dollars = leaf("a number of US dollars from 0 such as 1.25", (value) => {
  return typeof value === "number" && value >= 0 && value < Infinity ? value : undefined;
});

/** A day. */
export const day = checkedText("a day such as 2026-01-31", (value) => /^\d{4}-\d{2}-\d{2}$/.test(value));

/** A listen address. */
export const address = checkedText(
  'an address such as "127.0.0.1:6190", "[::1]:6190", ":6190" or "unix:///run/outrigger.sock"',
  isAddress,
);

/** A listen address, or `off`. */
export const addressOrOff = leaf(
  'an address such as "0.0.0.0:6191", "[::]:6191" or ":6191", or "off"',
  (value) => {
    if (value === "off" || value === false) return "off" as const;
    return typeof value === "string" && isAddress(value) ? value : undefined;
  },
);

/** A folder, by its absolute path. */
export const folder = checkedText("an absolute path", isAbsolute);

/** The value of a browser's `Origin` header, or `*`. */
export const origin = checkedText('an origin such as "https://app.example.com", or "*"', (value) => {
  return value === "*" || URL.parse(value)?.origin === value;
});

/** A name by which the sidecar may be called: `api.example.com`, `*.example.com`, or `*`. */
export const hostPattern = checkedText(
  'a host name such as "api.example.com", "*.example.com" or "*"',
  (value) => /^(?:\*|(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)$/.test(value),
);

/** Permissions of a file. A number is refused: YAML reads 0660 as a decimal. */
export const fileMode = leaf('permissions in quotes such as "0660"', (value) => {
  return typeof value === "string" && /^0?[0-7]{3}$/.test(value) ? Number.parseInt(value, 8) : undefined;
});

/** Base URL of a provider. The errors come from the HTTP transport. */
export const baseUrl = reader((found, context): string => {
  try {
    return parseBaseUrl(typeof found === "string" ? found : "").href.replace(/\/$/, "");
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    context.issues.push({ code: "custom", input: found, message: error.message });
    return z.NEVER;
  }
});

const headerName = z.string().check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/));

/** Headers of requests by their names. */
export const headers = z.record(headerName, text, {
  error: (issue) =>
    issue.code === "invalid_key"
      ? "expected the name of a header"
      : "expected a mapping of header names to texts",
});

/** One of several words. */
export function choice<Word extends string>(words: readonly Word[]) {
  return reader((found, context): Word => {
    const word = words.find((candidate) => candidate === found);
    if (word !== undefined) return word;
    const hint = typeof found === "string" ? didYouMean(found, words) : "";
    context.issues.push({
      code: "custom",
      input: found,
      message: `expected ${words.join(", ")}`,
      params: { hint },
    });
    return z.NEVER;
  });
}

/** A key for a provider. */
export const apiKey = reader((found, context): string => {
  const key = readText(found);
  const message = key === undefined ? "expected a text" : describeKeyMistake(key);
  if (key !== undefined && message === undefined) return key;
  context.issues.push({ code: "custom", input: found, message: message ?? "" });
  return z.NEVER;
});

/** A schema whose function reads values and adds mistakes to the issues of its context. */
function reader<Value>(read: (found: unknown, context: z.core.ParsePayload) => Value) {
  return z.pipe(z.unknown(), z.transform(read));
}

function readText(value: unknown): string | undefined {
  if (typeof value !== "string" || value.trim() === "") return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a header must not hold these characters
  return /[\u0000-\u001f\u007f]/.test(value) ? undefined : value;
}

/** Reports whether the server's parser accepts an address; checked here so that all mistakes are reported together. */
function isAddress(value: string): boolean {
  if (value.startsWith("unix:")) return /^unix:(\/\/)?\//.test(value);
  const [, port] = /^(?:\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+)?:(\d{1,5})$/.exec(value) ?? [];
  return port !== undefined && Number(port) <= 65_535;
}
