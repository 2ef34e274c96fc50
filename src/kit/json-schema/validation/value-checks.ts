/** Checks of single values: types, listed values, numbers and strings. */
import { isObject, type JsonObject, type JsonValue } from "../../json/json.ts";
import type { JsonType } from "../keywords.ts";
import { toIdentity, toList } from "../values.ts";
import { matchesFormat } from "./formats.ts";
import type { CheckMaker, KeywordContext } from "./keyword-context.ts";
import { type Check, getKind } from "./validation.ts";

/** The checks of types, listed values, numbers and strings. */
export const VALUE_CHECKS: readonly CheckMaker[] = [
  checkType,
  checkLiterals,
  checkNumber,
  checkLength,
  checkPattern,
  checkFormat,
];

const TYPE_NAMES: Record<JsonType, string> = {
  null: "null",
  boolean: "a boolean",
  object: "an object",
  array: "an array",
  number: "a number",
  integer: "an integer",
  string: "a string",
};

function checkType({ schema }: KeywordContext): Check | undefined {
  if (schema.type === undefined) return undefined;
  const types = [schema.type].flat().map((type) => String(type).toLowerCase() as JsonType);
  const names = [...new Set(types)].map((type) => TYPE_NAMES[type]).join(" or ");
  return (value, location, run) => {
    if (types.some((type) => hasType(type, value))) return;
    run.add({ location, message: `expected ${names}, found ${getKind(value)}`, types: names });
  };
}

function hasType(type: JsonType, value: JsonValue): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Maximum number of characters of listed values in a message. */
const MAX_LISTED = 300;

function checkLiterals({ schema }: KeywordContext): Check | undefined {
  const lists = [schema.enum, schema.const === undefined ? undefined : [schema.const]];
  const checks = lists.flatMap((list) => (list === undefined ? [] : checkListed(toList(list))));
  if (checks.length === 0) return undefined;
  return (value, location, run) => {
    for (const check of checks) check(value, location, run);
  };
}

function checkListed(values: readonly JsonValue[]): Check {
  const scalars = new Set<JsonValue>(values.filter((value) => typeof value !== "object" || value === null));
  const others = new Set(
    values.filter((value) => typeof value === "object" && value !== null).map(toIdentity),
  );
  const text = values.map((value) => JSON.stringify(value)).join(", ");
  const listed = text.length > MAX_LISTED ? `${text.slice(0, MAX_LISTED)}…` : text;
  const expected = values.length === 1 ? `expected ${listed}` : `expected one of ${listed}`;
  return (value, location, run) => {
    const isScalar = typeof value !== "object" || value === null;
    const isListed = isScalar ? scalars.has(value) : others.size > 0 && others.has(run.toIdentity(value));
    if (!isListed)
      run.add({
        location,
        message: `${expected}, found another value (${getKind(value)})`,
        isUnlisted: true,
      });
  };
}

type Comparison = (value: number, bound: number) => boolean;

const BOUNDS: readonly (readonly [keyword: string, isValid: Comparison, expected: string, found: string])[] =
  [
    ["minimum", (value, bound) => value >= bound, "at least", "a smaller number"],
    ["maximum", (value, bound) => value <= bound, "at most", "a greater number"],
    ["exclusiveMinimum", (value, bound) => value > bound, "a number above", "one that is not"],
    ["exclusiveMaximum", (value, bound) => value < bound, "a number below", "one that is not"],
    ["multipleOf", isMultiple, "a multiple of", "another number"],
  ];

function checkNumber({ schema }: KeywordContext): Check | undefined {
  const bounds = BOUNDS.flatMap(([keyword, isValid, expected, found]) => {
    const bound = schema[keyword];
    const message = `expected ${expected} ${JSON.stringify(bound)}, found ${found}`;
    return typeof bound === "number" ? [{ isValid, bound, message }] : [];
  });
  if (bounds.length === 0) return undefined;
  return (value, location, run) => {
    if (typeof value !== "number") return;
    for (const { isValid, bound, message } of bounds)
      if (!isValid(value, bound)) run.report(location, message);
  };
}

/** Reports whether a number is a multiple of another one, both as decimals: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || !Number.isFinite(divisor)) return false;
  const [digits, exponent] = toDecimal(value);
  const [divisorDigits, divisorExponent] = toDecimal(divisor);
  const shift = exponent - divisorExponent;
  const [left, right] = [
    digits * 10n ** BigInt(Math.max(shift, 0)),
    divisorDigits * 10n ** BigInt(Math.max(-shift, 0)),
  ];
  return left % right === 0n;
}

/** Returns the digits of a number, and the power of ten by which they are multiplied. */
function toDecimal(value: number): readonly [digits: bigint, exponent: number] {
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

function checkLength({ schema }: KeywordContext): Check | undefined {
  const { least, most } = checkCounts(schema, "Length");
  if (least === 0 && most === Infinity) return undefined;
  return (value, location, run) => {
    if (typeof value !== "string") return;
    // A text has at least half as many characters as UTF-16 units, and at most as many.
    if (value.length >= 2 * least && value.length <= most) return;
    run.spend(value.length / 16);
    const problem = describeCount(countCodePoints(value), least, most, "character");
    if (problem !== undefined) run.report(location, problem);
  };
}

function countCodePoints(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length; at += 1) if ((text.codePointAt(at) ?? 0) > 0xffff) pairs += 1;
  return text.length - pairs;
}

/** Returns the bounds that `min` and `max` with a suffix set. */
export function checkCounts(
  schema: JsonObject,
  suffix: string,
): { readonly least: number; readonly most: number } {
  const { [`min${suffix}`]: least = 0, [`max${suffix}`]: most = Infinity } = schema;
  return { least: Number(least), most: Number(most) };
}

/** Describes a count that is out of its bounds; undefined if it is within them. */
export function describeCount(count: number, least: number, most: number, noun: string): string | undefined {
  if (count >= least && count <= most) return undefined;
  const [words, bound] = count < least ? ["at least", least] : ["at most", most];
  const plural = noun === "property" ? "properties" : `${noun}s`;
  return `expected ${words} ${bound} ${bound === 1 ? noun : plural}, found ${count}`;
}

/** Maximum number of characters of a pattern in a message. */
const MAX_PATTERN_SHOWN = 200;

function checkPattern({ schema, toPattern }: KeywordContext): Check | undefined {
  const { pattern } = schema;
  if (typeof pattern !== "string") return undefined;
  const compiled = toPattern(pattern, "pattern");
  if (compiled === undefined) return undefined;
  const message = `expected a string that matches the pattern ${JSON.stringify(pattern.slice(0, MAX_PATTERN_SHOWN))}`;
  return (value, location, run) => {
    if (typeof value === "string" && !compiled.test(value, (steps) => run.spend(steps)))
      run.report(location, message);
  };
}

function checkFormat({ schema }: KeywordContext): Check | undefined {
  const { format } = schema;
  if (typeof format !== "string" || matchesFormat(format, "") === undefined) return undefined;
  return (value, location, run) => {
    if (typeof value !== "string") return;
    run.spend(value.length / 16);
    if (!matchesFormat(format, value)) run.report(location, `expected a string in the format ${format}`);
  };
}
