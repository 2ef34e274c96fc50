import type { JsonObject, JsonValue } from "../json/json.ts";
import { literalsIn } from "./intersect.ts";
import { isNumber, type JsonType, KEYWORDS } from "./keywords.ts";

/** The type of a JSON value. Of numbers, those without fraction are integers. */
function typeOf(value: JsonValue): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isNumber(value)) return Number.isInteger(Number(JSON.stringify(value))) ? "integer" : "number";
  return typeof value as JsonType;
}

/** Whether a value is of one of the types. */
export function isOfType(value: JsonValue, types: readonly JsonType[]): boolean {
  const type = typeOf(value);
  return types.includes(type) || (type === "integer" && types.includes("number"));
}

/**
 * The types that a schema in normal form lets pass by its `type`, or by its literal values.
 * Undefined where it has neither.
 */
export function statedTypes(schema: JsonObject): readonly JsonType[] | undefined {
  if (schema.type !== undefined) return schema.type as readonly JsonType[];
  const literals = literalsIn(schema);
  return literals && [...new Set(literals.map(typeOf))];
}

/**
 * The types that a schema is meant for: those that it states, else those that its assertions are
 * about (`properties` alone means an object). Empty where it may be any.
 */
export function typesOf(schema: JsonObject): readonly JsonType[] {
  const stated = statedTypes(schema);
  if (stated !== undefined) return stated;
  const meant = Object.keys(schema).flatMap((key) => KEYWORDS.get(key)?.types ?? []);
  return [...new Set(meant)].filter((type) => type !== "integer");
}
