/** The claims of a token: reading them by paths, comparing them with patterns, and naming a caller by them. */
import { fits } from "./model-grants.ts";

/** The claims of a token, as JSON has them. */
export type Claims = Readonly<Record<string, unknown>>;

/** Returns a claim by its path; undefined if there is none. */
export type ReadClaim = (path: string) => unknown;

/** Maximum number of names in a path. */
const MAX_NAMES = 16;

/** A name of a caller. Longer than the subjects of Kubernetes' usual service accounts. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@|+=~-]{0,255}$/;

/** Characters of the fixed texts of a pattern. */
const TEXT = /^[A-Za-z0-9._:/@|+=~-]*$/;

/** Reports whether a text is the path of a claim: names with dots between them. */
export function isClaimPath(path: string): boolean {
  return /^[^\s{}]{1,256}$/.test(path) && path.split(".").length <= MAX_NAMES;
}

/**
 * Reads a claim by a path such as `sub` or `kubernetes.io.serviceaccount.name`. Names of claims may contain dots; the
 * longest name that the path begins with is taken. Returns undefined if there is none.
 */
export function readClaim(claims: unknown, path: string): unknown {
  if (typeof claims !== "object" || claims === null || Array.isArray(claims)) return undefined;
  for (let end = path.length; end > 0; end = path.lastIndexOf(".", end - 1)) {
    const name = path.slice(0, end);
    if (!Object.hasOwn(claims, name)) continue;
    const value: unknown = Reflect.get(claims, name);
    return end === path.length ? value : readClaim(value, path.slice(end + 1));
  }
  return undefined;
}

/**
 * Reports whether a claim, or an element of a list, fits one of several patterns, each with at most one `*` for any
 * text.
 */
export function matchesClaim(value: unknown, patterns: readonly string[]): boolean {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.some((each) => {
    const text = toText(each);
    return text !== undefined && patterns.some((pattern) => fits(pattern, text));
  });
}

function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/** The pattern of a caller's name: fixed texts with claims between them. There is one more text than claims. */
export interface CallerPattern {
  readonly texts: readonly string[];
  readonly claims: readonly string[];
}

/**
 * Parses a pattern such as `{sub}` or `ci/{repository}`. Returns undefined if it has no claim, two claims without a
 * text between them, or characters that names do not have.
 */
export function parseCallerPattern(pattern: string): CallerPattern | undefined {
  const pieces = pattern.split(/\{([^{}]*)\}/);
  const texts = pieces.filter((_, index) => index % 2 === 0);
  const claims = pieces.filter((_, index) => index % 2 === 1);
  if (claims.length === 0 || claims.length > MAX_NAMES || !claims.every(isClaimPath)) return undefined;
  if (!texts.every((text) => TEXT.test(text)) || texts.slice(1, -1).includes("")) return undefined;
  return { texts, claims };
}

/** The name of a caller, or the reason why a token gives none. No reason shows a value. */
export type CallerName = { readonly name: string } | { readonly problem: string };

/**
 * Names a caller by the claims of its token. Two callers never get the same name: if there are several claims, no value
 * contains a character of the texts between them.
 */
export function nameCaller({ texts, claims: paths }: CallerPattern, claims: Claims): CallerName {
  const separators = [...texts.slice(1, -1).join("")];
  let name = texts[0] ?? "";
  for (const [index, path] of paths.entries()) {
    const found = readClaim(claims, path);
    const value = typeof found === "number" && Number.isSafeInteger(found) ? String(found) : found;
    if (typeof value !== "string" || value === "")
      return { problem: `expected a text in its claim ${path}, which names the caller` };
    const separator = separators.find((character) => value.includes(character));
    if (separator !== undefined)
      return { problem: `expected no "${separator}" in its claim ${path}, which names the caller` };
    name += value + (texts[index + 1] ?? "");
  }
  if (NAME.test(name)) return { name };
  const expected = "a name of at most 256 letters, digits and ._:/@|+=~-, that begins with a letter or digit";
  return { problem: `expected ${expected}, from its claim ${paths.join(", ")}` };
}

/** Recovers the claims from a caller's name: the inverse of `nameCaller`. Undefined if the name does not match. */
export function readCallerName({ texts, claims }: CallerPattern, name: string): ReadClaim | undefined {
  const separators = [...texts.slice(1, -1).join("")].map(escapePattern).join("");
  const value = separators === "" ? "(.+)" : `([^${separators}]+)`;
  const match = new RegExp(`^${texts.map(escapePattern).join(value)}$`).exec(name);
  if (match === null) return undefined;
  const values = new Map(claims.map((path, index) => [path, match[index + 1]]));
  return (path) => values.get(path);
}

function escapePattern(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, "\\$&");
}
