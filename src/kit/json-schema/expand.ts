/** Merges a schema with its reference and its `allOf`, as far as that is exact. */
import { isObject, type JsonObject, type JsonValue, without } from "../json/json.ts";
import { getSubschemaLocation, invalidAt, type LocatedSchema, type SchemaLocation } from "./compilation.ts";
import { isAssertion, type JsonType, type JsonTypes } from "./keywords.ts";
import { shown } from "./messages.ts";
import { normalize } from "./normalize.ts";
import { getReference, type Target } from "./references.ts";
import { getLiterals, listEntries, statedTypes, toIdentity, toList } from "./values.ts";

/**
 * Expands a schema: the result is in normal form, without a reference, and its `allOf` holds only the schemas that
 * could not be merged. `false` if no value is valid.
 * @throws InvalidRequestError naming a malformed keyword or a reference that leads to nothing.
 */
export function expand({ schema, location }: LocatedSchema): LocatedSchema<JsonObject> | false {
  location.run.budget.countSchema(location);
  if (!isObject(schema)) return schema !== false && { schema: {}, location };
  const { $ref, allOf, ...rest } = normalize(schema, location);
  const parts = toList(allOf).map((part, i) => ({
    schema: part,
    location: getSubschemaLocation(location, "allOf", i),
  }));
  if ($ref === undefined) return mergeAll(rest, parts, location);
  const { schema: target } = toTarget(schema, location);
  // Expanding a target inside itself would be endless.
  if (location.expanding.includes(target)) return mergeAll({ ...rest, allOf: [{ $ref }] }, parts, location);
  location.run.budget.countCopies(target);
  const inside = { ...location, depth: location.depth + 1, expanding: [...location.expanding, target] };
  return mergeAll(rest, [{ schema: target, location: inside }, ...parts], location);
}

/** Merges an expanded schema with others that are not; `false` if no value is valid for all of these. */
function mergeAll(
  base: JsonObject,
  parts: readonly LocatedSchema[],
  location: SchemaLocation,
): LocatedSchema<JsonObject> | false {
  let schema = base;
  const expanding = new Set(location.expanding);
  for (const part of parts) {
    const expanded = expand(part);
    if (expanded === false) return false;
    location.run.budget.countMerge(schema);
    schema = merge(schema, expanded.schema);
    for (const target of expanded.location.expanding) expanding.add(target);
  }
  const isPossible = getLiterals(schema)?.length !== 0 && statedTypes(schema)?.length !== 0;
  return isPossible && { schema, location: { ...location, expanding: [...expanding] } };
}

/**
 * Returns the target of a schema's reference.
 * @throws InvalidRequestError naming a reference that leads out of the document or to nothing.
 */
export function toTarget(schema: JsonObject, location: SchemaLocation): Target {
  const target = location.run.references.resolve(schema);
  if (target !== undefined) return target;
  const message = `expected references to a place in the schema, found ${shown(getReference(schema) ?? "")}`;
  throw invalidAt(location, message);
}

/**
 * Merges two expanded schemas. Of two annotations, the left one is taken; assertions that one
 * schema cannot express together are added to `allOf`. Two subschemas of the same member become
 * an `allOf`, which is merged when that member is translated.
 */
function merge(left: JsonObject, right: JsonObject): JsonObject {
  const merged = new Map(listEntries(left));
  const unmerged: JsonValue[] = [];
  for (const [key, value] of listEntries(right)) {
    const known = merged.get(key);
    // `unevaluatedProperties` would see more properties in the merged schema than in its original one.
    const together = key.startsWith("unevaluated") ? undefined : mergeKeyword(key, known ?? value, value);
    if (together === undefined) unmerged.push({ [key]: value });
    else merged.set(key, together);
  }
  for (const [key, value] of listEntries(mergeMembers(left, right))) merged.set(key, value);
  if (unmerged.length > 0) merged.set("allOf", [...toList(merged.get("allOf")), ...unmerged]);
  return Object.fromEntries(merged);
}

const MEMBERS = ["properties", "additionalProperties", "prefixItems", "items"];

/** Merges the values of a keyword in two schemas; undefined if no single value expresses both. */
function mergeKeyword(key: string, left: JsonValue, right: JsonValue): JsonValue | undefined {
  if (!isAssertion(key) || MEMBERS.includes(key) || left === right) return left;
  if (key === "type") return intersectTypes(toList(left), toList(right));
  if (key === "required" || key === "allOf") return [...new Set([...toList(left), ...toList(right)])];
  if (key === "enum") {
    const allowed = new Set(toList(right).map(toIdentity));
    return toList(left).filter((value) => allowed.has(toIdentity(value)));
  }
  if (typeof left === "number" && typeof right === "number") {
    if (/^(min|exclusiveMin)/.test(key)) return Math.max(left, right);
    if (/^(max|exclusiveMax)/.test(key)) return Math.min(left, right);
  }
  return toIdentity(left) === toIdentity(right) ? left : undefined;
}

function intersectTypes(left: JsonTypes, right: JsonTypes): JsonTypes {
  const types = left.flatMap((type): JsonType[] => {
    if (right.includes(type) || (type === "integer" && right.includes("number"))) return [type];
    return type === "number" && right.includes("integer") ? ["integer"] : [];
  });
  return [...new Set(types)];
}

/** Merges keywords about members. A member that a schema does not name falls under its rule for all others. */
function mergeMembers(left: JsonObject, right: JsonObject): JsonObject {
  const names = new Set([left, right].flatMap((each) => Object.keys(each.properties ?? {})));
  const length = Math.max(toList(left.prefixItems).length, toList(right.prefixItems).length);
  const properties = [...names].map((name) => [
    name,
    both(findProperty(left, name), findProperty(right, name)),
  ]);
  const members: JsonObject = {
    properties: Object.fromEntries(properties),
    additionalProperties: both(left.additionalProperties, right.additionalProperties),
    prefixItems: Array.from({ length }, (_, index) => both(toItem(left, index), toItem(right, index))),
    items: both(left.items, right.items),
  };
  return without(members, ...MEMBERS.filter((key) => !(key in left || key in right)));
}

function findProperty({ properties, additionalProperties, patternProperties }: JsonObject, name: string) {
  if (isObject(properties) && Object.hasOwn(properties, name)) return properties[name];
  return patternProperties === undefined ? additionalProperties : true;
}

function toItem({ prefixItems, items }: JsonObject, index: number): JsonValue | undefined {
  return toList(prefixItems)[index] ?? items;
}

/** Returns a schema for values that are valid for both schemas. */
function both(left: JsonValue = true, right: JsonValue = true): JsonValue {
  if (left === false || right === false) return false;
  if (left === true || right === true) return left === true ? right : left;
  const isSame = !(isObject(left) && "allOf" in left) && toIdentity(left) === toIdentity(right);
  return isSame ? left : { allOf: [left, right] };
}
