import { isJsonObject, type JsonObject as Schema } from "../json-object.ts";
import type { InstanceSource } from "./instance-source.ts";
import { textForSchema } from "./schema-text.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** A JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** A JSON object. */
interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Depth from which only required properties are filled in. */
const maxOptionalDepth = 4;

/** Depth at which a recursive schema is ended with null. */
const maximumDepth = 24;

/** Maximum number of values of an instance. A recursive schema that also branches is ended with null at this number. */
const maximumValues = 5000;

/** Number of elements of an array, if its schema allows it. */
const defaultElements = 2;

interface Builder extends InstanceSource {
  readonly root: unknown;
  /** Values that may still be built. */
  valuesLeft: number;
}

/**
 * Builds a value that matches a JSON Schema (2020-12 and drafts 4 to 7), the same one for the same source.
 *
 * Follows `type`, `enum`, `const`, `properties`, `required`, `items`, `prefixItems`, `anyOf`, `oneOf`, `allOf`, local
 * `$ref`s and the limits of numbers, strings and arrays. Does not solve `not`, `if` and dependencies.
 */
export function createInstance(schema: unknown, source: InstanceSource): JsonValue {
  return build(schema, { ...source, root: schema, valuesLeft: maximumValues }, 0);
}

function build(schema: unknown, builder: Builder, depth: number): JsonValue {
  if (schema === true) return builder.nextWord();
  builder.valuesLeft -= 1;
  if (!isJsonObject(schema) || depth > maximumDepth || builder.valuesLeft < 0) return null;
  const target = resolve(schema, builder.root);
  if (target !== schema) return build(target, builder, depth + 1);
  if ("const" in schema) return schema.const as JsonValue;
  const values = schema.enum;
  if (Array.isArray(values) && values.length > 0)
    return values[builder.random.below(values.length)] as JsonValue;
  return buildByType(mergeBranches(schema, builder, depth), builder, depth);
}

/** Folds `allOf` and one branch of `anyOf` or `oneOf` into a schema that has neither. */
function mergeBranches(schema: Schema, builder: Builder, depth: number): Schema {
  const { allOf, anyOf, oneOf, ...rest } = schema;
  if (depth > maximumDepth) return rest;
  const branches = Array.isArray(allOf) ? [...allOf] : [];
  for (const choice of [anyOf, oneOf]) {
    if (Array.isArray(choice) && choice.length > 0) branches.push(choice.find(isNotNull) ?? choice[0]);
  }
  return branches.reduce<Schema>((merged, branch) => {
    const resolved = isJsonObject(branch) ? resolve(branch, builder.root) : branch;
    return isJsonObject(resolved) ? merge(merged, mergeBranches(resolved, builder, depth + 1)) : merged;
  }, rest);
}

function merge(left: Schema, right: Schema): Schema {
  const required = [...list(left.required), ...list(right.required)];
  const properties = { ...record(left.properties), ...record(right.properties) };
  return {
    ...left,
    ...right,
    ...(required.length > 0 ? { required } : {}),
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
  };
}

function buildByType(schema: Schema, builder: Builder, depth: number): JsonValue {
  if ("const" in schema || "enum" in schema) return build(schema, builder, depth + 1);
  switch (getType(schema)) {
    case "object":
      return buildObject(schema, builder, depth);
    case "array":
      return buildArray(schema, builder, depth);
    case "integer":
      return buildNumber(schema, builder.random, 1);
    case "number":
      return buildNumber(schema, builder.random, 0.5);
    case "boolean":
      return builder.random.below(2) === 1;
    case "null":
      return null;
    default:
      return textForSchema(schema, builder);
  }
}

function getType(schema: Schema): unknown {
  const type = schema.type;
  if (Array.isArray(type)) return type.find((each) => each !== "null") ?? "null";
  if (type !== undefined) return type;
  if ("properties" in schema || "required" in schema || "additionalProperties" in schema) return "object";
  if ("items" in schema || "prefixItems" in schema) return "array";
  if ("minimum" in schema || "maximum" in schema || "multipleOf" in schema) return "number";
  return "string";
}

function buildObject(schema: Schema, builder: Builder, depth: number): JsonValue {
  const properties = record(schema.properties);
  const required = new Set(list(schema.required));
  const names = Object.keys(properties).filter((name) => depth < maxOptionalDepth || required.has(name));
  const missing = [...required].filter(
    (name): name is string => typeof name === "string" && !(name in properties),
  );
  const extra = schema.additionalProperties;
  const entries = [...names, ...missing].map((name): [string, JsonValue] => [
    name,
    build(properties[name] ?? extra ?? true, builder, depth + 1),
  ]);
  if (entries.length === 0 && isJsonObject(extra)) entries.push(["key", build(extra, builder, depth + 1)]);
  return Object.fromEntries(entries);
}

function buildArray(schema: Schema, builder: Builder, depth: number): JsonValue {
  const leading = list(schema.prefixItems);
  const items = schema.items ?? true;
  const least = count(schema.minItems, leading.length);
  const most = count(schema.maxItems, Number.MAX_SAFE_INTEGER);
  const wanted = depth < maxOptionalDepth ? Math.max(least, leading.length || defaultElements) : least;
  const length = items === false ? leading.length : Math.min(wanted, most);
  const elements: JsonValue[] = [];
  for (let index = 0; index < length; index += 1) {
    const element = build(leading[index] ?? items, builder, depth + 1);
    if (schema.uniqueItems !== true || isNew(element, elements)) elements.push(element);
  }
  return elements;
}

function isNew(element: JsonValue, elements: readonly JsonValue[]): boolean {
  const text = JSON.stringify(element);
  return !elements.some((other) => JSON.stringify(other) === text);
}

/** Chooses a number within the limits of a schema, a multiple of `multipleOf` or else of `step`. */
function buildNumber(schema: Schema, random: SeededRandom, step: number): number {
  const multiple = numeric(schema.multipleOf) ?? step;
  const above = numeric(schema.exclusiveMinimum);
  const below = numeric(schema.exclusiveMaximum);
  const least = Math.max(numeric(schema.minimum) ?? -Infinity, above ?? -Infinity);
  const most = Math.min(numeric(schema.maximum) ?? Infinity, below ?? Infinity);
  let first = Math.ceil((Number.isFinite(least) ? least : Math.min(1, most)) / multiple);
  if (above !== undefined && first * multiple <= above) first += 1;
  let last = Number.isFinite(most) ? Math.floor(most / multiple) : first + 40;
  if (below !== undefined && last * multiple >= below) last -= 1;
  if (last < first)
    return Number.isFinite(least) && Number.isFinite(most) ? (least + most) / 2 : first * multiple;
  return (first + random.below(Math.min(last - first, 40) + 1)) * multiple;
}

function resolve(schema: Schema, root: unknown): unknown {
  const reference = schema.$ref;
  if (typeof reference !== "string" || !reference.startsWith("#")) return schema;
  const steps = reference.slice(1).split("/").filter(Boolean);
  return steps.reduce<unknown>((at, step) => record(at)[decodeStep(step)], root);
}

function decodeStep(step: string): string {
  return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
}

function isNotNull(schema: unknown): boolean {
  return !isJsonObject(schema) || schema.type !== "null";
}

function record(value: unknown): Schema {
  return isJsonObject(value) ? value : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function numeric(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function count(value: unknown, otherwise: number): number {
  return typeof value === "number" ? Math.max(0, Math.floor(value)) : otherwise;
}
