/** JSON text: measured before it is parsed, read without a defect of V8's parser, written with numbers of any size. */
import { randomUUID } from "node:crypto";

/**
 * Writes a value as JSON text, with the keys in their order. A bigint becomes a number, undefined becomes null.
 * @throws TypeError if the value refers to itself or its `toJSON` throws.
 */
export function toJsonText(value: unknown): string {
  return JSON.stringify(value, writeBigInt) ?? "null";
}

function writeBigInt(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? JSON.rawJSON(String(value)) : value;
}

/** Replaces the values while they are read, as the reviver of JSON.parse. `source` is the text of a primitive value. */
export type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

/** A name with an escape, or a text with an escape behind a comma in a list. */
const ESCAPED_NAME = /[{,]\s*"[^"\\]*\\/;

/** Begins the names that stand for others while V8 reads a text. Random, so that no caller knows it. */
const PREFIX = randomUUID();

/** Reports whether JSON.parse may read a name in the text wrongly; see `parseJsonText`. */
export function hasEscapedNames(text: string): boolean {
  // Most texts have no escape at all, which takes a twentieth of the time.
  return text.includes("\\") && ESCAPED_NAME.test(text);
}

/**
 * Parses JSON text as JSON.parse does, without a defect of V8 (https://github.com/nodejs/node/issues/63785): V8
 * predicts the names of an object's members from objects that it read before, and confuses the beginning of an escape
 * with a backslash. After `{"a\\": 1}` it reads `{"a\u00e9": 1}` as `{"a\\": 1}` in the whole process, for every
 * caller. Texts with escapes in names are therefore parsed with other names in their place.
 * @throws SyntaxError if the text is not JSON, with the position in the text.
 */
export function parseJsonText(text: string, revive?: Reviver): unknown {
  if (!hasEscapedNames(text)) return revive === undefined ? JSON.parse(text) : JSON.parse(text, revive);
  try {
    const { text: plain, names } = withPlainNames(text);
    if (names.size === 0) return revive === undefined ? JSON.parse(text) : JSON.parse(text, revive);
    return JSON.parse(plain, (key, value, context) => {
      const named = isObject(value) ? withNames(value, names) : value;
      return revive === undefined ? named : revive(names.get(key) ?? key, named, context);
    });
  } catch (error) {
    // The same fault, with its position in the original text.
    if (error instanceof SyntaxError) return JSON.parse(text);
    throw error;
  }
}

/**
 * Returns the position at which text stops being JSON: "line 1, column 15".
 * @param error The SyntaxError of the parser, which quotes the text.
 */
export function describeJsonPosition(error: unknown): string {
  const [, line, column] = (error instanceof SyntaxError && POSITION.exec(error.message)) || [];
  return line === undefined ? "its end" : `line ${line}, column ${column}`;
}

/** V8's messages about a text that ends too soon name no position. */
const POSITION = / in JSON at position \d+ \(line (\d+) column (\d+)\)$/;

/** Text whose names have no escapes. */
interface PlainText {
  readonly text: string;
  /** The names that were replaced, by the names that stand for them. */
  readonly names: ReadonlyMap<string, string>;
}

/**
 * Replaces all names if some have escapes: of a name that comes with and without them, the last value counts.
 * @throws SyntaxError for an invalid name.
 */
function withPlainNames(text: string): PlainText {
  const names = new Map<string, string>();
  let hasEscapes = false;
  let plain = "";
  let copied = 0;
  for (let start = text.indexOf('"'); start !== -1; ) {
    const end = findEnd(text, start);
    if (end === -1) break;
    if (isName(text, end)) {
      const source = text.slice(start, end + 1);
      const name = `${PREFIX}${names.size}`;
      names.set(name, JSON.parse(source));
      hasEscapes ||= source.includes("\\");
      plain += `${text.slice(copied, start)}"${name}"`;
      copied = end + 1;
    }
    start = text.indexOf('"', end + 1);
  }
  return hasEscapes ? { text: plain + text.slice(copied), names } : { text, names: new Map() };
}

/** Returns the index of the quote that ends a string; -1 if there is none. */
function findEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
  return -1;
}

/** Reports whether the string that ends here is the name of a member. */
function isName(text: string, end: number): boolean {
  let next = end + 1;
  while (SPACES.has(text.charCodeAt(next))) next += 1;
  return text.charCodeAt(next) === COLON;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Returns the object with its names instead of those that stand for them; a repeated name has its last value. */
function withNames(object: object, names: ReadonlyMap<string, string>): object {
  const members = Object.entries(object);
  if (!members.some(([name]) => names.has(name))) return object;
  return Object.fromEntries(members.map(([name, value]) => [names.get(name) ?? name, value]));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Estimates the number of values in a JSON text before it is parsed, by counting lists, objects and commas, at most two
 * for a value. Text that is not JSON gives an arbitrary number. Stops once there are more than `max`.
 */
export function countJsonValues(text: string, max: number): number {
  let count = 0;
  for (let at = 0; at < text.length && count <= max; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(text, at) - 1;
    else if (code === COMMA || code === LEFT_BRACKET || code === LEFT_BRACE) count += 1;
  }
  return count;
}

/** Reports whether a JSON text nests more levels than these. Text that is not JSON gives an arbitrary answer. */
export function nestsDeeper(text: string, maxLevels: number): boolean {
  // Each level takes two characters.
  if (text.length <= 2 * maxLevels) return false;
  let levels = 0;
  for (let at = 0; at < text.length && levels <= maxLevels; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(text, at) - 1;
    else if (code === LEFT_BRACKET || code === LEFT_BRACE) levels += 1;
    else if (code === RIGHT_BRACKET || code === RIGHT_BRACE) levels -= 1;
  }
  return levels > maxLevels;
}

/** Returns the index behind the string that begins at an index; behind the text if the string does not end. */
export function findStringEnd(text: string, start: number): number {
  const end = findEnd(text, start);
  return end < 0 ? text.length : end + 1;
}
