/** Translates the root of a schema, for which some APIs of providers have additional rules. */
import { type JsonObject, type JsonValue, without } from "../json/json.ts";
import { invalidAt, type LocatedSchema, type SchemaLocation } from "./compilation.ts";
import { compileExpanded, getUnion, splitUnion } from "./compile-node.ts";
import { expand } from "./expand.ts";
import { KEYWORDS } from "./keywords.ts";
import { shown } from "./messages.ts";
import { getReference } from "./references.ts";
import { distinct, getTypes, listEntries, toList } from "./values.ts";
import { describe } from "./write-schema.ts";

/** Keywords that no provider accepts at the root of a tool's parameters. */
const REFUSED = ["allOf", "anyOf", "oneOf", "not", "enum", "const"];

/**
 * Translates the root; `false` if it accepts no value.
 * @throws InvalidRequestError if it is not an object and the dialect requires one.
 */
export function compileRoot(source: JsonObject, location: SchemaLocation): JsonObject | false {
  const { dialect } = location.run;
  const isShown = dialect.keywords === "all";
  const isComposed = getReference(source) !== undefined || REFUSED.some((key) => key in source);
  if (isShown && source.type === "object" && !isComposed) return source;
  const expanded = expand({ schema: source, location });
  if (expanded === false || dialect.root === "any") return expanded && compileExpanded(expanded);
  const root = toObjectRoot(expanded);
  if (root !== undefined) return isShown ? shownRoot(source, root) : compileExpanded(root);
  throw invalidAt(location, `expected a JSON Schema whose root has "type": "object", found ${shown(source)}`);
}

/** Moves refused keywords into the description; everything else stays unchanged. */
function shownRoot(source: JsonObject, { schema, location }: LocatedSchema<JsonObject>): JsonObject {
  const identities = listEntries(source).filter(([key]) => KEYWORDS.get(key)?.role === "identity");
  const kept = { type: "object", ...without(schema, "type", ...REFUSED), ...Object.fromEntries(identities) };
  return withDescription(kept, schema, REFUSED, location);
}

/** Adds a mention of some keywords of another schema to a schema's description. */
function withDescription(
  schema: JsonObject,
  from: JsonObject,
  keys: readonly string[],
  location: SchemaLocation,
) {
  const unsupported = listEntries(from).filter(([key]) => keys.includes(key));
  const description = describe(from, unsupported, location);
  return description === undefined ? schema : { ...schema, description };
}

/**
 * Returns the root as one object; undefined if it is none. A union becomes one object that accepts whatever its
 * branches accept.
 */
function toObjectRoot({
  schema,
  location,
}: LocatedSchema<JsonObject>): LocatedSchema<JsonObject> | undefined {
  const key = getUnion(schema);
  if (key === undefined) {
    const isObject = getTypes(schema).includes("object");
    return isObject ? { schema: { ...schema, type: ["object"] }, location } : undefined;
  }
  const { branches, beside } = splitUnion(schema, location);
  const objects = branches
    .flatMap((branch) => expand(branch) || [])
    .flatMap((each) => toObjectRoot(each) ?? []);
  if (objects.length === 0) return undefined;
  const expanding = [...new Set(objects.flatMap((object) => object.location.expanding))];
  const joined = { ...beside, ...joinObjects(objects.map((object) => object.schema)) };
  return { schema: withDescription(joined, schema, [key], location), location: { ...location, expanding } };
}

/**
 * Returns one object that accepts the values of all given schemas, and more: it requires only the properties that every
 * schema requires.
 */
function joinObjects(schemas: readonly JsonObject[]): JsonObject {
  const properties = new Map<string, JsonValue[]>();
  for (const [name, property] of schemas.flatMap((schema) => listEntries(schema.properties))) {
    const found = properties.get(name);
    if (found === undefined) properties.set(name, [property]);
    else found.push(property);
  }
  const all = [...properties].map(([name, each]) => {
    const [only, ...others] = distinct(each);
    return [name, others.length === 0 ? only : { anyOf: [only, ...others] }];
  });
  const [first = [], ...others] = schemas.map((schema) => toList<string>(schema.required));
  const required = others.map((names) => new Set(names));
  const rules = distinct(schemas.map(({ additionalProperties: others = true }) => others));
  return {
    type: ["object"],
    ...(properties.size > 0 && { properties: Object.fromEntries(all) }),
    required: first.filter((name) => required.every((names) => names.has(name))),
    ...(rules.length === 1 && rules[0] !== true && { additionalProperties: rules[0] }),
  };
}
