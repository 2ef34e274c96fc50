import { isJsonObject, type JsonObject } from "../json-object.ts";
/** Converts a schema of Google's dialect into JSON Schema: types in lower case, and `nullable` as the type null. */
export function toJsonSchema(schema: unknown): unknown {
  if (!isJsonObject(schema)) return schema;
  const { type, nullable, items, properties, anyOf, ...rest } = schema;
  const lower = typeof type === "string" ? type.toLowerCase() : type;
  return {
    ...rest,
    ...(lower === undefined ? {} : { type: nullable === true ? [lower, "null"] : lower }),
    ...(items === undefined ? {} : { items: toJsonSchema(items) }),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map(toJsonSchema) } : {}),
    ...(isJsonObject(properties) ? { properties: mapValues(properties) } : {}),
  };
}

function mapValues(properties: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, toJsonSchema(each)]));
}
