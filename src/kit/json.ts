/**
 * JSON that must come out as it went in. JavaScript's own parser rounds integers beyond 2^53;
 * here such numbers keep their spelling, so that a schema, a tool argument or a provider's
 * block that passes through us is not changed.
 */
import { invalidField } from "../spec/errors.ts";

/** Anything that JSON can say. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** Parses JSON text. Throws SyntaxError. Numbers that a double cannot hold are kept as they are spelled. */
export function parseJson(text: string): unknown {
  return MAY_HOLD_LONG_NUMBER.test(text) ? JSON.parse(text, keepLongNumber) : JSON.parse(text);
}

/** Parses JSON text; undefined where it does not parse. */
export function tryParseJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Whether the text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The value where it is a JSON object (no list, no null), else undefined. */
export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** Whether a value is a JSON object (no list, no null). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value where it is a string, else undefined. */
export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value where it is a whole number that a protobuf int32 holds, else undefined. */
export function asInt32(value: unknown): number | undefined {
  return typeof value === "number" && (value | 0) === value ? value : undefined;
}

/**
 * Parses a `*_json` field of a request that must hold an object.
 * @param field Path of the field, for the error.
 * @throws InvalidRequestError naming the field.
 */
export function parseObjectField(text: string, field: string): JsonObject {
  const value = tryParseJson(text);
  if (isObject(value)) return value;
  const found =
    value === undefined
      ? "text that is not JSON"
      : Array.isArray(value)
        ? "a list"
        : `${value === null ? "null" : `a ${typeof value}`}`;
  throw invalidField(field, `expected the text of a JSON object, found ${found}`);
}

/**
 * Merges a patch into an object as RFC 7396 (JSON Merge Patch) says: objects merge by key, null
 * removes, everything else replaces. Lists under a key of `appended` at the top level are
 * joined instead. Neither input is changed.
 */
export function mergeObjects(base: JsonObject, patch: JsonObject, appended: readonly string[] = []): JsonObject {
  const merged: Record<string, JsonValue | undefined> = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergeValues(base[key], value, appended.includes(key));
  }
  return merged;
}

function mergeValues(base: JsonValue | undefined, patch: JsonValue | undefined, append: boolean): JsonValue | undefined {
  if (append && Array.isArray(base) && Array.isArray(patch)) return [...base, ...patch];
  if (!isObject(patch) || JSON.isRawJSON(patch)) return patch;
  return mergeObjects(isObject(base) ? base : {}, patch);
}

// A double holds every integer of up to 15 digits; only longer runs of digits need care.
const MAY_HOLD_LONG_NUMBER = /[0-9]{16}/;

function keepLongNumber(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== "number" || context.source === undefined) return value;
  const exact = Number.isSafeInteger(value) || String(value) === context.source;
  return exact ? value : JSON.rawJSON(context.source);
}
