/** Intersecting what two schemas say of the members of objects and lists. */
import type { JsonObject, JsonValue } from "../json/json.ts";
import type { Meet, Meeting } from "./intersect.ts";
import { sameJson } from "./same-json.ts";

/** `properties`, `patternProperties` and `additionalProperties` of both. */
export function intersectProperties(left: JsonObject, right: JsonObject, meet: Meet): Meeting<JsonObject> {
  if (left.patternProperties === undefined && right.patternProperties === undefined) {
    return intersectNamed(left, right, meet);
  }
  // A schema that forbids other names would forbid those of the other one's patterns.
  if (!isOpen(left) || !isOpen(right)) return undefined;
  const [patterns, others] = [mapOf(left.patternProperties), mapOf(right.patternProperties)];
  const differs = Object.keys(others).some(
    (pattern) => Object.hasOwn(patterns, pattern) && !sameJson(patterns[pattern], others[pattern]),
  );
  const named = intersectNamed(left, right, meet);
  if (differs || named === false || named === undefined) return undefined;
  return { ...named, patternProperties: { ...patterns, ...others } };
}

/** `properties` and `additionalProperties`: what one does not name falls under the other's rule for the rest. */
function intersectNamed(left: JsonObject, right: JsonObject, meet: Meet): Meeting<JsonObject> {
  const [named, others] = [mapOf(left.properties), mapOf(right.properties)];
  const properties: [string, JsonValue][] = [];
  for (const name of new Set([...Object.keys(named), ...Object.keys(others)])) {
    const one = Object.hasOwn(named, name) ? named[name] : left.additionalProperties;
    const other = Object.hasOwn(others, name) ? others[name] : right.additionalProperties;
    const both = meet(one ?? true, other ?? true, "properties", name);
    if (both === undefined) return undefined;
    properties.push([name, both]);
  }
  const rest = meet(
    left.additionalProperties ?? true,
    right.additionalProperties ?? true,
    "additionalProperties",
  );
  if (rest === undefined) return undefined;
  return {
    ...(left.properties === undefined && right.properties === undefined
      ? {}
      : { properties: Object.fromEntries(properties) }),
    ...(left.additionalProperties === undefined && right.additionalProperties === undefined
      ? {}
      : { additionalProperties: rest }),
  };
}

function isOpen({ additionalProperties }: JsonObject): boolean {
  return additionalProperties === undefined || additionalProperties === true;
}

/** `prefixItems` and `items`: item by item, then the rest. */
export function intersectItems(left: JsonObject, right: JsonObject, meet: Meet): Meeting<JsonObject> {
  const [first, second] = [listOf(left.prefixItems), listOf(right.prefixItems)];
  const prefix: JsonValue[] = [];
  for (let index = 0; index < Math.max(first.length, second.length); index += 1) {
    const one = first[index] ?? left.items ?? true;
    const other = second[index] ?? right.items ?? true;
    const both = meet(one, other, "prefixItems", index);
    if (both === undefined) return undefined;
    prefix.push(both);
  }
  const rest = meet(left.items ?? true, right.items ?? true, "items");
  if (rest === undefined) return undefined;
  return {
    ...(prefix.length === 0 ? {} : { prefixItems: prefix }),
    ...(left.items === undefined && right.items === undefined ? {} : { items: rest }),
  };
}

function mapOf(value: JsonValue | undefined): JsonObject {
  return (value ?? {}) as JsonObject;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return (value ?? []) as readonly JsonValue[];
}
