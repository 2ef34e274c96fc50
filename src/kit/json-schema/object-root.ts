import type { InvalidRequestError } from "../../core/errors.ts";
import { invalidField } from "../../core/errors.ts";
import type { JsonObject, JsonValue } from "../json/json.ts";
import { isSchemaObject } from "./keywords.ts";
import { quote } from "./quote.ts";
import { References } from "./references.ts";

/**
 * Checks that the root of a schema is an object, as every provider wants it of the parameters of
 * a tool: by `"type": "object"`, by `properties` without a type, or by a reference to such a schema.
 * @param field Path of the schema in the request.
 * @throws InvalidRequestError naming the field, what was found and what was expected.
 */
export function requireObjectRoot(schema: JsonObject, field: string): void {
  const references = new References(schema);
  const passed = new Set<JsonValue>();
  let root: JsonValue | undefined = schema;
  while (isSchemaObject(root) && root.type === undefined && root.properties === undefined) {
    if (passed.has(root)) break;
    passed.add(root);
    root = references.resolve(root)?.schema ?? root;
  }
  if (!isSchemaObject(root) || !isObject(root)) throw notAnObject(field, schema);
}

/** The error for a root that is no object. */
export function notAnObject(field: string, schema: JsonObject): InvalidRequestError {
  return invalidField(
    field,
    `expected a JSON Schema whose root has "type": "object", found ${found(schema)}`,
  );
}

function isObject({ type, properties }: JsonObject): boolean {
  if (type === undefined) return properties !== undefined;
  return [type].flat().join() === "object";
}

function found(schema: JsonObject): string {
  if (schema.type !== undefined) return `"type": ${quote(JSON.stringify(schema.type))}`;
  const [key] = Object.keys(schema);
  return key === undefined ? "an empty schema" : `no type, but ${quote(key)}`;
}
