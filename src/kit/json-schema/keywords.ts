/** The keywords of JSON Schema, from draft 7 to 2020-12, and of OpenAPI's variant. */
import { isObject, type JsonValue } from "../json/json.ts";
import { shown } from "./messages.ts";

const TYPES = ["null", "boolean", "object", "array", "number", "integer", "string"] as const;

/** The types of JSON values, as JSON Schema names them. An integer is a number without fraction. */
export type JsonType = (typeof TYPES)[number];

type Test = (value: unknown) => boolean;

const isString: Test = (value) => typeof value === "string";
const isSchema: Test = (value) => typeof value === "boolean" || isObject(value);
const isType: Test = (value) => TYPES.some((type) => isString(value) && type === String(value).toLowerCase());
const isCount: Test = (value) => isNumber(value) && /^\d+(\.0+)?$/.test(JSON.stringify(value));

const isNames: Test = (value) => isList(isString, value);
const isDependency: Test = (value) => isSchema(value) || isNames(value);

function isList(test: Test, value: unknown, least = 0): boolean {
  return Array.isArray(value) && value.length >= least && value.every(test);
}

function isMap(test: Test, value: unknown): boolean {
  return isObject(value) && Object.values(value).every(test);
}

/** Some of the types. */
export type JsonTypes = readonly JsonType[];

/** Reports whether a value is a number, long ones included. */
export function isNumber(value: unknown): value is JsonValue {
  return typeof value === "number" || JSON.isRawJSON(value);
}

/** Kinds of keyword values: the expectation for an error, and the test. */
const KINDS = {
  any: ["any value", () => true],
  boolean: ["true or false", (value) => typeof value === "boolean"],
  count: ["a whole number from 0", isCount],
  list: ["a list", (value) => Array.isArray(value)],
  dependencies: ["an object of schemas and lists of names", (value) => isMap(isDependency, value)],
  names: ["a list of names", isNames],
  namesMap: ["an object of lists of names", (value) => isMap(isNames, value)],
  number: ["a number", isNumber],
  positive: ["a number above 0", (value) => isNumber(value) && Number(JSON.stringify(value)) > 0],
  schema: ["a schema: an object, true or false", isSchema],
  schemas: ["a list of at least one schema", (value) => isList(isSchema, value, 1)],
  schemaOrList: ["a schema or a list of schemas", (value) => isSchema(value) || isList(isSchema, value)],
  schemaMap: ["an object of schemas", (value) => isMap(isSchema, value)],
  string: ["a string", isString],
  type: [`one or some of ${TYPES.join(", ")}`, (value) => isType(value) || isList(isType, value, 1)],
} as const satisfies Record<string, readonly [expected: string, test: Test]>;

/** The kind and the role of a keyword. */
export interface Keyword {
  readonly kind: keyof typeof KINDS;
  /**
   * Whether the keyword decides which values are valid (`assertion`), describes them, or names the schema (`identity`).
   */
  readonly role: "annotation" | "assertion" | "identity";
  /** Types of the values that an assertion applies to, or an empty list for all. Values of other types are ignored. */
  readonly types: JsonTypes;
}

/** Creates table entries for keywords that differ in kind and name only. */
function group(role: Keyword["role"], ...types: JsonTypes) {
  return (kind: Keyword["kind"], ...keys: readonly string[]) =>
    keys.map((key): [string, Keyword] => [key, { kind, role, types }]);
}

const identity = group("identity");
const annotation = group("annotation");
const assertion = group("assertion");
const onStrings = group("assertion", "string");
const onNumbers = group("assertion", "number", "integer");
const onArrays = group("assertion", "array");
const onObjects = group("assertion", "object");

/** Every keyword that the compiler knows. Others assert nothing, by the rules of JSON Schema. */
export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map([
  ...identity("any", "$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"),
  ...identity("any", "$vocabulary", "$comment"),
  ...identity("schemaMap", "$defs", "definitions"),
  ...annotation("any", "default", "example", "contentSchema"),
  ...annotation("boolean", "deprecated", "readOnly", "writeOnly"),
  ...annotation("list", "examples"),
  ...annotation("names", "propertyOrdering"),
  ...annotation("string", "title", "description", "contentEncoding", "contentMediaType"),
  ...assertion("any", "const"),
  ...assertion("boolean", "nullable"),
  ...assertion("list", "enum"),
  ...assertion("schema", "not", "if", "then", "else"),
  ...assertion("schemas", "allOf", "anyOf", "oneOf"),
  ...assertion("string", "$ref", "$dynamicRef", "$recursiveRef", "format"),
  ...assertion("type", "type"),
  ...onStrings("count", "minLength", "maxLength"),
  ...onStrings("string", "pattern"),
  ...onNumbers("positive", "multipleOf"),
  ...onNumbers("number", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
  ...onArrays("boolean", "uniqueItems"),
  ...onArrays("count", "minItems", "maxItems", "minContains", "maxContains"),
  ...onArrays("schema", "additionalItems", "contains", "unevaluatedItems"),
  ...onArrays("schemaOrList", "items"),
  ...onArrays("schemas", "prefixItems"),
  ...onObjects("dependencies", "dependencies"),
  ...onObjects("count", "minProperties", "maxProperties"),
  ...onObjects("names", "required"),
  ...onObjects("namesMap", "dependentRequired"),
  ...onObjects("schema", "additionalProperties", "propertyNames", "unevaluatedProperties"),
  ...onObjects("schemaMap", "properties", "patternProperties", "dependentSchemas"),
]);

/** Reports whether a key is an assertion, so that leaving it out would accept more values. */
export function isAssertion(key: string): boolean {
  return KEYWORDS.get(key)?.role === "assertion";
}

/** Describes a malformed value of a keyword; undefined if the keyword can have the value. */
export function findMalformed({ kind }: Keyword, value: JsonValue): string | undefined {
  const [expected, test] = KINDS[kind];
  return test(value) ? undefined : `expected ${expected}, found ${shown(value)}`;
}
