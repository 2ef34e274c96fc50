/**
 * Splits and joins JSON text without parsing its values. Parsing and serialising would turn `1.0` into `1` and move
 * keys that look like numbers to the front; text that a model wrote and a provider signed has to be returned byte for
 * byte.
 */
import { findStringEnd } from "../../core/json-text.ts";
import { isObject, type JsonObject, SourceText } from "./json.ts";

/**
 * Creates an object that `stringifyJson` writes as its source text. It has no readable members: use it only in a body.
 * @param text The text of a JSON object, which is not checked here.
 */
export function sourceObject(text: string): JsonObject {
  return new SourceText(text) as unknown as JsonObject;
}

/** Returns the text of an object that `sourceObject` created; undefined for anything else. */
export function getSourceText(value: unknown): string | undefined {
  return value instanceof SourceText ? value.text : undefined;
}

/** Works as JSON.stringify without white space, and writes source objects as their source text. */
export function stringifyJson(value: unknown): string {
  if (value instanceof SourceText) return value.text;
  if (!holdsSource(value)) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(stringifyJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${stringifyJson(member)}`).join(",")}}`;
}

function holdsSource(value: unknown): boolean {
  if (value instanceof SourceText) return true;
  if (Array.isArray(value)) return value.some(holdsSource);
  if (!isObject(value)) return false;
  for (const key in value) if (holdsSource(value[key])) return true;
  return false;
}

/**
 * Returns the members of an object in their source text, by key. If a key comes twice, the last member counts, as in
 * JSON.parse. Empty if the text is not an object.
 * @param text Valid JSON text.
 */
export function toMembers(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  let at = skipSpace(text, 0);
  if (text[at] !== "{") return members;
  for (at = skipSpace(text, at + 1); text[at] === '"'; at = skipSeparator(text, at)) {
    const keyEnd = findStringEnd(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = findValueEnd(text, start);
    members.set(JSON.parse(text.slice(at, keyEnd)), text.slice(start, end));
    at = end;
  }
  return members;
}

/**
 * Returns the elements of a list in their source text. Empty if the text is not a list.
 * @param text Valid JSON text.
 */
export function splitElements(text: string): readonly string[] {
  const elements: string[] = [];
  let at = skipSpace(text, 0);
  if (text[at] !== "[") return elements;
  for (at = skipSpace(text, at + 1); at < text.length && text[at] !== "]"; at = skipSeparator(text, at)) {
    const end = findValueEnd(text, at);
    elements.push(text.slice(at, end));
    at = end;
  }
  return elements;
}

/** Returns JSON text without the white space between its tokens. */
export function compactJson(text: string): string {
  let compacted = "";
  let copied = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(text, at) - 1;
    else if (code <= LAST_SPACE) {
      compacted += text.slice(copied, at);
      copied = at + 1;
    }
  }
  return compacted + text.slice(copied);
}

const SPACE = /[ \t\r\n]*/y;
const PRIMITIVE = /[^\s,\]}]*/y;
const LAST_SPACE = 0x20;
const QUOTE = 0x22;
const LEFT_BRACKET = 0x5b;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;

function skipSpace(text: string, at: number): number {
  // Most JSON is written without spaces.
  if (text.charCodeAt(at) > LAST_SPACE) return at;
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}

/** Skips from the end of a value to the next one, or to the closing bracket. */
function skipSeparator(text: string, at: number): number {
  const next = skipSpace(text, at);
  return text[next] === "," ? skipSpace(text, next + 1) : next;
}

function findValueEnd(text: string, at: number): number {
  const first = text[at];
  if (first === '"') return findStringEnd(text, at);
  if (first === "{" || first === "[") return findNestedEnd(text, at);
  PRIMITIVE.lastIndex = at;
  PRIMITIVE.test(text);
  return PRIMITIVE.lastIndex;
}

function findNestedEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(text, at) - 1;
    else if (code === LEFT_BRACE || code === LEFT_BRACKET) depth += 1;
    else if (code === RIGHT_BRACE || code === RIGHT_BRACKET) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}
