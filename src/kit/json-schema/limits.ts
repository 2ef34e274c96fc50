/** Compares the sizes of a translated schema with a provider's limits. */
import { isObject, type JsonObject, type JsonValue } from "../json/json.ts";
import { toWords, UnsupportedSchemaError } from "./messages.ts";
import { toList } from "./values.ts";

/** The sizes that providers count in schemas. */
const NOTHING = {
  schemas: 0, // in the same dialect
  properties: 0, // of all objects together
  levels: 0, // of nested objects, the root included
  optionalProperties: 0, // of all objects together
  unions: 0, // schemas with `anyOf` or with several types
  enumValues: 0, // of all `enum`s together
  longEnumCharacters: 0, // of the strings of an `enum` of more than 250 values
  characters: 0, // of all names of properties and definitions and of all `enum` and `const` strings
};

const LONG_ENUM = 250;

/** Sizes of a schema. */
export type SchemaSizes = Readonly<typeof NOTHING>;

const SIZES = Object.keys(NOTHING) as (keyof SchemaSizes)[];

/**
 * Checks sizes against limits.
 * @throws UnsupportedSchemaError naming the limit that is exceeded.
 */
export function checkLimits(sizes: SchemaSizes, limits: Partial<SchemaSizes>): void {
  for (const key of SIZES) {
    const limit = limits[key] ?? Infinity;
    if (sizes[key] <= limit) continue;
    throw new UnsupportedSchemaError("", `has ${sizes[key]} ${toWords(key)} instead of at most ${limit}`);
  }
}

/** The sizes that the enforced schemas of one request have used, for limits that apply to all schemas together. */
export class SchemaBudget {
  #spent: SchemaSizes = NOTHING;

  /**
   * Adds the sizes of one more schema.
   * @throws UnsupportedSchemaError if all together are too large; then nothing is added.
   */
  spend(sizes: SchemaSizes, limits: Partial<SchemaSizes>): void {
    const total = { ...this.#spent };
    for (const key of SIZES) total[key] += sizes[key];
    checkLimits(total, limits);
    this.#spent = total;
  }
}

/** Measures a translated schema. */
export function measureSizes(schema: JsonObject): SchemaSizes {
  const sizes = { ...NOTHING, schemas: 1 };
  measure(schema, 0, sizes);
  return sizes;
}

function measure(schema: JsonObject, levels: number, sizes: typeof NOTHING): void {
  const names = Object.keys(schema.properties ?? {});
  const required = new Set(toList(schema.required));
  const values = toList(schema.enum);
  const literals = countCharacters([...values, schema.const]);
  const level = schema.properties === undefined ? levels : levels + 1;
  sizes.properties += names.length;
  sizes.levels = Math.max(sizes.levels, level);
  sizes.optionalProperties += names.filter((name) => !required.has(name)).length;
  if (schema.anyOf !== undefined || Array.isArray(schema.type)) sizes.unions += 1;
  sizes.enumValues += values.length;
  sizes.characters += countCharacters([...names, ...Object.keys(schema.$defs ?? {})]) + literals;
  if (values.length > LONG_ENUM) sizes.longEnumCharacters = Math.max(sizes.longEnumCharacters, literals);
  for (const each of Object.values(schema.$defs ?? {})) measure(each, 0, sizes);
  for (const each of listSubschemas(schema)) measure(each, level, sizes);
}

/** Returns the schemas directly below a translated one, except its definitions. */
export function listSubschemas(schema: JsonObject): JsonObject[] {
  const { properties, items, additionalProperties, prefixItems, anyOf } = schema;
  const below = [Object.values(properties ?? {}), items, additionalProperties, prefixItems, anyOf];
  return below.flat().filter(isObject);
}

function countCharacters(values: readonly (JsonValue | undefined)[]): number {
  return values.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 0), 0);
}
