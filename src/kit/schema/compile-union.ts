/** `anyOf` and `oneOf` in the words of the dialect. */
import type { JsonObject, JsonValue } from "../json.ts";
import { type Compilation, type Place, placeBelow } from "./compilation.ts";
import { keeps } from "./dialect.ts";
import { areDisjoint } from "./disjoint.ts";
import { conjoin, type Expanded, expand } from "./expand.ts";
import type { Meeting } from "./intersect.ts";
import { isAssertion, renamed, splitAnnotations, without } from "./keywords.ts";
import { pointerBelow } from "./pointer.ts";
import { distinct } from "./same-json.ts";
import { dropKeyword, writeSchema } from "./write-schema.ts";

/** The keyword by which a schema is a union; undefined where it is none. */
export function unionOf(schema: JsonObject): "anyOf" | "oneOf" | undefined {
  if (schema.anyOf !== undefined) return "anyOf";
  return schema.oneOf === undefined ? undefined : "oneOf";
}

/** Assertions that stay beside a union. All others become part of each branch, which says the same. */
const BESIDE = [
  "allOf",
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "propertyNames",
];

/**
 * Translates a union. What the schema says beside it goes into every branch, since providers
 * disagree on what may stand beside a union.
 * @returns `false` where no value fits.
 */
export function compileUnion(compilation: Compilation, { schema, place }: Expanded): JsonObject | false {
  const key = unionOf(schema) ?? "anyOf";
  const branches = branchesOf(compilation, schema, key, place);
  if (branches === undefined) {
    return compilation.compileExpanded({ schema: dropKeyword(compilation, schema, key, place), place });
  }
  const outer = outside(schema, key);
  const single = joinSingle(compilation, without(outer, key), branches, place);
  if (single) return compilation.compileExpanded(single);
  const name = nameOf(compilation, key, branches, place);
  const compiled = branches
    .map((branch) => compilation.compile(branch.schema, branch.place))
    .filter((branch) => branch !== false);
  return writeUnion(compilation, renamed(outer, key, name), name, compiled, place);
}

/** A branch with what stands beside the union. */
interface Branch {
  readonly schema: JsonValue;
  readonly place: Place;
}

/**
 * The branches that values can fit.
 * @returns undefined where a branch and what stands beside the union make no single schema.
 */
export function branchesOf(
  compilation: Compilation,
  schema: JsonObject,
  key: string,
  place: Place,
): readonly Branch[] | undefined {
  const [said] = splitAnnotations(schema);
  const base = without(said, key, ...BESIDE);
  const branches: Branch[] = [];
  for (const [index, branch] of (schema[key] as readonly JsonValue[]).entries()) {
    const joined = joinBase(compilation, base, branch, placeBelow(place, key, index));
    if (joined === undefined) return undefined;
    if (joined !== false) branches.push(joined);
  }
  return branches;
}

/** A branch that has nothing beside it stays as it is, references included. */
function joinBase(
  compilation: Compilation,
  base: JsonObject,
  branch: JsonValue,
  place: Place,
): Meeting<Branch> {
  if (branch === false) return false;
  if (Object.keys(base).length === 0) return { schema: branch, place };
  const expanded = expand(compilation, branch, place);
  return expanded && conjoin(compilation, { schema: base, place }, expanded);
}

/** A union of one schema is that schema, with what is told beside it. */
function joinSingle(
  compilation: Compilation,
  outer: JsonObject,
  branches: readonly Branch[],
  place: Place,
): Expanded | undefined {
  const [branch, ...others] = branches;
  if (branch === undefined || others.length > 0) return undefined;
  const expanded = expand(compilation, branch.schema, branch.place);
  return (expanded && conjoin(compilation, { schema: outer, place }, expanded)) || undefined;
}

/** What stands outside of the branches, the union included, in the order of the schema. */
export function outside(schema: JsonObject, key: string): JsonObject {
  const [said] = splitAnnotations(schema);
  return without(schema, ...Object.keys(without(said, key, ...BESIDE)));
}

/** `oneOf` is `anyOf` where its branches share no value; where they might, that is told. */
function nameOf(compilation: Compilation, key: string, branches: readonly Branch[], place: Place): string {
  const { dialect, relaxed } = compilation;
  if (key !== "oneOf" || keeps(dialect, key)) return key;
  const expanded = branches.flatMap((branch) => expand(compilation, branch.schema, branch.place) || []);
  if (!areDisjoint(compilation, expanded)) {
    const message = `is no part of ${dialect.name}; as \`anyOf\` it also lets pass what fits several of its schemas`;
    relaxed.lose(pointerBelow(place.pointer, key), message);
  }
  return "anyOf";
}

/** @returns `false` where there is no branch. */
function writeUnion(
  compilation: Compilation,
  outer: JsonObject,
  name: string,
  compiled: readonly JsonObject[],
  place: Place,
): JsonObject | false {
  const free = compiled.find((branch) => !Object.keys(branch).some(isAssertion));
  const nullable = keeps(compilation.dialect, "nullable") && compiled.some(isNull) && !compiled.every(isNull);
  const branches = distinct(nullable ? compiled.filter((branch) => !isNull(branch)) : compiled);
  const [single = free, ...others] = free === undefined ? branches : [];
  if (single === undefined) return false;
  if (others.length > 0 || single.$ref !== undefined) {
    const written = writeSchema(compilation, outer, [], place, { [name]: branches });
    return nullable ? { ...written, nullable: true } : written;
  }
  const written = { ...single, ...writeSchema(compilation, without(outer, name), [], place, {}) };
  return nullable && free === undefined ? { ...without(written, "nullable"), nullable: true } : written;
}

function isNull({ type }: JsonObject): boolean {
  return String(type).toLowerCase() === "null";
}
