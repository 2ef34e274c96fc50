/** What a schema says of the members of objects, in the words of the dialect. */
import type { JsonObject, JsonValue } from "../json/json.ts";
import { type Compilation, type Place, placeBelow } from "./compilation.ts";
import { acceptsNull, withNull } from "./nullable.ts";
import { pointerBelow } from "./pointer.ts";
import { SchemaMisfit } from "./relaxations.ts";
import { loseKeyword } from "./write-schema.ts";

/**
 * Translates `properties`, `required` and `additionalProperties`.
 * @returns The keywords in the dialect, undefined those that are to be left out; `false` where
 * no object fits.
 * @throws SchemaMisfit for an object of free names, where the dialect has only objects of given ones.
 */
export function compileProperties(
  compilation: Compilation,
  schema: JsonObject,
  place: Place,
): JsonObject | false {
  const declared = declaredProperties(schema);
  const required = requiredNames(compilation, schema, declared, place);
  const properties: [string, JsonObject][] = [];
  for (const [name, property] of declared) {
    const isRequired = required.has(name);
    const compiled = compileProperty(compilation, name, property, isRequired, place);
    if (compiled !== false) properties.push([name, compiled]);
    else if (isRequired) return false;
    else loseForbidden(compilation, schema, name, place);
  }
  const names = properties.map(([name]) => name);
  const { objects, requireAll, omitEmptyProperties } = compilation.dialect;
  const mayBeSilent = omitEmptyProperties || (schema.properties === undefined && objects !== "closed");
  const isSilent = names.length === 0 && mayBeSilent;
  return {
    properties: isSilent ? undefined : Object.fromEntries(properties),
    required: requireAll ? names : schema.required && [...required],
    ...writeAdditional(compilation, schema, declared.size, names.length, place),
  };
}

/** The properties, with those that are required and not declared: they are what all others are. */
function declaredProperties(schema: JsonObject): ReadonlyMap<string, JsonValue> {
  const declared = new Map(Object.entries((schema.properties ?? {}) as Record<string, JsonValue>));
  const others = schema.patternProperties === undefined ? (schema.additionalProperties ?? true) : true;
  for (const name of namesIn(schema)) if (!declared.has(name)) declared.set(name, others);
  return declared;
}

function namesIn({ required }: JsonObject): readonly string[] {
  return (required ?? []) as readonly string[];
}

/** The names that stay required: not those that begin the schema again, where the dialect wants those optional. */
function requiredNames(
  { dialect, recursion, relaxed }: Compilation,
  schema: JsonObject,
  declared: ReadonlyMap<string, JsonValue>,
  place: Place,
): ReadonlySet<string> {
  const names = new Set(namesIn(schema));
  if (dialect.recursion !== "optional" || place.optional) return names;
  for (const name of names) {
    if (!recursion.mustRecur(place.owner, declared.get(name) ?? true)) continue;
    const rule = `which ${dialect.name} takes only in a property that is not required`;
    const pointer = pointerBelow(place.pointer, "properties", name);
    relaxed.lose(pointer, `refers to itself, ${rule}; it is optional now`);
    names.delete(name);
  }
  return names;
}

function compileProperty(
  { compile, dialect, relaxed }: Compilation,
  name: string,
  property: JsonValue,
  isRequired: boolean,
  place: Place,
): JsonObject | false {
  const below = placeBelow(place, "properties", name);
  const compiled = compile(property, { ...below, optional: place.optional || !isRequired });
  if (compiled === false || isRequired || !dialect.requireAll || acceptsNull(compiled)) return compiled;
  const message = `is not required, which ${dialect.name} does not take; null stands for its absence`;
  relaxed.lose(below.pointer, message);
  return withNull(compiled);
}

/** A property that must not be there needs no word where no other than the declared ones may. */
function loseForbidden(
  { dialect, relaxed }: Compilation,
  schema: JsonObject,
  name: string,
  place: Place,
): void {
  if (dialect.objects !== "open" || schema.additionalProperties === false) return;
  const pointer = pointerBelow(place.pointer, "properties", name);
  relaxed.lose(pointer, `${dialect.name} cannot forbid a property by name; it was left out`);
}

/** @param declared How many properties the schema declares. @param left How many of them are left. */
function writeAdditional(
  compilation: Compilation,
  schema: JsonObject,
  declared: number,
  left: number,
  place: Place,
): JsonObject {
  const { additionalProperties: others } = schema;
  switch (compilation.dialect.objects) {
    case "closed":
      return closeObject(compilation, schema, declared, place);
    case "implied":
      // To declare properties is to forbid others, but an object without any is a free one.
      if (left === 0 && (declared > 0 || others === false))
        loseKeyword(compilation, place, "properties", false);
      return typeof others === "boolean" ? { additionalProperties: undefined } : {};
    default:
      return keepOpen(compilation, schema, place);
  }
}

/**
 * Where the schema is silent, other properties are forbidden without a word: that is what the
 * provider asks for, and every value that fits then fits the schema too.
 */
function closeObject(
  { dialect, relaxed }: Compilation,
  schema: JsonObject,
  declared: number,
  place: Place,
): JsonObject {
  const { additionalProperties: others, patternProperties: patterns } = schema;
  const isOpened = (others !== undefined && others !== false) || patterns !== undefined;
  const isSilent = others === undefined && schema.properties === undefined;
  if (declared === 0 && (isOpened || isSilent)) {
    throw new SchemaMisfit(place.pointer, "is an object whose property names are free");
  }
  if (others !== undefined && others !== false) {
    const pointer = pointerBelow(place.pointer, "additionalProperties");
    relaxed.lose(pointer, `${dialect.name} takes no free property names; only the declared ones are left`);
  }
  return { additionalProperties: false };
}

/** Names by pattern are not taken: where only they were allowed, all names are. */
function keepOpen(compilation: Compilation, schema: JsonObject, place: Place): JsonObject {
  const { additionalProperties: others, patternProperties: patterns } = schema;
  const byPattern = Object.values((patterns ?? {}) as Record<string, JsonValue>);
  const allowed = others === false && byPattern.length > 0 ? { anyOf: byPattern } : others;
  if (allowed === undefined || typeof allowed === "boolean") return {};
  return {
    additionalProperties: compilation.compile(allowed, placeBelow(place, "additionalProperties")),
  };
}
