import type { JsonObject } from "../json/json.ts";
import { keeps, type SchemaDialect } from "./dialect.ts";
import { literalsIn } from "./intersect.ts";
import { BESIDE_UNIONS, isAssertion, type JsonType, KEYWORDS } from "./keywords.ts";
import { isOfType } from "./types-of.ts";

/**
 * Puts each type of a schema into a branch of `anyOf`, where the dialect cannot have them in one
 * list. That is exact: an assertion is about the values of its types only.
 * @returns undefined where the dialect can.
 */
export function splitTypes(
  dialect: SchemaDialect,
  schema: JsonObject,
  types: readonly JsonType[],
): JsonObject | undefined {
  if (types.length < 2 || takesTogether(dialect, schema, types)) return undefined;
  const beside = Object.entries(schema).filter(([key]) => isBeside(key));
  const anyOf = types.map((type) => restrict(schema, type)).filter((branch) => branch !== undefined);
  return { ...Object.fromEntries(beside), anyOf };
}

function takesTogether(dialect: SchemaDialect, schema: JsonObject, types: readonly JsonType[]): boolean {
  const others = types.filter((type) => type !== "null");
  const holdsNull = literalsIn(schema)?.includes(null) ?? false;
  if (dialect.typeLists === "none") return others.length < 2 && keeps(dialect, "nullable");
  if (holdsNull && !dialect.literals.includes("null")) return false;
  return dialect.typeLists === "all" || others.length < 2;
}

function isBeside(key: string): boolean {
  return !isAssertion(key) || BESIDE_UNIONS.includes(key);
}

/** @returns undefined where no literal value is of the type. */
function restrict(schema: JsonObject, type: JsonType): JsonObject | undefined {
  const values = literalsIn(schema)?.filter((value) => isOfType(value, [type]));
  if (values?.length === 0) return undefined;
  const said = Object.entries(schema).filter(([key]) => !isBeside(key) && isAbout(key, type));
  const literals: JsonObject = values === undefined || type === "null" ? {} : { enum: values };
  return { type: [type], ...Object.fromEntries(said), ...literals };
}

function isAbout(key: string, type: JsonType): boolean {
  if (key === "type" || key === "enum" || key === "const") return false;
  return KEYWORDS.get(key)?.types?.includes(type) ?? type !== "null";
}
