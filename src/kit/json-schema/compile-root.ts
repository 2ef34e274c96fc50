/** The root of a schema, of which some places of the providers' APIs ask more than of what is below it. */
import { type JsonObject, without } from "../json/json.ts";
import type { Compilation, Place } from "./compilation.ts";
import { branchesOf, checkExclusive, outside, unionOf } from "./compile-union.ts";
import { intoWords } from "./describe.ts";
import { conjoin, type Expanded, expand } from "./expand.ts";
import { joinObjects } from "./join-objects.ts";
import { KEYWORDS } from "./keywords.ts";
import { notAnObject, requireObjectRoot } from "./object-root.ts";
import { pointerBelow } from "./pointer.ts";
import { typesOf } from "./types-of.ts";
import { dropKeyword } from "./write-schema.ts";

/**
 * Translates the root.
 * @returns `false` where no value fits.
 * @throws InvalidRequestError where it is no object and the dialect wants one.
 */
export function compileRoot(compilation: Compilation, source: JsonObject, place: Place): JsonObject | false {
  const { dialect, field } = compilation;
  const isPlain = dialect.keywords === "all";
  if (isPlain && !COMPOSED.some((key) => key in source)) return plainObject(source, field);
  const expanded = expand(compilation, source, place);
  if (expanded === false || dialect.root === "any") return expanded && compilation.compileExpanded(expanded);
  const root = objectOf(compilation, expanded);
  if (root === undefined) throw notAnObject(field, source);
  return isPlain ? plainRoot(compilation, source, root) : compilation.compileExpanded(root);
}

/** Keywords that no provider takes at the root of a tool's parameters. */
const REFUSED = ["allOf", "anyOf", "oneOf", "not", "enum", "const"];

/** Keywords of a root that is put together from parts. */
const COMPOSED = [...REFUSED, "$ref", "$dynamicRef", "$recursiveRef"];

function plainObject(source: JsonObject, field: string): JsonObject {
  requireObjectRoot(source, field);
  return source.type === "object" ? source : { type: "object", ...without(source, "type") };
}

/** What providers refuse at the root is put into words; all else, and what is below, stays as it is. */
function plainRoot(compilation: Compilation, source: JsonObject, { schema, place }: Expanded): JsonObject {
  const refused = Object.keys(schema).filter((key) => REFUSED.includes(key));
  const described = refused.reduce((root, key) => dropKeyword(compilation, root, key, place), schema);
  const identities = Object.entries(source).filter(([key]) => KEYWORDS.get(key)?.role === "identity");
  return { type: "object", ...without(described, "type"), ...Object.fromEntries(identities) };
}

/**
 * The root as one object. A union of objects becomes one that lets pass what each of them does.
 * @returns undefined where it is no object.
 */
function objectOf(compilation: Compilation, { schema, place }: Expanded): Expanded | undefined {
  const key = unionOf(schema);
  if (key !== undefined) return joinUnion(compilation, schema, key, place);
  if (!typesOf(schema).includes("object")) return undefined;
  return { schema: { ...schema, type: ["object"] }, place };
}

function joinUnion(
  compilation: Compilation,
  schema: JsonObject,
  key: "anyOf" | "oneOf",
  place: Place,
): Expanded | undefined {
  const branches = branchesOf(compilation, schema, key, place);
  if (branches === undefined) {
    return objectOf(compilation, { schema: dropKeyword(compilation, schema, key, place), place });
  }
  const outer = outside(schema, key);
  const objects = branches
    .flatMap((branch) => expand(compilation, branch.schema, branch.place) || [])
    .flatMap((branch) => objectOf(compilation, branch) ?? []);
  const [object, ...others] = objects;
  if (object === undefined) return undefined;
  if (others.length === 0) {
    if (key === "oneOf") checkExclusive(compilation, branches, place);
    return conjoin(compilation, { schema: without(outer, key), place }, object) || undefined;
  }
  const within = [...new Set(objects.flatMap((branch) => branch.place.within))];
  const joined = joinObjects(objects.map((branch) => branch.schema));
  return {
    schema: { ...describeUnion(compilation, outer, key, place), ...joined },
    place: { ...place, within },
  };
}

function describeUnion(compilation: Compilation, outer: JsonObject, key: string, place: Place): JsonObject {
  const outcome = "it became one object with the properties of all";
  const message = `${compilation.dialect.name} takes no union at the root; ${outcome}`;
  compilation.relaxed.lose(pointerBelow(place.pointer, key), message);
  return intoWords(outer, key);
}
