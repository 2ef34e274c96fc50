import { invalidField } from "../../core/errors.ts";
import type { LossReport } from "../call/loss-report.ts";
import type { JsonObject } from "../json/json.ts";
import { type Compilation, invalidAt } from "./compilation.ts";
import { CONTRADICTION, compileNode } from "./compile-node.ts";
import { compileRoot } from "./compile-root.ts";
import type { SchemaDialect } from "./dialect.ts";
import { checkLimits, listSubschemas, measureSizes } from "./limits.ts";
import { fieldAt, SchemaChanges, UnsupportedSchemaError } from "./messages.ts";
import { References } from "./references.ts";
import { checkSize, WorkBudget } from "./work-budget.ts";

/**
 * Translates a caller's JSON Schema, of any draft from 7 to 2020-12, into the dialect that a provider supports. Pure:
 * the same schema gives the same result, with its keys in their order and long numbers as they are spelled.
 *
 * A keyword that the dialect lacks is rewritten if that is exact. Otherwise it is moved into the description and
 * reported as lost, under `field#/json/pointer`. Unless something was reported, values that are valid for the result
 * are valid for the schema. Narrowing alone is not reported: objects that do not mention other properties are closed,
 * keywords without a type get a type.
 * @param schema As parsed from text: no two of its places share an object.
 * @param field Path of the schema in the request.
 * @throws InvalidRequestError naming the location of a malformed keyword, of a reference that leads out of the schema,
 *   and of a construct without an equivalent in the dialect, such as arbitrary property names.
 */
export function compileSchema(
  schema: JsonObject,
  dialect: SchemaDialect,
  field: string,
  loss: LossReport,
): JsonObject {
  try {
    const { schema: compiled, changes } = translateSchema(schema, dialect, field);
    const limits = { ...dialect.limits, ...dialect.requestLimits };
    if (dialect.keywords !== "all") checkLimits(measureSizes(compiled), limits);
    changes.reportTo(loss, field);
    return compiled;
  } catch (error) {
    if (!(error instanceof UnsupportedSchemaError)) throw error;
    const message = `${error.message}, which ${dialect.name} does not support`;
    throw invalidField(fieldAt(field, error.pointer), message);
  }
}

/**
 * Translates a schema without checking the dialect's limits. Returns the result and the changes.
 * @throws UnsupportedSchemaError if the dialect has no equivalent; InvalidRequestError as `compileSchema`.
 */
export function translateSchema(schema: JsonObject, dialect: SchemaDialect, field: string) {
  checkSize(schema, field);
  const changes = new SchemaChanges();
  if (dialect.keywords === "all" && dialect.root === "any") return { schema, changes };
  const run: Compilation = {
    dialect,
    field,
    references: new References(schema),
    definitions: new Map(),
    names: new Map(),
    changes,
    budget: new WorkBudget(),
    normalized: new Map(),
    compile: compileNode,
  };
  const location = { run, pointer: "", depth: 0, open: [schema], expanding: [schema] };
  const root = compileRoot(schema, location);
  if (root === false) throw invalidAt(location, CONTRADICTION);
  const $defs = usedDefinitions(root, run);
  return { schema: Object.keys($defs).length === 0 ? root : { ...root, $defs }, changes };
}

/**
 * Returns the definitions that the result refers to. Others are unused if the schema that referred to them was left
 * out.
 */
function usedDefinitions(root: JsonObject, { definitions }: Compilation): JsonObject {
  const unused = new Map([...definitions.values()].map((each) => [`#/$defs/${each.name}`, each]));
  const used: [string, JsonObject][] = [];
  const open = [root];
  for (const schema of open) {
    for (const subschema of listSubschemas(schema)) open.push(subschema);
    const definition = unused.get(String(schema.$ref));
    if (definition === undefined) continue;
    unused.delete(String(schema.$ref));
    used.push([definition.name, definition.schema]);
    open.push(definition.schema);
  }
  return Object.fromEntries(used);
}
