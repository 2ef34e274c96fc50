/** A schema that is no union, in the words of the dialect. */
import type { JsonObject, JsonValue } from "../json/json.ts";
import type { Compilation, Place } from "./compilation.ts";
import { compileItems } from "./compile-items.ts";
import { compileProperties } from "./compile-properties.ts";
import { keeps, type SchemaDialect } from "./dialect.ts";
import { literalsIn } from "./intersect.ts";
import { isNumber, type JsonType, renamed } from "./keywords.ts";
import { rewriteBounds } from "./rewrite-bounds.ts";
import { isOfType } from "./types-of.ts";
import { areTaken, writeSchema } from "./write-schema.ts";

/**
 * Translates a schema that is no union.
 * @param types What it is for; none where it lets any value pass.
 * @returns `false` where no value fits it.
 */
export function compileTyped(
  compilation: Compilation,
  schema: JsonObject,
  types: readonly JsonType[],
  place: Place,
): JsonObject | false {
  const { dialect } = compilation;
  const values = literalsIn(schema)?.filter((value) => isOfType(value, types));
  const stated =
    values === undefined ? types : types.filter((type) => values.some((each) => isOfType(each, [type])));
  const properties = stated.includes("object") ? compileProperties(compilation, schema, place) : {};
  const possible = properties === false ? stated.filter((type) => type !== "object") : stated;
  if (possible.length === 0 && types.length > 0) return false;
  const items = possible.includes("array") ? compileItems(compilation, schema, place) : {};
  const isListed = schema.const !== undefined && !keeps(dialect, "const");
  const named = isListed ? { ...renamed(schema, "const", "enum"), enum: values } : schema;
  const written = writeSchema(compilation, rewriteBounds(dialect, named, possible), possible, place, {
    ...writeTypes(dialect, possible),
    ...writeLiterals(dialect, named, values),
    ...properties,
    ...items,
  });
  return isNullable(dialect, possible) ? { ...written, nullable: true } : written;
}

function writeTypes(dialect: SchemaDialect, types: readonly JsonType[]): JsonObject {
  const listed = isNullable(dialect, types) ? types.filter((type) => type !== "null") : types;
  const names = listed.map((type) => (dialect.typeNames === "upper" ? type.toUpperCase() : type));
  const [name, ...others] = names;
  return name === undefined ? {} : { type: others.length === 0 ? name : names };
}

/** Whether null is allowed by a keyword of its own instead of by a type. */
function isNullable(dialect: SchemaDialect, types: readonly JsonType[]): boolean {
  return keeps(dialect, "nullable") && types.length > 1 && types.includes("null");
}

/**
 * The literal values; nothing where the dialect cannot hold them, so that they are put into words.
 * Null alone, or both booleans, say no more than their type.
 */
function writeLiterals(
  dialect: SchemaDialect,
  schema: JsonObject,
  values: readonly JsonValue[] | undefined,
): JsonObject {
  if (values === undefined) return {};
  const left = keeps(dialect, "nullable") ? values.filter((value) => value !== null) : values;
  if (!areTaken(dialect, left)) return isWholeType(left) ? { enum: undefined, const: undefined } : {};
  if (left.length === 0) return { enum: undefined };
  if (schema.enum === undefined) return { const: left[0] };
  const written = left.map((value) =>
    dialect.literalsAsText && isNumber(value) ? JSON.stringify(value) : value,
  );
  return { enum: written, const: undefined };
}

function isWholeType(values: readonly JsonValue[]): boolean {
  return (
    values.every((value) => value === null) ||
    (values.length === 2 && values.every((value) => typeof value === "boolean"))
  );
}
