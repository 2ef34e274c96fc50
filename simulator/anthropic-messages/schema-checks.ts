import { isJsonObject, type JsonObject } from "../json-object.ts";
import { invalidAt } from "./problem.ts";

/** Keywords that enforced schemas cannot have, by type. */
const unsupported: Readonly<Record<string, readonly string[]>> = {
  integer: ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"],
  number: ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"],
  string: ["maxLength", "minLength"],
  array: ["maxItems", "uniqueItems"],
  object: ["maxProperties", "minProperties"],
};

/** Keywords whose value is a list or an object of schemas. */
const nestedKeywords = ["anyOf", "allOf", "properties", "$defs", "definitions"];

/**
 * Checks that the API can enforce a schema: its objects are closed, and it has no limits that cannot be enforced.
 * Throws the problem that Anthropic would find. `path` is the path of the schema.
 */
export function checkClosedSchema(schema: unknown, path: string): void {
  if (!isJsonObject(schema)) return;
  checkObject(schema, path);
  checkKeywords(schema, path);
  const nested = nestedKeywords.flatMap((keyword) => Object.values(schema[keyword] ?? {}));
  for (const each of [schema.items, ...nested]) checkClosedSchema(each, path);
}

function checkObject(schema: JsonObject, path: string): void {
  const isObject = schema.type === "object" || schema.properties !== undefined;
  if (!isObject || schema.additionalProperties === false) return;
  throw invalidAt(path, "For 'object' type, 'additionalProperties' must be explicitly set to false");
}

function checkKeywords(schema: JsonObject, path: string): void {
  for (const type of [schema.type].flat()) {
    const found = (unsupported[String(type)] ?? []).filter((keyword) => schema[keyword] !== undefined);
    if (found.length === 0) continue;
    const [verb, noun] = found.length === 1 ? ["is", "property"] : ["are", "properties"];
    throw invalidAt(path, `For '${type}' type, ${noun} ${found.join(", ")} ${verb} not supported`);
  }
}
