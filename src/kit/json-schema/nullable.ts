/** Null as a further value of translated schemas. */
import type { JsonObject, JsonValue } from "../json/json.ts";

/** Whether a translated schema says by itself that null fits. What references lead to is not looked at. */
export function acceptsNull(schema: JsonObject): boolean {
  if (Array.isArray(schema.anyOf)) return schema.anyOf.some(acceptsNull);
  if (Array.isArray(schema.enum)) return schema.enum.includes(null);
  return schema.const === undefined ? [schema.type].flat().includes("null") : schema.const === null;
}

/** The schema with null as a further value. */
export function withNull(schema: JsonObject): JsonObject {
  const { anyOf, type, enum: values, const: only } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  if (schema.$ref !== undefined || type === undefined) return { anyOf: [schema, { type: "null" }] };
  const entries = Object.entries(schema).map(([key, value]): [string, JsonValue | undefined] => {
    if (key === "type") return ["type", [...([type].flat() as JsonValue[]), "null"]];
    if (key === "enum") return ["enum", [...(values as readonly JsonValue[]), null]];
    return key === "const" ? ["enum", [only as JsonValue, null]] : [key, value];
  });
  return Object.fromEntries(entries);
}
