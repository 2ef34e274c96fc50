import { type JsonObject, without } from "../json/json.ts";
import { keeps, type SchemaDialect } from "./dialect.ts";
import { type JsonType, renamed } from "./keywords.ts";

/** An exclusive bound, the inclusive one that comes nearest, and the way from one integer to the next allowed one. */
interface Bound {
  readonly exclusive: string;
  readonly inclusive: string;
  readonly nextInteger: (value: number) => number;
  readonly stricter: (left: number, right: number) => number;
}

const BOUNDS: readonly Bound[] = [
  {
    exclusive: "exclusiveMinimum",
    inclusive: "minimum",
    nextInteger: (value) => Math.floor(value) + 1,
    stricter: Math.max,
  },
  {
    exclusive: "exclusiveMaximum",
    inclusive: "maximum",
    nextInteger: (value) => Math.ceil(value) - 1,
    stricter: Math.min,
  },
];

/**
 * Makes exclusive bounds inclusive where the dialect has only those: exactly for integers. For
 * other numbers the nearest inclusive bound is added, and the exclusive one is left to be put into words.
 */
export function rewriteBounds(
  dialect: SchemaDialect,
  schema: JsonObject,
  types: readonly JsonType[],
): JsonObject {
  return BOUNDS.reduce((rewritten, bound) => rewriteBound(dialect, rewritten, bound, types), schema);
}

function rewriteBound(
  dialect: SchemaDialect,
  schema: JsonObject,
  { exclusive, inclusive, nextInteger, stricter }: Bound,
  types: readonly JsonType[],
): JsonObject {
  const value = schema[exclusive];
  const other = schema[inclusive] ?? value;
  if (typeof value !== "number" || typeof other !== "number") return schema;
  if (keeps(dialect, exclusive) || !keeps(dialect, inclusive)) return schema;
  const next = nextInteger(value);
  const isExact = !types.includes("number") && Number.isSafeInteger(next);
  if (!isExact) return { ...schema, [inclusive]: stricter(other, value) };
  const bound = schema[inclusive] === undefined ? next : stricter(other, next);
  return { ...renamed(without(schema, inclusive), exclusive, inclusive), [inclusive]: bound };
}
