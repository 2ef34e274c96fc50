/** Whether no value fits two schemas: only then do `oneOf` and `anyOf` say the same. */
import type { JsonObject } from "../json/json.ts";
import { type Compilation, placeBelow } from "./compilation.ts";
import { type Expanded, expand } from "./expand.ts";
import { literalsIn } from "./intersect.ts";
import type { JsonType } from "./keywords.ts";
import { identityOf } from "./same-json.ts";
import { statedTypes } from "./types-of.ts";

/** Properties inside one another that are looked into for what tells two schemas apart. */
const MAX_DEPTH = 3;

/** Required properties that are looked at for it; the tag of a union comes early. */
const MAX_TAGS = 16;

/** Schemas that are compared two by two; of more, nothing is said. */
const MAX_COMPARED = 32;

/** Whether every value fits at most one of the schemas, as far as can be seen. */
export function areDisjoint(compilation: Compilation, schemas: readonly Expanded[]): boolean {
  if (schemas.length > MAX_COMPARED) return false;
  return schemas.every((schema, index) =>
    schemas.slice(index + 1).every((other) => shareNothing(compilation, schema, other, MAX_DEPTH)),
  );
}

function shareNothing(compilation: Compilation, left: Expanded, right: Expanded, depth: number): boolean {
  return (
    haveOtherTypes(left.schema, right.schema) ||
    haveOtherLiterals(left.schema, right.schema) ||
    (depth > 0 && haveOtherTag(compilation, left, right, depth))
  );
}

function haveOtherTypes(left: JsonObject, right: JsonObject): boolean {
  const others = statedTypes(right)?.map(wide);
  const types = statedTypes(left)?.map(wide);
  return types !== undefined && others !== undefined && !types.some((type) => others.includes(type));
}

/** Every integer is a number. */
function wide(type: JsonType): JsonType {
  return type === "integer" ? "number" : type;
}

function haveOtherLiterals(left: JsonObject, right: JsonObject): boolean {
  const values = literalsIn(left);
  const others = literalsIn(right);
  if (values === undefined || others === undefined) return false;
  const known = new Set(others.map(identityOf));
  return !values.some((value) => known.has(identityOf(value)));
}

/** Objects that both must have a property, each with other values: the tag of a union. */
function haveOtherTag(compilation: Compilation, left: Expanded, right: Expanded, depth: number): boolean {
  if (!isObjectOnly(left.schema) || !isObjectOnly(right.schema)) return false;
  const required = namesIn(right.schema);
  const names = [...namesIn(left.schema)].filter((name) => required.has(name));
  return names.slice(0, MAX_TAGS).some((name) => {
    const one = propertyOf(compilation, left, name);
    const other = propertyOf(compilation, right, name);
    return one && other && shareNothing(compilation, one, other, depth - 1);
  });
}

function isObjectOnly(schema: JsonObject): boolean {
  return statedTypes(schema)?.join() === "object";
}

function propertyOf(compilation: Compilation, { schema, place }: Expanded, name: string): Expanded | false {
  const properties = (schema.properties ?? {}) as JsonObject;
  if (!Object.hasOwn(properties, name)) return false;
  return expand(compilation, properties[name] ?? true, placeBelow(place, "properties", name));
}

function namesIn({ required }: JsonObject): Set<string> {
  return new Set((required ?? []) as readonly string[]);
}
