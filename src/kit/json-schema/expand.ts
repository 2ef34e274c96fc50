/** A schema with what it refers to and what its `allOf` adds: one conjunction, as far as that is exact. */
import { invalidField } from "../../core/errors.ts";
import { type JsonObject, type JsonValue, without } from "../json/json.ts";
import { type Compilation, type Place, placeBelow } from "./compilation.ts";
import { intersect, type Meeting } from "./intersect.ts";
import { normalize } from "./normalize.ts";
import { fieldAt, fragmentOf } from "./pointer.ts";
import { quote } from "./quote.ts";
import { referenceOf, type Target } from "./references.ts";

/** A schema in one piece. */
export interface Expanded {
  /**
   * In normal form and without a reference. `allOf` holds only what could not be merged.
   * Subschemas are as they were, or in one piece too.
   */
  readonly schema: JsonObject;
  /** Where it stands; what references brought in is noted. */
  readonly place: Place;
}

/**
 * Puts a schema into one piece.
 * @returns `false` where no value fits.
 * @throws InvalidRequestError naming a malformed keyword or a reference that leads to nothing.
 */
export function expand(compilation: Compilation, schema: JsonValue, place: Place): Expanded | false {
  compilation.count(place);
  if (typeof schema === "boolean") return schema && { schema: {}, place };
  const raw = schema as JsonObject;
  const normal = normalize(compilation, raw, place);
  const parts = [...referredPart(compilation, raw, place), ...partsOf(normal, place)];
  let whole: Expanded | false = { schema: without(normal, "$ref", "allOf"), place };
  for (const part of parts) whole = whole && addPart(compilation, whole, part);
  return whole;
}

/**
 * Intersects two schemas in one piece. The left one's `unevaluatedProperties` see the right one.
 * @returns `false` where no value fits both, undefined where one schema cannot say it.
 */
export function conjoin(compilation: Compilation, left: Expanded, right: Expanded): Meeting<Expanded> {
  const closed = closeUnevaluated(right.schema);
  if (closed === undefined) return undefined;
  const within = [...new Set([...left.place.within, ...right.place.within])];
  const place = { ...left.place, within };
  const schema = intersect(left.schema, closed, (one, other, ...tokens) =>
    meet(compilation, one, other, placeBelow(place, ...tokens)),
  );
  return schema && { schema, place };
}

/** Intersects two subschemas that stand at one place. */
function meet(compilation: Compilation, left: JsonValue, right: JsonValue, place: Place): Meeting<JsonValue> {
  compilation.count(place);
  if (left === true || right === true) return left === true ? right : left;
  if (left === false || right === false) return false;
  if (JSON.stringify(left) === JSON.stringify(right)) return left;
  const one = expand(compilation, left, place);
  const other = expand(compilation, right, place);
  if (one === false || other === false) return false;
  const closed = closeUnevaluated(one.schema);
  const both = closed && conjoin(compilation, { ...one, schema: closed }, other);
  return both === false ? false : both?.schema;
}

/** One schema of a conjunction. */
interface Part {
  /** Undefined where it is what is being followed already: to follow it again would not end. */
  readonly schema: JsonValue | undefined;
  readonly place: Place;
  /** What stands for it where it cannot be merged. */
  readonly source: JsonValue;
}

function partsOf({ allOf }: JsonObject, place: Place): Part[] {
  const schemas = (allOf ?? []) as readonly JsonValue[];
  return schemas.map((schema, index) => ({
    schema,
    place: placeBelow(place, "allOf", index),
    source: schema,
  }));
}

function referredPart(compilation: Compilation, schema: JsonObject, place: Place): Part[] {
  if (referenceOf(schema) === undefined) return [];
  const { schema: target, pointer } = targetOf(compilation, schema, place);
  const source = { $ref: fragmentOf(pointer) };
  if (place.within.some((each) => each === target)) return [{ schema: undefined, place, source }];
  const within = typeof target === "boolean" ? place.within : [...place.within, target as JsonObject];
  return [{ schema: target, place: { ...place, depth: place.depth + 1, within }, source }];
}

/**
 * What the reference of a schema leads to.
 * @throws InvalidRequestError naming a reference that leads out of the document or to nothing.
 */
export function targetOf({ field, references }: Compilation, schema: JsonObject, { pointer }: Place): Target {
  const target = references.resolve(schema);
  if (target !== undefined) return target;
  const found = quote(referenceOf(schema) ?? "");
  throw invalidField(fieldAt(field, pointer), `expected references to a place in the schema, found ${found}`);
}

function addPart(compilation: Compilation, whole: Expanded, part: Part): Expanded | false {
  const unmerged = { ...whole, schema: withUnmerged(whole.schema, part.source) };
  if (part.schema === undefined) return unmerged;
  const expanded = expand(compilation, part.schema, part.place);
  return expanded && (conjoin(compilation, whole, expanded) ?? unmerged);
}

function withUnmerged(schema: JsonObject, part: JsonValue): JsonObject {
  const { allOf, ...rest } = schema;
  return { ...rest, allOf: [...((allOf ?? []) as readonly JsonValue[]), part] };
}

/** Keywords by which a schema lets other schemas see to members of the same value. */
const APPLICATORS = ["allOf", "anyOf", "oneOf", "if", "dependentSchemas"];

/**
 * Gives `unevaluatedProperties` and `unevaluatedItems` their plain names where nothing but the
 * schema itself sees to members, so that they are the same.
 * @returns undefined where that is not so.
 */
export function closeUnevaluated(schema: JsonObject): JsonObject | undefined {
  const { unevaluatedProperties: properties, unevaluatedItems: items, ...rest } = schema;
  if (properties === undefined && items === undefined) return schema;
  const applied = items === undefined ? APPLICATORS : [...APPLICATORS, "contains"];
  if (applied.some((key) => key in schema)) return undefined;
  return {
    ...(properties === undefined ? {} : { additionalProperties: properties }),
    ...(items === undefined ? {} : { items }),
    ...rest,
  };
}
