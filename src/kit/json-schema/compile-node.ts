/** Translates any schema below the root, by its keywords. */
import { isObject, type JsonObject, type JsonValue, without } from "../json/json.ts";
import {
  getSubschemaLocation,
  invalidAt,
  type LocatedSchema,
  lose,
  note,
  type SchemaLocation,
} from "./compilation.ts";
import { compileArray, compileObject } from "./compile-members.ts";
import { expand, toTarget } from "./expand.ts";
import { isAssertion, type JsonTypes, KEYWORDS } from "./keywords.ts";
import { UnsupportedSchemaError } from "./messages.ts";
import { getReference, type Target } from "./references.ts";
import { distinct, getLiterals, getTypes, hasType, listEntries, statedTypes, toList } from "./values.ts";
import { rewriteBounds, writeLiterals, writeSchema } from "./write-schema.ts";

/**
 * Translates a schema; `false` if it accepts no value.
 * @throws InvalidRequestError for malformed keywords, UnsupportedSchemaError if the dialect has no equivalent.
 */
export function compileNode(schema: JsonValue, location: SchemaLocation): JsonObject | false {
  if (isPlainReference(schema)) return compileReference(schema, location);
  const expanded = expand({ schema, location });
  return expanded && compileExpanded(expanded);
}

/** Translates a schema that is expanded already. */
export function compileExpanded({ schema, location }: LocatedSchema<JsonObject>): JsonObject | false {
  if (getUnion(schema) !== undefined) return compileUnion(schema, location);
  const [unmerged] = toList(schema.allOf);
  if (Object.keys(schema).filter(isAssertion).join() === "allOf" && isPlainReference(unmerged)) {
    // A reference to a surrounding schema cannot be merged with the annotations alongside it.
    const isDescribed = schema.description !== undefined;
    if (isDescribed) note(location, "is next to a reference; it was left out", "description");
    return compileReference(unmerged, location);
  }
  const types = getTypes(schema);
  const { objects, typeLists } = location.run.dialect;
  const isAny = types.length === 0;
  if (isAny && objects === "closed") throw new UnsupportedSchemaError(location.pointer, "accepts any value");
  const isNullable = types.length === 2 && types.includes("null") && getLiterals(schema) === undefined;
  if (typeLists === "all" || types.length < 2 || isNullable) return compileTyped(schema, types, location);
  return compileUnion({ ...without(schema, "type"), anyOf: types.map((type) => ({ type })) }, location);
}

/** @param types Types that the schema is meant for, as `getTypes` gives them: an empty list means every type. */
function compileTyped(schema: JsonObject, types: JsonTypes, location: SchemaLocation): JsonObject | false {
  const { dialect } = location.run;
  const values = getLiterals(schema)?.filter((value) => hasType(value, types));
  const allowed = types.filter((type) => values?.some((value) => hasType(value, [type])) ?? true);
  const members = allowed.includes("object") ? compileObject(schema, location) : {};
  const possible = members === false ? allowed.filter((type) => type !== "object") : allowed;
  if (possible.length === 0 && types.length > 0) return false;
  return writeSchema(rewriteBounds(schema, possible, dialect), possible, location, {
    ...(possible.length > 0 && { type: possible.length === 1 ? possible[0] : possible }),
    ...writeLiterals(values, schema, dialect),
    ...members,
    ...(possible.includes("array") && compileArray(schema, location)),
  });
}

function compileUnion(schema: JsonObject, location: SchemaLocation): JsonObject | false {
  const { branches, beside } = splitUnion(schema, location);
  const compiled = branches.map((branch) => compileNode(branch.schema, branch.location));
  const anyOf = distinct(compiled.filter((branch) => branch !== false));
  const [only] = anyOf;
  if (only === undefined) return false;
  const written = writeSchema(beside, [], location, {});
  const isAlone = anyOf.length === 1 && (only.$ref === undefined || Object.keys(written).length === 0);
  return { ...written, ...(isAlone ? without(only, ...Object.keys(written)) : { anyOf }) };
}

/** Returns the keyword that makes a schema a union; undefined if it is none. */
export function getUnion(schema: JsonObject): "anyOf" | "oneOf" | undefined {
  return (["anyOf", "oneOf"] as const).find((key) => schema[key] !== undefined);
}

/** Assertions that stay alongside a union: those that no dialect has, and those that depend on several branches. */
const BESIDE: readonly string[] = [
  ...["allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies"],
  ...["propertyNames", "unevaluatedItems", "unevaluatedProperties"],
];

/**
 * Splits a union into its branches and the rest. Assertions alongside the union move into each branch, since providers
 * disagree on what may stand there. Reports a `oneOf` that `anyOf` may not express exactly.
 */
export function splitUnion(schema: JsonObject, location: SchemaLocation) {
  const key = getUnion(schema) ?? "anyOf";
  const isShared = (each: string) => each !== key && isAssertion(each) && !BESIDE.includes(each);
  const shared = Object.fromEntries(listEntries(schema).filter(([each]) => isShared(each)));
  const join = (branch: JsonValue) =>
    Object.keys(shared).length === 0 ? branch : { ...shared, allOf: [branch] };
  const listed = toList(schema[key]);
  location.run.budget.countCopies(shared, listed.length);
  const branches = listed.map((each, i) => ({
    schema: join(each),
    location: getSubschemaLocation(location, key, i),
  }));
  if (key === "oneOf" && !areExclusive(branches.flatMap((branch) => expand(branch) || []))) {
    const effect = "as `anyOf` it also accepts values that several branches accept";
    lose(location, `is not supported by ${location.run.dialect.name}; ${effect}`, key);
  }
  return { branches, beside: without(schema, key, ...Object.keys(shared)) };
}

/**
 * Reports whether branches exclude one another by their types, their literal values or the literal values of a required
 * property.
 */
function areExclusive(branches: readonly LocatedSchema<JsonObject>[]): boolean {
  const schemas = branches.map((branch) => branch.schema);
  const types = schemas.map((each) => statedTypes(each)?.map((type) => type.replace("integer", "number")));
  const tags = toList<string>(schemas[0]?.required).slice(0, 16); // The tag of a union usually comes early.
  const tagged = tags.map((tag) => schemas.map((schema) => tagValues(schema, tag)));
  return [types, schemas.map(getLiterals), ...tagged].some((lists) => {
    const all = lists.flatMap((list) => list ?? []);
    return !lists.includes(undefined) && distinct(all).length === all.length;
  });
}

function tagValues({ type, required, properties }: JsonObject, tag: string) {
  const isTag = String(type) === "object" && toList(required).includes(tag);
  const [, property] = (isTag && listEntries(properties).find(([name]) => name === tag)) || [];
  return isObject(property) ? getLiterals(property) : undefined;
}

/** Reports whether a schema is one reference and has no annotations. */
function isPlainReference(schema: JsonValue | undefined): schema is JsonObject {
  if (!isObject(schema) || getReference(schema) === undefined) return false;
  const roles = Object.keys(schema).map((key) => KEYWORDS.get(key)?.role ?? "identity");
  return roles.filter((role) => role !== "identity").length === 1;
}

/** @param passed References that led to this one. */
function compileReference(
  from: JsonObject,
  location: SchemaLocation,
  passed: JsonValue[] = [],
): JsonObject | false {
  location.run.budget.countSchema(location);
  const target = toTarget(from, location);
  const { schema, pointer } = target;
  if (!isObject(schema)) return compileNode(schema, location);
  if (passed.includes(schema)) throw invalidAt(location, ENDLESS);
  if (isPlainReference(schema)) {
    return compileReference(schema, { ...location, pointer, depth: location.depth + 1 }, [...passed, schema]);
  }
  if (location.open.includes(schema) && !acceptsRecursion(location)) return {};
  if (schema === location.open[0]) return { $ref: "#" };
  const { name, schema: definition } = define(target, location);
  return definition.$ref === undefined ? { $ref: `#/$defs/${name}` } : definition;
}

const ENDLESS = "expected a reference that leads to a schema, found references that lead to themselves";

/** The error message for a schema that accepts no value. */
export const CONTRADICTION = "expected a schema for which some value is valid, found a contradiction";

/** Translates the target of a reference, once, and puts it into the definitions. */
function define(
  { schema, key, pointer }: Target,
  location: SchemaLocation,
): { name: string; schema: JsonObject } {
  const { definitions, names } = location.run;
  const known = definitions.get(schema);
  if (known !== undefined) return known;
  const definition = { name: takeName(key, names), schema: {} };
  definitions.set(schema, definition);
  const { property: _, ...outer } = location;
  const open = [...location.open, schema];
  const inside = { ...outer, pointer, depth: location.depth + 1, open, expanding: [schema] };
  const compiled = compileNode(schema, inside);
  if (compiled === false) throw invalidAt(inside, CONTRADICTION);
  if (compiled.$ref === `#/$defs/${definition.name}`) throw invalidAt(location, ENDLESS);
  definition.schema = compiled;
  return definition;
}

/** Returns a name that is not taken, in characters that all providers accept. */
function takeName(wanted: string, names: Map<string, number>): string {
  const base = wanted.replaceAll(/[^A-Za-z0-9_.-]/g, "_") || "schema";
  let name = base;
  while (names.has(name)) {
    // The last suffix is kept, since trying all suffixes again would be quadratic.
    const suffix = (names.get(base) ?? 1) + 1;
    names.set(base, suffix);
    name = `${base}_${suffix}`;
  }
  names.set(name, 1);
  return name;
}

/** Reports whether the dialect accepts a recursive reference here. Otherwise any value is allowed instead. */
function acceptsRecursion(location: SchemaLocation): boolean {
  const { recursion, name } = location.run.dialect;
  if (recursion === "allowed") return true;
  if (recursion === "refused") throw new UnsupportedSchemaError(location.pointer, "refers to itself");
  if (location.property !== undefined) location.property.isRecursive = true;
  else lose(location, `refers to itself, which ${name} accepts only in properties; any value is allowed`);
  return location.property !== undefined;
}
