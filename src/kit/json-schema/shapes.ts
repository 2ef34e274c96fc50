import type { JsonValue } from "../json/json.ts";
import { isNumber, isSchemaObject, type Shape } from "./keywords.ts";
import { quote } from "./quote.ts";

/**
 * What is wrong with the value of a keyword.
 * @returns What was expected and what was found; undefined where the value is one that it can have.
 */
export function findMisshape(shape: Shape, value: JsonValue): string | undefined {
  const { fits, expected } = SHAPES[shape];
  return fits(value) ? undefined : `expected ${expected}, found ${found(value)}`;
}

interface Check {
  readonly fits: (value: JsonValue) => boolean;
  readonly expected: string;
}

const TYPES: readonly string[] = ["null", "boolean", "object", "array", "number", "integer", "string"];

const isBoolean = (value: unknown) => typeof value === "boolean";
const isString = (value: unknown) => typeof value === "string";
const isSchema = (value: unknown) => isBoolean(value) || isSchemaObject(value);
const isListOf = (value: unknown, fits: (each: unknown) => boolean) =>
  Array.isArray(value) && value.every(fits);
const isMapOf = (value: unknown, fits: (each: unknown) => boolean) =>
  isSchemaObject(value) && Object.values(value).every(fits);
const isNames = (value: unknown) => isListOf(value, isString);
const isType = (value: unknown) => isString(value) && TYPES.includes(String(value).toLowerCase());

const SHAPES: Readonly<Record<Shape, Check>> = {
  any: { fits: () => true, expected: "any value" },
  boolean: { fits: isBoolean, expected: "true or false" },
  count: {
    fits: (value) => isNumber(value) && /^\d+(\.0+)?$/.test(JSON.stringify(value)),
    expected: "a whole number from 0",
  },
  list: { fits: (value) => Array.isArray(value), expected: "a list" },
  "name lists": { fits: (value) => isMapOf(value, isNames), expected: "an object of lists of names" },
  names: { fits: isNames, expected: "a list of names" },
  number: { fits: isNumber, expected: "a number" },
  "positive number": {
    fits: (value) => isNumber(value) && Number(JSON.stringify(value)) > 0,
    expected: "a number above 0",
  },
  schema: { fits: isSchema, expected: "a schema: an object, true or false" },
  "schema map": { fits: (value) => isMapOf(value, isSchema), expected: "an object of schemas" },
  "schema or schemas": {
    fits: (value) => isSchema(value) || isListOf(value, isSchema),
    expected: "a schema or a list of schemas",
  },
  schemas: {
    fits: (value) => isListOf(value, isSchema) && (value as readonly unknown[]).length > 0,
    expected: "a list of at least one schema",
  },
  "schemas or name lists": {
    fits: (value) => isMapOf(value, (each) => isSchema(each) || isNames(each)),
    expected: "an object of schemas or lists of names",
  },
  string: { fits: isString, expected: "a string" },
  type: {
    fits: (value) => isType(value) || (isListOf(value, isType) && (value as readonly unknown[]).length > 0),
    expected: `one or some of ${TYPES.join(", ")}`,
  },
};

function found(value: JsonValue): string {
  if (value === null) return "null";
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list of something else";
  return isSchemaObject(value) ? "an object of something else" : String(JSON.stringify(value));
}
