/** Functions for the JSON values in schemas. */
import { isObject, type JsonObject, type JsonValue } from "../json/json.ts";
import { isNumber, type JsonType, type JsonTypes, KEYWORDS } from "./keywords.ts";

/** Returns the members of an object; none if there is none. */
export function listEntries(value: JsonValue | undefined): [string, JsonValue][] {
  return Object.entries(isObject(value) ? value : {}) as [string, JsonValue][];
}

/** Returns the list; an empty one if there is none. */
export function toList<Value extends JsonValue = JsonValue>(value: JsonValue | undefined): readonly Value[] {
  return Array.isArray(value) ? value : [];
}

/** Returns a text that is the same for two JSON values exactly if they are equal: the order of keys does not matter. */
export function toIdentity(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (isObject(each) ? sorted(each) : each));
}

function sorted(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** Returns the values without repetitions, in their order. */
export function distinct<Value extends JsonValue>(values: readonly Value[]): readonly Value[] {
  return [...new Map(values.map((value) => [toIdentity(value), value])).values()];
}

function getType(value: JsonValue): JsonType {
  if (value === null) return "null";
  if (isNumber(value)) return Number.isInteger(Number(JSON.stringify(value))) ? "integer" : "number";
  return Array.isArray(value) ? "array" : (typeof value as JsonType);
}

/** Reports whether a value is of one of the types. */
export function hasType(value: JsonValue, types: JsonTypes): boolean {
  const type = getType(value);
  return types.includes(type) || (type === "integer" && types.includes("number"));
}

/** Returns the values that `enum` and `const` allow; undefined if the schema has neither. */
export function getLiterals({ enum: values, const: only }: JsonObject): readonly JsonValue[] | undefined {
  if (only === undefined) return values === undefined ? undefined : toList(values);
  const identity = toIdentity(only);
  return values === undefined || toList(values).some((value) => toIdentity(value) === identity) ? [only] : [];
}

/**
 * Returns the types that a normalized schema allows by `type` or by its literal values; undefined if it has neither.
 */
export function statedTypes(schema: JsonObject): JsonTypes | undefined {
  if (schema.type !== undefined) return toList<JsonType>(schema.type);
  const literals = getLiterals(schema);
  return literals && [...new Set(literals.map(getType))];
}

/**
 * Returns the types that a schema is meant for: the stated ones, else the types that its assertions apply to. An empty
 * list means values of every type.
 */
export function getTypes(schema: JsonObject): JsonTypes {
  const meant = Object.keys(schema).flatMap((key) => KEYWORDS.get(key)?.types ?? []);
  return statedTypes(schema) ?? [...new Set(meant)].filter((type) => type !== "integer");
}
