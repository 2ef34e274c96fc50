/** The values that fit two schemas, as one schema. */
import type { JsonObject, JsonValue } from "../json/json.ts";
import { intersectItems, intersectProperties } from "./intersect-children.ts";
import { isAssertion, type JsonType } from "./keywords.ts";
import { identityOf, sameJson } from "./same-json.ts";

/**
 * What two schemas make together. `false`: no value fits both. `undefined`: no single schema
 * says exactly that, or none that can be told.
 */
export type Meeting<Value> = Value | false | undefined;

/** Intersects two subschemas; `tokens` lead to their place. */
export type Meet = (left: JsonValue, right: JsonValue, ...tokens: (string | number)[]) => Meeting<JsonValue>;

/**
 * Intersects two schemas in normal form without references. Where both tell something of the
 * values, a description for instance, the left one is heard. `unevaluatedProperties` and
 * `unevaluatedItems` of the left one see the right one too, as those of a schema see its `allOf`;
 * the right one has none.
 */
export function intersect(left: JsonObject, right: JsonObject, meet: Meet): Meeting<JsonObject> {
  const merged = new Map<string, JsonValue | undefined>(Object.entries(left));
  for (const [key, value] of Object.entries(right)) if (!merged.has(key)) merged.set(key, value);
  for (const { keys, merge } of RULES) {
    if (!keys.some((key) => key in left) || !keys.some((key) => key in right)) continue;
    const together = merge(left, right, meet);
    if (together === false || together === undefined) return together;
    for (const key of keys) if (!(key in together)) merged.delete(key);
    for (const [key, value] of Object.entries(together)) merged.set(key, value);
  }
  const conflict = Object.keys(right).some((key) => conflicts(key, left, right));
  return conflict ? undefined : Object.fromEntries(merged);
}

/** What becomes of keywords that mean something only together, where both schemas have some of them. */
interface Rule {
  readonly keys: readonly string[];
  readonly merge: (left: JsonObject, right: JsonObject, meet: Meet) => Meeting<JsonObject>;
}

const RULES: readonly Rule[] = [
  { keys: ["type"], merge: intersectTypes },
  { keys: ["enum", "const"], merge: intersectLiterals },
  { keys: ["properties", "patternProperties", "additionalProperties"], merge: intersectProperties },
  { keys: ["prefixItems", "items"], merge: intersectItems },
  { keys: ["if", "then", "else"], merge: same("if", "then", "else") },
  { keys: ["contains", "minContains", "maxContains"], merge: same("contains", "minContains", "maxContains") },
  ...["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"].map((key) =>
    alone(key, (left, right) => bound(left, right, Math.max)),
  ),
  ...["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"].map((key) =>
    alone(key, (left, right) => bound(left, right, Math.min)),
  ),
  alone("uniqueItems", (left, right) => left === true || right === true),
  alone("required", (left, right) => [...new Set([...listOf(left), ...listOf(right)])]),
  alone("allOf", (left, right) => [...listOf(left), ...listOf(right)]),
];

/** Keywords that the rules do not speak of must agree where both schemas have them. */
function conflicts(key: string, left: JsonObject, right: JsonObject): boolean {
  if (!(key in left) || !isAssertion(key) || RULES.some(({ keys }) => keys.includes(key))) return false;
  return !sameJson(left[key], right[key]);
}

/** A keyword on its own, where both schemas have it. `combine` gives undefined where there is no such value. */
function alone(key: string, combine: (left: JsonValue, right: JsonValue) => JsonValue | undefined): Rule {
  const merge = (left: JsonObject, right: JsonObject): Meeting<JsonObject> => {
    const value = combine(left[key] as JsonValue, right[key] as JsonValue);
    return value === undefined ? undefined : { [key]: value };
  };
  return { keys: [key], merge };
}

/** Keywords that must all agree. */
function same(...keys: readonly string[]): Rule["merge"] {
  const pick = (schema: JsonObject) =>
    Object.fromEntries(Object.entries(schema).filter(([key]) => keys.includes(key)));
  return (left, right) => (sameJson(pick(left), pick(right)) ? pick(left) : undefined);
}

function intersectTypes(left: JsonObject, right: JsonObject): Meeting<JsonObject> {
  const others = typesIn(right);
  const types = typesIn(left).flatMap((type): JsonType[] => {
    if (others.includes(type) || (type === "integer" && others.includes("number"))) return [type];
    return type === "number" && others.includes("integer") ? ["integer"] : [];
  });
  return types.length === 0 ? false : { type: [...new Set(types)] };
}

function intersectLiterals(left: JsonObject, right: JsonObject): Meeting<JsonObject> {
  const others = new Set(literalsIn(right)?.map(identityOf));
  const values = (literalsIn(left) ?? []).filter((value) => others.has(identityOf(value)));
  return values.length === 0 ? false : { enum: values };
}

/** The values that `enum` and `const` leave; undefined where the schema has neither. */
export function literalsIn({ enum: values, const: only }: JsonObject): readonly JsonValue[] | undefined {
  if (only === undefined) return values === undefined ? undefined : listOf(values);
  return values === undefined || listOf(values).some((value) => sameJson(value, only)) ? [only] : [];
}

/** Of two bounds the stricter one; undefined where a number is too long to compare. */
function bound(left: JsonValue, right: JsonValue, stricter: typeof Math.max): JsonValue | undefined {
  if (typeof left === "number" && typeof right === "number") return stricter(left, right);
  return sameJson(left, right) ? left : undefined;
}

function typesIn({ type }: JsonObject): readonly JsonType[] {
  return listOf(type) as readonly JsonType[];
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return (value ?? []) as readonly JsonValue[];
}
