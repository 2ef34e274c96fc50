/**
 * Google's dialect of schemas -> JSON Schema ("Schema" of the Gemini API, a subset of OpenAPI's): types in capital
 * letters, `nullable`, numbers as texts, and the order of properties in a separate list.
 */
import { asObject, asString, type JsonObject, type JsonValue } from "../../kit/json/json.ts";
import { toJsonName } from "./fields.ts";

/** Keywords whose values are schemas. */
const SCHEMAS: ReadonlySet<string> = new Set(["items", "additionalProperties"]);

/** Keywords whose values are lists of schemas. */
const LISTS: ReadonlySet<string> = new Set(["anyOf", "prefixItems"]);

/** Keywords whose values are schemas by name. */
const MAPS: ReadonlySet<string> = new Set(["properties", "$defs", "defs"]);

/** Keywords with whole numbers, which the JSON form of protobuf writes as texts. */
const COUNTS: ReadonlySet<string> = new Set([
  "maxItems",
  "minItems",
  "maxLength",
  "minLength",
  "maxProperties",
  "minProperties",
]);

/** Converts a schema. Keywords that are the same in both dialects, or unknown, stay unchanged. */
export function toJsonSchema(schema: JsonObject): JsonObject {
  const { type, nullable, propertyOrdering, ...rest } = toJsonNames(schema);
  const converted = Object.entries(rest).map(([name, value = null]) => convertKeyword(name, value));
  const result = { ...toType(type, nullable === true), ...Object.fromEntries(converted) };
  const properties = asObject(result.properties);
  if (nullable === true && Array.isArray(result.enum)) result.enum = [...result.enum, null];
  if (properties !== undefined && Array.isArray(propertyOrdering))
    result.properties = inOrder(properties, propertyOrdering);
  return result;
}

function toJsonNames(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [toJsonName(name), value]));
}

function convertKeyword(name: string, value: JsonValue): [string, JsonValue] {
  if (SCHEMAS.has(name)) return [name, convertSchema(value)];
  if (LISTS.has(name) && Array.isArray(value)) return [name, value.map(convertSchema)];
  if (MAPS.has(name)) return [name === "defs" ? "$defs" : name, convertMap(value)];
  if (COUNTS.has(name) && /^\d+$/.test(asString(value) ?? "")) return [name, Number(value)];
  return name === "example" ? ["examples", [value]] : [name, value];
}

function convertSchema(value: JsonValue): JsonValue {
  const schema = asObject(value);
  return schema === undefined ? value : toJsonSchema(schema);
}

function convertMap(value: JsonValue): JsonObject {
  const members = Object.entries(asObject(value) ?? {});
  return Object.fromEntries(members.map(([name, schema = null]) => [name, convertSchema(schema)]));
}

function toType(type: JsonValue | undefined, nullable: boolean): Record<string, JsonValue> {
  const word = asString(type)?.toLowerCase() ?? "type_unspecified";
  if (word === "type_unspecified") return type === undefined || asString(type) !== undefined ? {} : { type };
  return { type: nullable && word !== "null" ? [word, "null"] : word };
}

/** Returns properties in the order of a list; those that it does not name follow. */
function inOrder(properties: JsonObject, order: readonly JsonValue[]): JsonObject {
  const names = order.map(asString).filter((name) => name !== undefined && Object.hasOwn(properties, name));
  const all = [...new Set([...(names as string[]), ...Object.keys(properties)])];
  return Object.fromEntries(all.map((name) => [name, properties[name] ?? {}]));
}
