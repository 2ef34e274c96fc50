import { isJsonObject } from "../json-object.ts";
import { invalidAt, type Problem } from "./problem.ts";

/**
 * Checks the value at a path such as `messages.0.role`, and throws the problem that Anthropic would find. A check
 * never gets undefined: {@link object} handles missing fields.
 */
export type Check = (value: unknown, path: string) => void;

/** The fields of an object: how each is checked, and which are required. */
export interface Fields {
  readonly [name: string]: Check | RequiredField;
}

/** A field that must be present. */
export interface RequiredField {
  readonly required: Check;
}

/** A required field. */
export function required(check: Check): RequiredField {
  return { required: check };
}

/** Accepts anything. */
export const anything: Check = () => {};

/** Accepts null and everything that another check accepts. */
export function nullable(check: Check): Check {
  return (value, path) => {
    if (value !== null) check(value, path);
  };
}

/** A boolean. */
export const boolean: Check = (value, path) => {
  if (typeof value !== "boolean") throw invalidAt(path, "Input should be a valid boolean");
};

/** A string of bounded length, in UTF-16 units. */
export function string(limits: { minimum?: number; maximum?: number; pattern?: RegExp } = {}): Check {
  const { minimum = 0, maximum = Infinity, pattern } = limits;
  return (value, path) => {
    if (typeof value !== "string") throw invalidAt(path, "Input should be a valid string");
    if (value.length < minimum) throw invalidAt(path, `String should have at least ${characters(minimum)}`);
    if (value.length > maximum) throw invalidAt(path, `String should have at most ${characters(maximum)}`);
    if (pattern?.test(value) === false) {
      throw invalidAt(path, `String should match pattern '${pattern.source}'`);
    }
  };
}

/** A whole number with a minimum. */
export function integer(minimum: number): Check {
  return (value, path) => {
    if (typeof value !== "number") throw invalidAt(path, "Input should be a valid integer");
    if (!Number.isInteger(value)) {
      throw invalidAt(path, "Input should be a valid integer, got a number with a fractional part");
    }
    if (value < minimum) throw invalidAt(path, `Input should be greater than or equal to ${minimum}`);
  };
}

/** A number from 0 to 1. */
export const fraction: Check = (value, path) => {
  if (typeof value !== "number") throw invalidAt(path, "Input should be a valid number");
  if (value < 0 || value > 1) throw invalidAt(path, "range: 0..1");
};

/** One of several strings. */
export function literal(values: readonly string[]): Check {
  return (value, path) => {
    if (typeof value !== "string" || !values.includes(value)) {
      throw invalidAt(path, `Input should be ${enumerate(values)}`);
    }
  };
}

/** A list, with one check for all elements. */
export function array(element: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) throw invalidAt(path, "Input should be a valid list");
    value.forEach((each, index) => void element(each, `${path}.${index}`));
  };
}

/** A string, or a list with one check for all elements. */
export function stringOrArray(element: Check): Check {
  const list = array(element);
  return (value, path) => {
    if (typeof value !== "string") list(value, path);
  };
}

/** Any object. */
export const dictionary: Check = (value, path) => {
  if (!isJsonObject(value)) throw invalidAt(path, "Input should be a valid dictionary");
};

/** An object with these fields and no others. The path of the body is empty. */
export function object(fields: Fields): Check {
  const check = openObject(fields);
  return (value, path) => {
    check(value, path);
    for (const name of Object.keys(value as object)) {
      if (!Object.hasOwn(fields, name)) {
        throw invalidAt(join(path, name), "Extra inputs are not permitted");
      }
    }
  };
}

/** An object with these fields, and any others. */
export function openObject(fields: Fields = {}): Check {
  return (value, path) => {
    if (!isJsonObject(value)) {
      throw invalidAt(path, "Input should be a valid dictionary or object to extract fields from");
    }
    for (const [name, field] of Object.entries(fields)) {
      const at = join(path, name);
      const check = typeof field === "function" ? field : field.required;
      if (value[name] !== undefined) check(value[name], at);
      else if (typeof field !== "function") throw missing(at);
    }
  };
}

/**
 * An object whose check depends on its field `type`, which may be missing if a fallback is given. The type is part of
 * the paths inside the object.
 */
export function tagged(checks: Readonly<Record<string, Check>>, fallback?: string): Check {
  return (value, path) => {
    openObject()(value, path);
    const tag = (value as { type?: unknown }).type ?? fallback;
    if (tag === undefined) throw missing(join(path, "type"));
    const check = typeof tag === "string" && Object.hasOwn(checks, tag) ? checks[tag] : undefined;
    if (check === undefined) throw unexpectedTag(tag, path, Object.keys(checks));
    check(value, join(path, String(tag)));
  };
}

/** A required field that is missing. */
export function missing(path: string): Problem {
  return invalidAt(path, "Field required");
}

function unexpectedTag(tag: unknown, path: string, expected: readonly string[]): Problem {
  const shown = String(tag).slice(0, 64);
  const tags = expected.map((value) => `'${value}'`).join(", ");
  return invalidAt(
    path,
    `Input tag '${shown}' found using 'type' does not match any of the expected tags: ${tags}`,
  );
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function characters(count: number): string {
  return `${count} character${count === 1 ? "" : "s"}`;
}

/** Joins strings as the API does: `'a'`, `'a' or 'b'`, `'a', 'b' or 'c'`. */
function enumerate(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  if (quoted.length < 2) return quoted.join("");
  return `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
}
