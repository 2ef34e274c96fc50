/**
 * JSON that passes through unchanged. JSON.parse rounds numbers that a double cannot hold; here they keep their source
 * text, so that a schema, a tool argument or a provider's block is not altered.
 */
import { invalidField } from "../../core/errors.ts";
import { nestsDeeper, parseJsonText } from "../../core/json-text.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** Parses JSON text. Throws SyntaxError. Numbers that a double cannot hold keep their source text. */
export function parseJson(text: string): unknown {
  const mayHoldLongNumber = LONG_NUMBER_IN_TEXT.test(text) || LONG_NUMBER.test(text);
  return parseJsonText(text, mayHoldLongNumber ? keepLongNumber : undefined);
}

/** Parses JSON text; undefined if it does not parse, or nests more than `MAX_READ_LEVELS`. */
export function tryParseJson(text: string): unknown {
  if (nestsDeeper(text, MAX_READ_LEVELS)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/**
 * Like {@link tryParseJson}, for values that are read and not passed on: numbers that a double cannot hold are rounded,
 * which takes an eighth of the time if there are any.
 */
export function tryReadJson(text: string): unknown {
  if (nestsDeeper(text, MAX_READ_LEVELS)) return undefined;
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}

/** Reports whether the text is JSON that is not read because it nests more than `MAX_READ_LEVELS`. */
export function isTooDeep(text: string): boolean {
  return nestsDeeper(text, MAX_READ_LEVELS) && isJson(text);
}

/** Reports whether the text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the value if it is a JSON object (no list, no null), else undefined. With a wire type, its field names are
 * checked.
 */
export function asObject(value: unknown): JsonObject | undefined;
export function asObject<T>(value: unknown): Untrusted<T> | undefined;
export function asObject(value: unknown): object | undefined {
  return isObject(value) ? value : undefined;
}

/** Reports whether a value is a JSON object: not a list, not null, and not a number that keeps its source text. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

/** Returns the value if it is a string, else undefined. */
export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns the objects in a list. Other elements are skipped; a value that is not a list has none. */
export function objectsIn(value: unknown): readonly JsonObject[];
export function objectsIn<T>(value: unknown): readonly Untrusted<T>[];
export function objectsIn(value: unknown): readonly object[] {
  if (!Array.isArray(value)) return [];
  return value.every(isObject) ? value : value.filter(isObject);
}

/** Returns the object, or an empty one. */
export function objectIn(value: unknown): JsonObject;
export function objectIn<T>(value: unknown): Untrusted<T>;
export function objectIn(value: unknown): object {
  return isObject(value) ? value : {};
}

/** Returns the string, or an empty one. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns the string, any other value as JSON text, and an empty text if there is no value. */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** Returns an untrusted object as plain JSON, for values that pass through without being read. */
export function asJson(value: Untrusted<object>): JsonObject {
  return value as JsonObject;
}

/** Returns a copy of the object without some of its keys, in the same order. */
export function without(object: object, ...keys: readonly string[]): JsonObject {
  const copy: Record<string, JsonValue | undefined> = {};
  // `delete` would turn the copy into a hash table, which costs more than all of its fields.
  for (const key in object) {
    const value = (object as JsonObject)[key];
    if (keys.includes(key)) continue;
    if (key !== "__proto__") copy[key] = value;
    else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}

/** Returns the fields of an object that are not null. */
export function withoutNulls(object: object): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

/** Reports whether an object has no keys. */
export function isEmpty(object: object): boolean {
  for (const _key in object) return false;
  return true;
}

/** Reports whether an object has no other keys than these. */
export function hasOnly(object: object, ...keys: readonly string[]): boolean {
  for (const key in object) if (!keys.includes(key)) return false;
  return true;
}

/** Returns the value if it is a whole number that a protobuf int32 holds, else undefined. */
export function asInt32(value: unknown): number | undefined {
  return typeof value === "number" && (value | 0) === value ? value : undefined;
}

/**
 * Returns the value if it is a count, for instance of tokens: a whole number from 0 whose sums fit into an int32.
 * Otherwise undefined.
 */
export function asCount(value: unknown): number | undefined {
  const isCount = typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT;
  return isCount ? value : undefined;
}

// A total is the sum of at most four counts.
const MAX_COUNT = 2 ** 29 - 1;

/**
 * Parses a `*_json` field of a request that must hold an object.
 * @param field Path of the field, for the error.
 * @throws InvalidRequestError naming the field.
 */
export function parseObjectField(text: string, field: string): JsonObject {
  if (nestsDeeper(text, MAX_JSON_LEVELS))
    throw invalidField(field, `expected at most ${MAX_JSON_LEVELS} levels of JSON, found more`);
  const value = tryParseJson(text);
  if (!isObject(value))
    throw invalidField(field, `expected the text of a JSON object, found ${getJsonKind(value)}`);
  return value;
}

/**
 * Maximum nesting of JSON in a request: functions that walk through it are recursive. No provider accepts a fifth as
 * many levels.
 */
export const MAX_JSON_LEVELS = 256;

/**
 * Maximum nesting of JSON that a model or a provider writes, so that functions that walk through it, V8's own included,
 * do not run out of stack.
 */
export const MAX_READ_LEVELS = 1000;

/** Reports whether a list or object nests more levels than these, itself included. */
export function isDeeper(value: object, maxLevels: number): boolean {
  if (maxLevels === 0) return true;
  for (const child of Array.isArray(value) ? value : Object.values(value))
    if (typeof child === "object" && child !== null && isDeeper(child, maxLevels - 1)) return true;
  return false;
}

function getJsonKind(value: unknown): string {
  if (value === undefined) return "text that is not JSON";
  if (value === null) return "null";
  if (JSON.isRawJSON(value)) return "a number";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

/**
 * Merges a patch into an object by RFC 7396 (JSON Merge Patch): objects merge by key, null removes, everything else
 * replaces. Lists under a key of `appended` at the top level are joined instead. Neither input is changed.
 */
export function mergeObjects(
  base: JsonObject,
  patch: JsonObject,
  appended: readonly string[] = [],
): JsonObject {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergeValues(merged.get(key), value, appended.includes(key)));
  }
  return Object.fromEntries(merged);
}

function mergeValues(
  base: JsonValue | undefined,
  patch: JsonValue | undefined,
  append: boolean,
): JsonValue | undefined {
  if (append && Array.isArray(base) && Array.isArray(patch)) return [...base, ...patch];
  return isObject(patch) ? mergeObjects(toMergeBase(base), patch) : patch;
}

/** Returns the members that a patch merges into; none if the base is not an object. */
function toMergeBase(base: unknown): JsonObject {
  return asObject(base instanceof SourceText ? tryParseJson(base.text) : base) ?? {};
}

/** JSON text instead of a value: see json-source.ts. */
export class SourceText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

// A double holds every number of up to 15 digits whose exponent has at most two.
const LONG_NUMBER = /^-?(?:[0-9](?:\.?[0-9]){15}|[0-9.]+[eE][+-]?[0-9]{3})/;

// In JSON text a number follows one of a few characters, and an id seldom does. The digits are repeated in the pattern
// instead of counted, so that the engine skips most of a text, which is three times as fast.
const LONG_NUMBER_IN_TEXT = new RegExp(
  `[:,[\\s]-?[0-9](?:${"[0-9.]".repeat(15)}|[0-9.]*[eE][+-]?[0-9][0-9][0-9])`,
);

function keepLongNumber(_key: string, value: unknown, { source = "" }: { source?: string }): unknown {
  if (typeof value !== "number" || !LONG_NUMBER.test(source)) return value;
  return String(value) === source ? value : JSON.rawJSON(source);
}
