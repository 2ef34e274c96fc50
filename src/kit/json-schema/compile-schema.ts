import { invalidField } from "../../core/errors.ts";
import type { LossReport } from "../adapter/loss-report.ts";
import type { JsonObject } from "../json/json.ts";
import { type Compilation, type Place, schemaCounter } from "./compilation.ts";
import { compileExpanded, compileNode } from "./compile-node.ts";
import { compileRoot } from "./compile-root.ts";
import { Definitions } from "./definitions.ts";
import type { SchemaDialect } from "./dialect.ts";
import { checkLimits, schemasIn, sizesOf } from "./limits.ts";
import { fieldAt } from "./pointer.ts";
import { Recursion } from "./recursion.ts";
import { References } from "./references.ts";
import { Relaxations, SchemaMisfit } from "./relaxations.ts";
import { checkSize } from "./size.ts";

/**
 * Translates a caller's JSON Schema, of any draft from 7 to 2020-12, into the dialect that a
 * provider takes. Pure: the same schema gives the same result, with its keys in their order and
 * long numbers as they are spelled; the schema itself is not changed.
 *
 * What the dialect has no word for is rewritten where that is exact. Else it is moved into the
 * description and reported as lost, under `field#/json/pointer`. Values that fit the result fit
 * the schema, unless something was reported. Narrowing alone is not reported: an object whose
 * schema is silent about further properties is closed, keywords without a type get theirs.
 * @param schema As parsed from text: no two places of it are the same object.
 * @param field Path of the schema in the request.
 * @throws InvalidRequestError naming the field and place of what is no JSON Schema, of a reference
 * that leads out of it, and of what the dialect has no form for, such as a limit or free property names.
 */
export function compileSchema(
  schema: JsonObject,
  dialect: SchemaDialect,
  field: string,
  loss: LossReport,
): JsonObject {
  try {
    const { schema: compiled, relaxed } = translateSchema(schema, dialect, field);
    const limits = { ...dialect.limits, ...dialect.requestLimits };
    if (Object.keys(limits).length > 0) checkLimits(sizesOf(compiled), limits);
    relaxed.reportTo(loss, field);
    return compiled;
  } catch (error) {
    if (!(error instanceof SchemaMisfit)) throw error;
    throw invalidField(
      fieldAt(field, error.pointer),
      `${error.message}, which ${dialect.name} does not take`,
    );
  }
}

/** A schema in its dialect, and what was changed. */
export interface Translation {
  readonly schema: JsonObject;
  readonly relaxed: Relaxations;
}

/**
 * Translates a schema without looking at the dialect's limits.
 * @throws SchemaMisfit for what the dialect has no form for; InvalidRequestError as `compileSchema`.
 */
export function translateSchema(schema: JsonObject, dialect: SchemaDialect, field: string): Translation {
  checkSize(schema, field);
  const relaxed = new Relaxations();
  if (dialect.keywords === "all" && dialect.root === "any") return { schema, relaxed };
  const compilation = start(schema, dialect, field, relaxed);
  const root = compileRoot(compilation, schema, placeOf(schema, ""));
  if (root === false) throw unsatisfiable(field, "");
  return { schema: withDefinitions(root, schema, compileDefinitions(compilation, root)), relaxed };
}

function start(schema: JsonObject, dialect: SchemaDialect, field: string, relaxed: Relaxations): Compilation {
  const references = new References(schema);
  const compilation: Compilation = {
    dialect,
    field,
    references,
    recursion: new Recursion(schema, references),
    definitions: new Definitions(schema),
    relaxed,
    count: schemaCounter(),
    compile: (each, place) => compileNode(compilation, each, place),
    compileExpanded: (expanded) => compileExpanded(compilation, expanded),
  };
  return compilation;
}

/** The place of the root, or of a definition, where references begin to be followed anew. */
function placeOf(owner: JsonObject, pointer: string): Place {
  return { pointer, depth: 0, within: [owner], owner, optional: false };
}

/** Everything that the result refers to; definitions that nothing refers to are left out. */
function compileDefinitions(compilation: Compilation, root: JsonObject): JsonObject {
  const compiled = new Map<string, JsonObject>();
  for (const { name, schema, pointer } of compilation.definitions) {
    const definition = compileNode(compilation, schema, placeOf(schema, pointer));
    if (definition === false) throw unsatisfiable(compilation.field, pointer);
    compiled.set(name, definition);
  }
  const names = compilation.definitions.inOrder(namesFrom(root, compiled));
  return Object.fromEntries(names.map((name) => [name, compiled.get(name)]));
}

/** The definitions that a result refers to, by way of others too. */
function namesFrom(root: JsonObject, definitions: ReadonlyMap<string, JsonObject>): ReadonlySet<string> {
  const names = new Set<string>();
  const open = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    open.push(...schemasIn(next));
    const name = typeof next.$ref === "string" ? next.$ref.slice("#/$defs/".length) : "";
    const definition = names.has(name) ? undefined : definitions.get(name);
    if (definition === undefined) continue;
    names.add(name);
    open.push(definition);
  }
  return names;
}

function unsatisfiable(field: string, pointer: string): Error {
  return invalidField(
    fieldAt(field, pointer),
    "expected a schema that some value fits, found a contradiction",
  );
}

/** Puts the definitions where the source has its own, at the end where it has none. */
function withDefinitions(root: JsonObject, source: JsonObject, definitions: JsonObject): JsonObject {
  if (Object.keys(definitions).length === 0) return root;
  const keys = Object.keys(source);
  const at = keys.findIndex((key) => key === "$defs" || key === "definitions");
  const before = new Set(at === -1 ? Object.keys(root) : keys.slice(0, at));
  const entries = Object.entries(root);
  const place = entries.findLastIndex(([key]) => before.has(key)) + 1;
  return Object.fromEntries([...entries.slice(0, place), ["$defs", definitions], ...entries.slice(place)]);
}
