import { isJsonObject, type JsonObject } from "../json-object.ts";
/**
 * Reports why a schema does not fit OpenAI's strict mode: an object that allows further properties, or that does not
 * require all its properties. Returns undefined for a strict schema.
 */
export function findStrictnessViolation(schema: unknown): string | undefined {
  return findViolation(schema, []);
}

/**
 * Makes a schema strict if only `additionalProperties` has to change, as OpenAI does with tools whose `strict` is
 * unset. Returns undefined if the schema has optional properties and therefore cannot be strict.
 */
export function makeStrict(schema: unknown): unknown {
  const closed = closeObjects(schema);
  return findStrictnessViolation(closed) === undefined ? closed : undefined;
}

/** Reports why OpenAI does not accept a schema for an answer: its root must be an object, also if it is not strict. */
export function findAnswerViolation(schema: unknown, strict: boolean): string | undefined {
  const { type = "None" } = isJsonObject(schema) ? schema : {};
  if (type !== "object")
    return `schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(type)}'.`;
  return strict ? findStrictnessViolation(schema) : undefined;
}

function findViolation(schema: unknown, path: readonly string[]): string | undefined {
  if (Array.isArray(schema))
    return findFirst(schema.map((each, index) => () => findViolation(each, [...path, String(index)])));
  if (!isJsonObject(schema)) return undefined;
  const properties = isJsonObject(schema.properties) ? schema.properties : undefined;
  const isObject = schema.type === "object" || properties !== undefined;
  const violation = isObject ? findObjectViolation(schema, Object.keys(properties ?? {}), path) : undefined;
  if (violation !== undefined) return violation;
  const below = Object.entries(properties ?? {}).map(
    ([name, each]) =>
      () =>
        findViolation(each, [...path, "properties", name]),
  );
  const branches = ["items", "anyOf", "$defs", "definitions"].map(
    (key) => () => findBranchViolation(schema[key], [...path, key]),
  );
  return findFirst([...below, ...branches]);
}

function findBranchViolation(branch: unknown, path: readonly string[]): string | undefined {
  const isTable = path.at(-1) === "$defs" || path.at(-1) === "definitions";
  if (!isTable || !isJsonObject(branch)) return findViolation(branch, path);
  return findFirst(
    Object.entries(branch).map(
      ([name, each]) =>
        () =>
          findViolation(each, [...path, name]),
    ),
  );
}

function findObjectViolation(
  schema: JsonObject,
  names: readonly string[],
  path: readonly string[],
): string | undefined {
  const context = `In context=(${path.map((step) => `'${step}'`).join(", ")}), `;
  if (schema.additionalProperties !== false) {
    return `${context}'additionalProperties' is required to be supplied and to be false.`;
  }
  const required = Array.isArray(schema.required) ? schema.required : [];
  const missing = names.find((name) => !required.includes(name));
  if (missing === undefined) return undefined;
  return `${context}'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`;
}

function closeObjects(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeObjects);
  if (!isJsonObject(schema)) return schema;
  const closed = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, closeBelow(key, value)]),
  );
  return schema.type === "object" ? { additionalProperties: false, ...closed } : closed;
}

function closeBelow(key: string, value: unknown): unknown {
  if (["properties", "$defs", "definitions"].includes(key)) return closeEach(value);
  return ["items", "anyOf", "oneOf", "allOf"].includes(key) ? closeObjects(value) : value;
}

function closeEach(table: unknown): unknown {
  if (!isJsonObject(table)) return table;
  return Object.fromEntries(Object.entries(table).map(([name, schema]) => [name, closeObjects(schema)]));
}

function findFirst(searches: readonly (() => string | undefined)[]): string | undefined {
  for (const search of searches) {
    const found = search();
    if (found !== undefined) return found;
  }
  return undefined;
}
