/** One schema in the words of the dialect: what kind of schema it is decides what becomes of it. */
import { invalidField } from "../../core/errors.ts";
import type { JsonObject, JsonValue } from "../json/json.ts";
import type { Compilation, Place } from "./compilation.ts";
import { compileTyped } from "./compile-typed.ts";
import { compileUnion, unionOf } from "./compile-union.ts";
import { closeUnevaluated, type Expanded, expand, targetOf } from "./expand.ts";
import { literalsIn } from "./intersect.ts";
import { isSchemaObject, KEYWORDS, splitAnnotations } from "./keywords.ts";
import { fieldAt, fragmentOf, pointerBelow } from "./pointer.ts";
import { referenceOf, type Target } from "./references.ts";
import { SchemaMisfit } from "./relaxations.ts";
import { splitTypes } from "./split-types.ts";
import { typesOf } from "./types-of.ts";

/**
 * Translates a schema.
 * @returns `false` where no value fits it.
 * @throws InvalidRequestError for what is no JSON Schema, SchemaMisfit for what the dialect has no form for.
 */
export function compileNode(compilation: Compilation, schema: JsonValue, place: Place): JsonObject | false {
  if (isSchemaObject(schema) && isPlainReference(schema)) {
    return compileReference(compilation, schema, place);
  }
  const expanded = expand(compilation, schema, place);
  return expanded && compileExpanded(compilation, expanded);
}

/** Translates a schema in one piece. */
export function compileExpanded(compilation: Compilation, expanded: Expanded): JsonObject | false {
  const { place } = expanded;
  const repeated = repeatedReference(expanded.schema);
  if (repeated !== undefined) return compileRepeated(compilation, repeated, expanded);
  if (unionOf(expanded.schema) !== undefined) return compileUnion(compilation, expanded);
  const schema = closeUnevaluated(expanded.schema) ?? expanded.schema;
  if (literalsIn(schema)?.length === 0) return false;
  const types = typesOf(schema);
  if (types.length === 0 && !compilation.dialect.anyValue) {
    throw new SchemaMisfit(place.pointer, "lets any value pass");
  }
  const split = splitTypes(compilation.dialect, schema, types);
  if (split !== undefined) return compileUnion(compilation, { schema: split, place });
  return compileTyped(compilation, schema, types, place);
}

/** Whether a schema is a reference and says nothing else. */
function isPlainReference(schema: JsonObject): boolean {
  const said = Object.keys(schema).filter((key) => (KEYWORDS.get(key)?.role ?? "identity") !== "identity");
  return said.length === 1 && referenceOf(schema) !== undefined;
}

/**
 * The reference that is left where a schema would begin itself again: it stays one, since it
 * cannot be put into one piece with what is told beside it.
 */
function repeatedReference(schema: JsonObject): JsonObject | undefined {
  const [{ allOf, ...others }] = splitAnnotations(schema);
  const [part, ...more] = (allOf ?? []) as readonly JsonValue[];
  if (Object.keys(others).length > 0 || more.length > 0 || !isSchemaObject(part)) return undefined;
  return isPlainReference(part) ? part : undefined;
}

function compileReference(compilation: Compilation, schema: JsonObject, place: Place): JsonObject | false {
  compilation.count(place);
  const target = lastTarget(compilation, schema, place);
  if (typeof target.schema === "boolean") return compilation.compile(target.schema, place);
  const object = target.schema as JsonObject;
  if (compilation.dialect.references === "none") return inline(compilation, object, target.pointer, place);
  return canRefer(compilation, object, place) ? { $ref: uriOf(compilation, target) } : {};
}

function compileRepeated(
  compilation: Compilation,
  reference: JsonObject,
  { schema, place }: Expanded,
): JsonObject | false {
  if (place.depth === 0) throw endless(compilation, place);
  if (schema.description !== undefined) {
    const message = "stands beside a reference to a schema around it; it was left out";
    compilation.relaxed.note(pointerBelow(place.pointer, "description"), message);
  }
  return compileReference(compilation, reference, place);
}

/** What a reference leads to in the end, where it leads to other references. */
function lastTarget(compilation: Compilation, schema: JsonObject, place: Place): Target {
  const passed = new Set<JsonValue>();
  let target = targetOf(compilation, schema, place);
  while (isSchemaObject(target.schema) && isPlainReference(target.schema)) {
    if (passed.has(target.schema)) throw endless(compilation, place);
    passed.add(target.schema);
    target = targetOf(compilation, target.schema, { ...place, pointer: target.pointer });
  }
  return target;
}

function endless({ field }: Compilation, { pointer }: Place): Error {
  const message = "expected a reference that leads to a schema, found references that lead to themselves";
  return invalidField(fieldAt(field, pointer), message);
}

function inline(
  compilation: Compilation,
  target: JsonObject,
  pointer: string,
  place: Place,
): JsonObject | false {
  if (place.within.includes(target)) {
    compilation.relaxed.lose(place.pointer, "refers to itself; any value is allowed where it begins again");
    return {};
  }
  const within = [...place.within, target];
  return compilation.compile(target, { ...place, pointer, depth: place.depth + 1, within });
}

/** Whether the dialect takes a reference here. One that it does not take lets any value pass instead. */
function canRefer({ dialect, recursion, relaxed }: Compilation, target: JsonObject, place: Place): boolean {
  if (dialect.recursion === "allowed" || !recursion.leadsBack(place.owner, target)) return true;
  if (dialect.recursion === "refused") throw new SchemaMisfit(place.pointer, "refers to itself");
  if (place.optional) return true;
  relaxed.lose(
    place.pointer,
    "refers to itself outside of an optional property; any value is allowed where it begins again",
  );
  return false;
}

function uriOf({ definitions, references }: Compilation, target: Target): string {
  return target.schema === references.root ? fragmentOf("") : `#/$defs/${definitions.nameOf(target)}`;
}
