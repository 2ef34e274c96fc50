/** Translates the properties of objects and the items of arrays. */
import { isObject, type JsonObject, type JsonValue } from "../json/json.ts";
import { getSubschemaLocation, lose, type SchemaLocation } from "./compilation.ts";
import { keeps } from "./dialect.ts";
import { UnsupportedSchemaError } from "./messages.ts";
import { distinct, listEntries, toList } from "./values.ts";
import { loseKeyword } from "./write-schema.ts";

/**
 * Translates `properties`, `required` and `additionalProperties`; undefined members are left out.
 * @returns `false` if no object is valid.
 * @throws UnsupportedSchemaError for arbitrary property names, if the dialect requires closed objects.
 */
export function compileObject(schema: JsonObject, location: SchemaLocation): JsonObject | false {
  const { objects, requireAll, name: dialect } = location.run.dialect;
  const isOpen = objects === "open";
  const required = new Set(toList<string>(schema.required));
  const declared = declaredProperties(schema);
  const properties = new Map<string, JsonObject>();
  for (const [name, property] of declared) {
    const compiled = compileProperty(property, required, name, location);
    if (compiled !== false) properties.set(name, compiled);
    else if (required.has(name)) return false;
    else if (isOpen && schema.additionalProperties !== false) {
      lose(location, `cannot be forbidden in ${dialect}; it was left out`, "properties", name);
    }
  }
  const isSilent = properties.size === 0 && schema.properties === undefined && isOpen;
  return {
    properties: isSilent ? undefined : Object.fromEntries(properties),
    required: requireAll ? [...properties.keys()] : schema.required && [...required],
    additionalProperties: isOpen
      ? openObject(schema, location)
      : closeObject(schema, declared.size, location),
  };
}

/** Returns the properties, including required ones that are not declared: the rule for all others applies to these. */
function declaredProperties(schema: JsonObject): ReadonlyMap<string, JsonValue> {
  const declared = new Map(listEntries(schema.properties));
  const others = schema.patternProperties === undefined ? (schema.additionalProperties ?? true) : true;
  for (const name of toList<string>(schema.required)) if (!declared.has(name)) declared.set(name, others);
  return declared;
}

/** @param required Names of required properties. One that must be optional in the dialect is removed. */
function compileProperty(schema: JsonValue, required: Set<string>, name: string, location: SchemaLocation) {
  const { dialect, compile } = location.run;
  const isOptional = !required.has(name);
  const property = location.property?.isOptional ? location.property : { isOptional, isRecursive: false };
  const below = { ...getSubschemaLocation(location, "properties", name), property };
  const compiled = compile(schema, below);
  if (compiled !== false && property.isRecursive && !property.isOptional) {
    required.delete(name);
    lose(
      below,
      `refers to itself, which ${dialect.name} accepts only where it is optional; it is optional now`,
    );
  }
  if (compiled === false || !isOptional || !dialect.requireAll || acceptsNull(compiled)) return compiled;
  lose(below, `is not required, which ${dialect.name} does not support; null means that it is absent`);
  return withNull(compiled);
}

/** Unmentioned properties are forbidden without a report: the provider requires this. */
function closeObject(schema: JsonObject, declared: number, location: SchemaLocation): false {
  const { additionalProperties: others, patternProperties: patterns, properties } = schema;
  const isOpen = others !== undefined && others !== false;
  const isSilent = others === undefined && properties === undefined;
  if (declared === 0 && (isOpen || isSilent || patterns !== undefined)) {
    throw new UnsupportedSchemaError(location.pointer, "is an object with arbitrary property names");
  }
  if (isOpen) loseKeyword("additionalProperties", location, "replaced by false");
  return false;
}

/** Patterns of names are not supported: if only names that match a pattern were allowed, all names are allowed now. */
function openObject(
  { additionalProperties: others, patternProperties }: JsonObject,
  location: SchemaLocation,
) {
  const patterns = listEntries(patternProperties).map(([, schema]) => schema);
  const allowed = others === false && patterns.length > 0 ? { anyOf: patterns } : others;
  return isObject(allowed)
    ? location.run.compile(allowed, getSubschemaLocation(location, "additionalProperties"))
    : allowed;
}

/** Reports whether a translated schema itself accepts null. Targets of references are not inspected. */
function acceptsNull({ anyOf, type, enum: values, const: only }: JsonObject): boolean {
  if (anyOf !== undefined) return toList<JsonObject>(anyOf).some(acceptsNull);
  if (values !== undefined) return toList(values).includes(null);
  return only === null || [type].flat().includes("null");
}

/** Returns a translated schema that also accepts null. */
function withNull(schema: JsonObject): JsonObject {
  const { anyOf, type, enum: values, const: only } = schema;
  const isTyped = type !== undefined && values === undefined && only === undefined;
  if (isTyped) return { ...schema, type: [...(Array.isArray(type) ? type : [type]), "null"] };
  if (anyOf !== undefined) return { ...schema, anyOf: [...toList(anyOf), { type: "null" }] };
  return { anyOf: [schema, { type: "null" }] };
}

/** Translates `prefixItems` and `items`; undefined members are left out. */
export function compileArray(schema: JsonObject, location: SchemaLocation): JsonObject {
  const { dialect, compile } = location.run;
  const { items: rest = true } = schema;
  const prefix = toList(schema.prefixItems);
  if (prefix.length > 0 && !keeps(dialect, "prefixItems")) return mixItems(prefix, schema, location);
  const compiled = prefix.map((item, index) =>
    compile(item, getSubschemaLocation(location, "prefixItems", index)),
  );
  const isFree = rest === true && prefix.length > 0;
  const items = isFree ? undefined : compile(rest, getSubschemaLocation(location, "items"));
  const end = [...compiled, items].indexOf(false);
  if (end === -1) return { prefixItems: prefix.length > 0 ? compiled : undefined, items };
  if (end === 0)
    return { prefixItems: undefined, items: { type: "null" }, ...limitItems(0, schema, location) };
  return { prefixItems: compiled.slice(0, end), items: undefined, ...limitItems(end, schema, location) };
}

/** Without `prefixItems` in the dialect, every item may match the schema of any item. */
function mixItems(prefix: readonly JsonValue[], schema: JsonObject, location: SchemaLocation): JsonObject {
  const { dialect, compile } = location.run;
  const { items: rest = true } = schema;
  const different = distinct(isObject(rest) ? [...prefix, rest] : prefix);
  const message = `${dialect.name} has one schema for all items; each item can match any of the item schemas`;
  if (different.length > 1 || rest === true) lose(location, message, "prefixItems");
  const items = compile({ anyOf: different }, getSubschemaLocation(location, "prefixItems"));
  const length = items === false ? 0 : prefix.length;
  const end = items === false || rest === false ? limitItems(length, schema, location) : {};
  return { prefixItems: undefined, items: items || { type: "null" }, ...end };
}

function limitItems(length: number, { maxItems }: JsonObject, location: SchemaLocation): JsonObject {
  if (!keeps(location.run.dialect, "maxItems")) loseKeyword("items", location);
  else return { maxItems: typeof maxItems === "number" ? Math.min(maxItems, length) : length };
  return {};
}
