/**
 * The words of JSON Schema, from draft 7 to 2020-12, and of OpenAPI's variant of it: what each
 * holds, and which values it constrains.
 */
import { isObject, type JsonObject, type JsonValue } from "../json/json.ts";

/** The types of JSON values, as JSON Schema names them. An integer is a number without fraction. */
export type JsonType = "null" | "boolean" | "object" | "array" | "number" | "integer" | "string";

/** What the value of a keyword is. */
export type Shape =
  | "any"
  | "boolean"
  | "count"
  | "list"
  | "name lists"
  | "names"
  | "number"
  | "positive number"
  | "schema"
  | "schema map"
  | "schema or schemas"
  | "schemas"
  | "schemas or name lists"
  | "string"
  | "type";

/** What a keyword is and does. */
export interface Keyword {
  readonly shape: Shape;
  /**
   * `assertion`: decides which values fit. `annotation`: tells of them. `identity`: names the
   * schema or a part of it, and says nothing of values.
   */
  readonly role: "annotation" | "assertion" | "identity";
  /** Types of the values that an assertion is about; it lets all others pass. Absent: all types. */
  readonly types?: readonly JsonType[];
}

const STRINGS: readonly JsonType[] = ["string"];
const NUMBERS: readonly JsonType[] = ["number", "integer"];
const ARRAYS: readonly JsonType[] = ["array"];
const OBJECTS: readonly JsonType[] = ["object"];

const identity = (shape: Shape): Keyword => ({ shape, role: "identity" });
const annotation = (shape: Shape): Keyword => ({ shape, role: "annotation" });
const assertion = (shape: Shape, types?: readonly JsonType[]): Keyword =>
  types === undefined ? { shape, role: "assertion" } : { shape, role: "assertion", types };

/** Every keyword that the compiler knows. Others say nothing of values, by the rules of JSON Schema. */
export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map(
  Object.entries({
    $schema: identity("any"),
    $id: identity("any"),
    $anchor: identity("any"),
    $dynamicAnchor: identity("any"),
    $recursiveAnchor: identity("any"),
    $vocabulary: identity("any"),
    $comment: identity("any"),
    $defs: identity("schema map"),
    definitions: identity("schema map"),

    title: annotation("string"),
    description: annotation("string"),
    default: annotation("any"),
    example: annotation("any"),
    examples: annotation("list"),
    deprecated: annotation("boolean"),
    readOnly: annotation("boolean"),
    writeOnly: annotation("boolean"),
    contentEncoding: annotation("string"),
    contentMediaType: annotation("string"),
    contentSchema: annotation("schema"),
    propertyOrdering: annotation("names"),

    $ref: assertion("string"),
    $dynamicRef: assertion("string"),
    $recursiveRef: assertion("string"),
    type: assertion("type"),
    nullable: assertion("boolean"),
    enum: assertion("list"),
    const: assertion("any"),
    allOf: assertion("schemas"),
    anyOf: assertion("schemas"),
    oneOf: assertion("schemas"),
    not: assertion("schema"),
    if: assertion("schema"),
    // biome-ignore lint/suspicious/noThenProperty: `then` is a keyword of JSON Schema.
    then: assertion("schema"),
    else: assertion("schema"),

    minLength: assertion("count", STRINGS),
    maxLength: assertion("count", STRINGS),
    pattern: assertion("string", STRINGS),
    format: assertion("string"),

    multipleOf: assertion("positive number", NUMBERS),
    minimum: assertion("number", NUMBERS),
    maximum: assertion("number", NUMBERS),
    exclusiveMinimum: assertion("number", NUMBERS),
    exclusiveMaximum: assertion("number", NUMBERS),

    items: assertion("schema or schemas", ARRAYS),
    prefixItems: assertion("schemas", ARRAYS),
    additionalItems: assertion("schema", ARRAYS),
    unevaluatedItems: assertion("schema", ARRAYS),
    minItems: assertion("count", ARRAYS),
    maxItems: assertion("count", ARRAYS),
    uniqueItems: assertion("boolean", ARRAYS),
    contains: assertion("schema", ARRAYS),
    minContains: assertion("count", ARRAYS),
    maxContains: assertion("count", ARRAYS),

    properties: assertion("schema map", OBJECTS),
    patternProperties: assertion("schema map", OBJECTS),
    additionalProperties: assertion("schema", OBJECTS),
    unevaluatedProperties: assertion("schema", OBJECTS),
    required: assertion("names", OBJECTS),
    minProperties: assertion("count", OBJECTS),
    maxProperties: assertion("count", OBJECTS),
    propertyNames: assertion("schema", OBJECTS),
    dependentRequired: assertion("name lists", OBJECTS),
    dependentSchemas: assertion("schema map", OBJECTS),
    dependencies: assertion("schemas or name lists", OBJECTS),
  }),
);

/**
 * Assertions that stay beside a union when everything else that is said beside it becomes part of
 * its branches: what cannot be merged, and what no dialect takes anyway.
 */
export const BESIDE_UNIONS: readonly string[] = [
  "allOf",
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "propertyNames",
];

/** The formats that JSON Schema itself defines, which validators may check. Others only tell. */
export const STANDARD_FORMATS: ReadonlySet<string> = new Set([
  "date-time",
  "date",
  "time",
  "duration",
  "email",
  "idn-email",
  "hostname",
  "idn-hostname",
  "ipv4",
  "ipv6",
  "uri",
  "uri-reference",
  "uri-template",
  "iri",
  "iri-reference",
  "uuid",
  "json-pointer",
  "relative-json-pointer",
  "regex",
]);

/** Whether a key holds an assertion, so that leaving it out would let more values fit. */
export function isAssertion(key: string): boolean {
  return KEYWORDS.get(key)?.role === "assertion";
}

/** A schema in two: what it says of values, and what it tells of them. */
export function splitAnnotations(schema: JsonObject): [said: JsonObject, told: JsonObject] {
  const entries = Object.entries(schema);
  return [
    Object.fromEntries(entries.filter(([key]) => isAssertion(key))),
    Object.fromEntries(entries.filter(([key]) => !isAssertion(key))),
  ];
}

/** The schema with one of its keywords under another name, in the same place. */
export function renamed(schema: JsonObject, from: string, to: string): JsonObject {
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key === from ? to : key, value]));
}

/** Whether a value is a schema in the form of an object. Long numbers are kept as objects, and are none. */
export function isSchemaObject(value: unknown): value is JsonObject {
  return isObject(value) && !JSON.isRawJSON(value);
}

/** Whether a value is a number, long ones included. */
export function isNumber(value: unknown): value is JsonValue {
  return typeof value === "number" || JSON.isRawJSON(value);
}
