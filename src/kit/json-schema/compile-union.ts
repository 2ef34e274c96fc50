/** `anyOf` and `oneOf` in the words of the dialect. */
import { type JsonObject, type JsonValue, without } from "../json/json.ts";
import { type Compilation, type Place, placeBelow } from "./compilation.ts";
import { keeps } from "./dialect.ts";
import { areDisjoint } from "./disjoint.ts";
import { conjoin, type Expanded, expand } from "./expand.ts";
import type { Meeting } from "./intersect.ts";
import { BESIDE_UNIONS, isAssertion, renamed, splitAnnotations } from "./keywords.ts";
import { pointerBelow } from "./pointer.ts";
import { dropKeyword, writeSchema } from "./write-schema.ts";

/** The keyword by which a schema is a union; undefined where it is none. */
export function unionOf(schema: JsonObject): "anyOf" | "oneOf" | undefined {
  if (schema.anyOf !== undefined) return "anyOf";
  return schema.oneOf === undefined ? undefined : "oneOf";
}

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
  if (key === "oneOf") checkExclusive(compilation, branches, place);
  const compiled = branches.map((branch) => compilation.compile(branch.schema, branch.place));
  const survivors = branches.filter((_, index) => compiled[index] !== false);
  const left = withoutRepetitions(compiled.filter((branch) => branch !== false));
  const last =
    left.length === 1 && joinSingle(compilation, without(outer, key), survivors.slice(0, 1), place);
  if (last) return compilation.compileExpanded(last);
  return left.length > 0 && writeUnion(compilation, renamed(outer, key, "anyOf"), left, place);
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
  const base = without(said, key, ...BESIDE_UNIONS);
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
  return without(schema, ...Object.keys(without(said, key, ...BESIDE_UNIONS)));
}

/** `oneOf` says what `anyOf` says where its branches share no value; where they might, that is told. */
export function checkExclusive(compilation: Compilation, branches: readonly Branch[], place: Place): void {
  const expanded = branches.flatMap((branch) => expand(compilation, branch.schema, branch.place) || []);
  if (areDisjoint(compilation, expanded)) return;
  const message = `is no part of ${compilation.dialect.name}; as \`anyOf\` it also lets pass what fits several schemas`;
  compilation.relaxed.lose(pointerBelow(place.pointer, "oneOf"), message);
}

function withoutRepetitions(schemas: readonly JsonObject[]): JsonObject[] {
  return [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
}

/** @param outer What stands outside of the branches; `anyOf` marks the place of the union in it. */
function writeUnion(
  compilation: Compilation,
  outer: JsonObject,
  branches: readonly JsonObject[],
  place: Place,
): JsonObject {
  const free = branches.find((branch) => !Object.keys(branch).some(isAssertion));
  const isNullOnly = branches.every(isNull);
  const nullable = keeps(compilation.dialect, "nullable") && branches.some(isNull) && !isNullOnly;
  const others = nullable ? branches.filter((branch) => !isNull(branch)) : branches;
  const alone = free ?? (others.length === 1 || isNullOnly ? others[0] : undefined);
  const written =
    alone === undefined
      ? writeSchema(compilation, outer, [], place, { anyOf: others })
      : { ...alone, ...writeSchema(compilation, without(outer, "anyOf"), [], place, {}) };
  const isNullable = (nullable && free === undefined) || written.nullable === true;
  return isNullable ? { ...without(written, "nullable"), nullable: true } : written;
}

function isNull({ type }: JsonObject): boolean {
  return String(type).toLowerCase() === "null";
}
