import { type JsonObject, type JsonValue, without } from "../json/json.ts";
import { invalidAt, note, type SchemaLocation } from "./compilation.ts";
import { keeps } from "./dialect.ts";
import { findMalformed, isAssertion, KEYWORDS } from "./keywords.ts";
import { distinct, getLiterals, listEntries, toList } from "./values.ts";

/**
 * Rewrites one schema, without its subschemas, in the keywords of 2020-12. Covers OpenAPI's `nullable`. Identifiers are
 * left out, and so are unknown keywords, which are noted.
 * @throws InvalidRequestError naming a keyword with a value that it cannot have.
 */
export function normalize(schema: JsonObject, location: SchemaLocation): JsonObject {
  const { normalized } = location.run;
  const known = normalized.get(schema);
  if (known !== undefined) return known;
  const entries = listEntries(schema).flatMap(([key, value]) => normalizeEntry(schema, key, value, location));
  const normal = Object.fromEntries(entries);
  if (Object.keys(normal).length < entries.length) {
    const message = "expected a schema in the keywords of one draft, found one keyword in those of two";
    throw invalidAt(location, message);
  }
  const result = schema.nullable === true ? withNull(normal) : normal;
  normalized.set(schema, result);
  return result;
}

type Entry = [string, JsonValue];

function normalizeEntry(
  schema: JsonObject,
  key: string,
  value: JsonValue,
  location: SchemaLocation,
): Entry[] {
  const keyword = KEYWORDS.get(key);
  if (keyword === undefined && keeps(location.run.dialect, key)) return [[key, value]];
  const malformed = keyword && findMalformed(keyword, value);
  if (malformed !== undefined) throw invalidAt(location, malformed, key);
  switch (key) {
    case "type":
      return [[key, [...new Set([value].flat().map((type) => String(type).toLowerCase()))]]];
    case "enum":
      return [[key, distinct(toList(value))]];
    case "items":
      return [[Array.isArray(value) ? "prefixItems" : key, value]];
    case "additionalItems":
      return Array.isArray(schema.items) ? [["items", value]] : [];
    case "$dynamicRef":
    case "$recursiveRef":
      return [["$ref", value]];
    case "nullable":
      if (value === true) note(location, "is a keyword of OpenAPI; it was read as allowing null", key);
      return [];
  }
  // Extensions are meant for other programs; any other unknown keyword may be a spelling mistake.
  const isUnknown = keyword === undefined && !key.startsWith("x-");
  if (isUnknown) note(location, "is not a keyword of JSON Schema; it was left out", key);
  return keyword === undefined || keyword.role === "identity" ? [] : [[key, value]];
}

/** In OpenAPI 3.0, null is valid as well, even if an `enum` does not list it. */
function withNull(schema: JsonObject): JsonObject {
  const isTyped = schema.type !== undefined && getLiterals(schema) === undefined;
  if (isTyped) return { ...schema, type: distinct([...toList(schema.type), "null"]) };
  const annotations = without(schema, ...Object.keys(schema).filter(isAssertion));
  return { ...annotations, anyOf: [without(schema, ...Object.keys(annotations)), { type: "null" }] };
}
