import { invalidRequest, type Problem } from "./problem.ts";

/**
 * Checks the value at a path such as `input[0].role`, and throws the problem that OpenAI would report. A check is never
 * called with undefined: {@link object} handles missing fields.
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

/** Marks a required field. */
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
  if (typeof value !== "boolean") throw wrongType(value, path, "a boolean");
};

/** A string of bounded length, in UTF-16 units. */
export function string(limits: { minimum?: number; maximum?: number; pattern?: RegExp } = {}): Check {
  const { minimum = 0, maximum = Infinity, pattern } = limits;
  return (value, path) => {
    if (typeof value !== "string") throw wrongType(value, path, "a string");
    if (value.length < minimum) throw emptyString(path, minimum);
    if (value.length > maximum) throw longString(path, maximum, value.length);
    if (pattern !== undefined && !pattern.test(value)) throw wrongPattern(path, pattern);
  };
}

/** A whole number within limits. */
export function integer(minimum = -Infinity, maximum = Infinity): Check {
  return (value, path) => {
    if (typeof value !== "number" || !Number.isInteger(value)) throw wrongType(value, path, "an integer");
    checkRange(value, path, { minimum, maximum, kind: "integer" });
  };
}

/** A number within limits. */
export function decimal(minimum: number, maximum: number): Check {
  return (value, path) => {
    if (typeof value !== "number") throw wrongType(value, path, "a decimal");
    checkRange(value, path, { minimum, maximum, kind: "decimal" });
  };
}

/** One of several strings. */
export function literal(words: readonly string[]): Check {
  return (value, path) => {
    if (typeof value !== "string") throw wrongType(value, path, `one of ${enumerate(words, "or")}`);
    if (!words.includes(value)) throw unsupportedValue(value, path, words);
  };
}

/** An array with one check for all elements. */
export function array(element: Check, limits: { minimum?: number; maximum?: number } = {}): Check {
  const { minimum = 0, maximum = Infinity } = limits;
  return (value, path) => {
    if (!Array.isArray(value)) throw wrongType(value, path, "an array");
    if (value.length < minimum) throw shortArray(path, minimum, value.length);
    if (value.length > maximum) throw longArray(path, maximum, value.length);
    value.forEach((each, index) => void element(each, `${path}[${index}]`));
  };
}

/** An object with these fields and no others. The path of the body is empty. */
export function object(fields: Fields): Check {
  return (value, path) => {
    checkFields(fields, value, path);
    for (const name of Object.keys(asObject(value, path))) {
      if (!Object.hasOwn(fields, name)) throw unknownParameter(join(path, name));
    }
  };
}

/** An object with these fields, and any others. */
export function openObject(fields: Fields = {}): Check {
  return (value, path) => checkFields(fields, value, path);
}

/** An object whose check depends on the value of one field, which may be missing if a default is given. */
export function variants(field: string, checks: Readonly<Record<string, Check>>, fallback?: string): Check {
  return (value, path) => {
    const chosen = asObject(value, path)[field] ?? fallback;
    const at = join(path, field);
    if (chosen === undefined) throw missingParameter(at);
    if (typeof chosen !== "string") throw wrongType(chosen, at, "a string");
    const check = Object.hasOwn(checks, chosen) ? checks[chosen] : undefined;
    if (check === undefined) throw unsupportedValue(chosen, at, Object.keys(checks));
    check(value, path);
  };
}

function checkFields(fields: Fields, value: unknown, path: string): void {
  const found = asObject(value, path);
  for (const [name, field] of Object.entries(fields)) {
    const at = join(path, name);
    const check = typeof field === "function" ? field : field.required;
    if (found[name] !== undefined) check(found[name], at);
    else if (typeof field !== "function") throw missingParameter(at);
  }
}

function asObject(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrongType(value, path, "an object");
  return value as Readonly<Record<string, unknown>>;
}

function checkRange(
  value: number,
  path: string,
  range: { minimum: number; maximum: number; kind: string },
): void {
  const { minimum, maximum, kind } = range;
  if (value < minimum) {
    const message = `Invalid '${path}': ${kind} below minimum value. Expected a value >= ${minimum}, but got ${value} instead.`;
    throw invalidRequest(message, path, `${kind}_below_min_value`);
  }
  if (value > maximum) {
    const message = `Invalid '${path}': ${kind} above maximum value. Expected a value <= ${maximum}, but got ${value} instead.`;
    throw invalidRequest(message, path, `${kind}_above_max_value`);
  }
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Joins strings as in English: `'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`. */
function enumerate(words: readonly string[], conjunction: "and" | "or"): string {
  const quoted = words.map((word) => `'${word}'`);
  if (quoted.length < 3) return quoted.join(` ${conjunction} `);
  return `${quoted.slice(0, -1).join(", ")}, ${conjunction} ${quoted.at(-1)}`;
}

/** Creates the error for a value of the wrong type. */
export function wrongType(value: unknown, path: string, expected: string): Error {
  const message = `Invalid type for '${path}': expected ${expected}, but got ${nameType(value)} instead.`;
  return invalidRequest(message, path === "" ? null : path, "invalid_type");
}

function nameType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a decimal";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Creates the error for a required parameter that is missing. */
export function missingParameter(path: string): Problem {
  return invalidRequest(`Missing required parameter: '${path}'.`, path, "missing_required_parameter");
}

function unknownParameter(path: string): Error {
  return invalidRequest(`Unknown parameter: '${path}'.`, path, "unknown_parameter");
}

function unsupportedValue(value: string, path: string, supported: readonly string[]): Error {
  const shown = value.length > 64 ? `${value.slice(0, 64)}…` : value;
  const message = `Invalid value: '${shown}'. Supported values are: ${enumerate(supported, "and")}.`;
  return invalidRequest(message, path, "invalid_value");
}

function emptyString(path: string, minimum: number): Error {
  const message = `Invalid '${path}': empty string. Expected a string with minimum length ${minimum}, but got an empty string instead.`;
  return invalidRequest(message, path, "empty_string");
}

function longString(path: string, maximum: number, length: number): Error {
  const message = `Invalid '${path}': string too long. Expected a string with maximum length ${maximum}, but got a string with length ${length} instead.`;
  return invalidRequest(message, path, "string_above_max_length");
}

function wrongPattern(path: string, pattern: RegExp): Error {
  const message = `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '${pattern.source}'.`;
  return invalidRequest(message, path, "invalid_value");
}

function shortArray(path: string, minimum: number, length: number): Error {
  const got = length === 0 ? "an empty array" : `an array with length ${length}`;
  const message = `Invalid '${path}': empty array. Expected an array with minimum length ${minimum}, but got ${got} instead.`;
  return invalidRequest(message, path, "empty_array");
}

function longArray(path: string, maximum: number, length: number): Error {
  const message = `Invalid '${path}': array too long. Expected an array with maximum length ${maximum}, but got an array with length ${length} instead.`;
  return invalidRequest(message, path, "array_above_max_length");
}
