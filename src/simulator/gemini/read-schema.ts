type Schema = Readonly<Record<string, unknown>>;

/**
 * Turns a schema of Google's own dialect into JSON Schema: types in small letters, and null as a type of its own where the
 * value may be null.
 */
export function toJsonSchema(schema: unknown): unknown {
  if (!isSchema(schema)) return schema;
  const { type, nullable, items, properties, anyOf, ...rest } = schema;
  const own = typeof type === "string" ? type.toLowerCase() : type;
  return {
    ...rest,
    ...(own === undefined ? {} : { type: nullable === true ? [own, "null"] : own }),
    ...(items === undefined ? {} : { items: toJsonSchema(items) }),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map(toJsonSchema) } : {}),
    ...(isSchema(properties) ? { properties: mapValues(properties) } : {}),
  };
}

function mapValues(properties: Schema): Schema {
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, toJsonSchema(each)]));
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
