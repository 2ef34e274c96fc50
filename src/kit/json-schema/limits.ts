/** Sizes of a translated schema, against what a provider takes. */
import type { JsonObject, JsonValue } from "../json/json.ts";
import type { SchemaLimits } from "./dialect.ts";
import { isSchemaObject } from "./keywords.ts";
import { SchemaMisfit } from "./relaxations.ts";

/** From how many values on the strings of an `enum` are counted. */
const LONG_ENUM = 250;

/** Sizes by the names of their limits. */
export type SchemaSizes = Record<keyof SchemaLimits, number>;

const WORDS: Readonly<Record<keyof SchemaLimits, string>> = {
  schemas: "enforced schemas",
  properties: "properties",
  depth: "objects inside one another",
  optionalProperties: "properties that are not required",
  unions: "unions",
  enumValues: "enum values",
  longEnumCharacters: `characters in an enum of more than ${LONG_ENUM} values`,
  characters: "characters in names and enum values",
};

/**
 * Checks sizes against limits.
 * @throws SchemaMisfit saying what there is too much of.
 */
export function checkLimits(sizes: SchemaSizes, limits: SchemaLimits): void {
  for (const key of Object.keys(limits) as (keyof SchemaLimits)[]) {
    const limit = limits[key] ?? Infinity;
    if (sizes[key] > limit)
      throw new SchemaMisfit("", `comes to ${sizes[key]} ${WORDS[key]} instead of at most ${limit}`);
  }
}

/** Measures a translated schema. */
export function sizesOf(schema: JsonObject): SchemaSizes {
  const sizes = { ...NOTHING, schemas: 1 };
  measure(schema, 0, sizes);
  return sizes;
}

const NOTHING: Readonly<SchemaSizes> = {
  schemas: 0,
  properties: 0,
  depth: 0,
  optionalProperties: 0,
  unions: 0,
  enumValues: 0,
  longEnumCharacters: 0,
  characters: 0,
};

/** What the enforced schemas of one request use up of limits that hold for all of them together. */
export class SchemaBudget {
  #spent: SchemaSizes = NOTHING;

  /**
   * Adds the sizes of one more schema.
   * @throws SchemaMisfit where all together are too large; then nothing is added.
   */
  spend(sizes: SchemaSizes, limits: SchemaLimits): void {
    const keys = Object.keys(NOTHING) as (keyof SchemaSizes)[];
    const total = { ...NOTHING };
    for (const key of keys) total[key] = this.#spent[key] + sizes[key];
    checkLimits(total, limits);
    this.#spent = total;
  }
}

function measure(schema: JsonObject, depth: number, sizes: SchemaSizes): void {
  const properties = mapOf(schema.properties);
  const names = Object.keys(properties);
  const required = new Set((schema.required ?? []) as readonly string[]);
  const level = schema.properties === undefined ? depth : depth + 1;
  sizes.properties += names.length;
  sizes.depth = Math.max(sizes.depth, level);
  sizes.optionalProperties += names.filter((name) => !required.has(name)).length;
  if (schema.anyOf !== undefined || Array.isArray(schema.type)) sizes.unions += 1;
  sizes.characters += length([...names, ...Object.keys(mapOf(schema.$defs))]);
  measureLiterals(schema, sizes);
  for (const each of Object.values(mapOf(schema.$defs))) measure(each as JsonObject, 0, sizes);
  for (const each of schemasIn(schema)) measure(each, level, sizes);
}

function measureLiterals(schema: JsonObject, sizes: SchemaSizes): void {
  const values = (schema.enum ?? []) as readonly JsonValue[];
  const strings = [...values, schema.const].filter((value) => typeof value === "string");
  sizes.enumValues += values.length;
  sizes.characters += length(strings);
  if (values.length > LONG_ENUM)
    sizes.longEnumCharacters = Math.max(sizes.longEnumCharacters, length(strings));
}

/** The schemas right below a translated one, its definitions not among them. */
export function schemasIn(schema: JsonObject): JsonObject[] {
  const { properties, items, additionalProperties, prefixItems, anyOf, oneOf } = schema;
  const below = [...Object.values(mapOf(properties)), items, additionalProperties, prefixItems, anyOf, oneOf];
  return below.flat().filter(isSchemaObject);
}

function mapOf(value: JsonValue | undefined): JsonObject {
  return (value ?? {}) as JsonObject;
}

function length(strings: readonly string[]): number {
  return strings.reduce((sum, string) => sum + string.length, 0);
}
