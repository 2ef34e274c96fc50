/** Checks of objects and their members. */
import { isObject, type JsonObject, type JsonValue } from "../../json/json.ts";
import { listEntries, toList } from "../values.ts";
import type { CheckMaker, KeywordContext } from "./keyword-context.ts";
import type { Check, InstanceLocation, SchemaNode, Validation } from "./validation.ts";
import { checkCounts, describeCount } from "./value-checks.ts";

/** The checks of objects, except of unevaluated properties: missing members are reported first. */
export const OBJECT_CHECKS: readonly CheckMaker[] = [
  checkPropertyCount,
  checkRequired,
  checkDependentRequired,
  checkPropertyNames,
  checkMembers,
];

function checkPropertyCount({ schema }: KeywordContext): Check | undefined {
  const { least, most } = checkCounts(schema, "Properties");
  if (least === 0 && most === Infinity) return undefined;
  return (value, location, run) => {
    if (!isObject(value)) return;
    const problem = describeCount(Object.keys(value).length, least, most, "property");
    if (problem !== undefined) run.report(location, problem);
  };
}

function checkRequired({ schema }: KeywordContext): Check | undefined {
  const names = toList<string>(schema.required);
  if (names.length === 0) return undefined;
  return (value, location, run) => {
    if (isObject(value)) reportMissing(names, value, location, run);
  };
}

function reportMissing(
  names: readonly string[],
  value: JsonObject,
  location: InstanceLocation,
  run: Validation,
  why = "",
): void {
  run.spend(names.length);
  for (const name of names) {
    if (!Object.hasOwn(value, name))
      run.report(location, `expected the property ${nameShown(name)}${why}, found none`);
  }
}

/** Maximum number of characters of a property's name in a message. */
const MAX_NAME = 60;

function nameShown(name: string): string {
  return JSON.stringify(name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);
}

/** The schemas of an object's members by their names. */
interface MemberSchemas {
  readonly properties: ReadonlyMap<string, SchemaNode>;
  /** By pattern. `test` is undefined if the pattern is not checked. */
  readonly patterns: readonly { readonly node: SchemaNode; readonly test: NameTest | undefined }[];
  readonly others: SchemaNode | undefined;
}

type NameTest = (name: string, run: Validation) => boolean;

function checkMembers(context: KeywordContext): Check | undefined {
  const { schema } = context;
  if (["properties", "patternProperties", "additionalProperties"].every((key) => schema[key] === undefined))
    return undefined;
  const schemas = memberSchemas(context);
  return (value, location, run) => {
    if (!isObject(value)) return;
    for (const [name, member] of listEntries(value)) checkMember(schemas, name, member, location, run);
  };
}

function memberSchemas({ schema, getNode, toPattern }: KeywordContext): MemberSchemas {
  const names = Object.keys(schema.properties ?? {});
  const properties = new Map(names.map((name) => [name, getNode("properties", name)]));
  const patterns = Object.keys(schema.patternProperties ?? {}).map((source) => {
    const pattern = toPattern(source, "patternProperties", source);
    const test =
      pattern && ((name: string, run: Validation) => pattern.test(name, (steps) => run.spend(steps)));
    return { node: getNode("patternProperties", source), test };
  });
  const isClosed = schema.additionalProperties === false;
  const others = schema.additionalProperties === undefined ? undefined : getNode("additionalProperties");
  return { properties, patterns, others: isClosed ? allowOnly(names) : others };
}

/** Maximum number of property names that a message lists. */
const MAX_NAMES = 12;

/** Stands for `additionalProperties: false`, and names the expected properties. */
function allowOnly(names: readonly string[]): SchemaNode {
  const listed = names.slice(0, MAX_NAMES).map(nameShown).join(", ");
  const rest = names.length > MAX_NAMES ? `, and ${names.length - MAX_NAMES} more` : "";
  const expected = names.length === 0 ? "no properties" : `only the properties ${listed}${rest}`;
  const message = `expected ${expected}, found another one`;
  return {
    checks: [(_value, location, run) => run.report(location, message)],
    sameValue: [],
    allowsNull: false,
  };
}

function checkMember(
  { properties, patterns, others }: MemberSchemas,
  name: string,
  member: JsonValue,
  location: InstanceLocation,
  run: Validation,
): void {
  run.spend(1 + patterns.length);
  const declared = properties.get(name);
  let isKnown = declared !== undefined;
  if (declared !== undefined) run.applyBelow(declared, member, location, name);
  for (const { node, test } of patterns) {
    const matches = test?.(name, run) ?? false;
    if (matches) run.applyBelow(node, member, location, name);
    isKnown ||= matches || test === undefined;
  }
  if (!isKnown && others !== undefined) run.applyBelow(others, member, location, name);
  if (isKnown || others !== undefined) run.evaluated?.names.add(name);
}

function checkPropertyNames({ schema, getNode }: KeywordContext): Check | undefined {
  if (schema.propertyNames === undefined) return undefined;
  const node = getNode("propertyNames");
  return (value, location, run) => {
    if (!isObject(value)) return;
    for (const name of Object.keys(value)) {
      if (!run.accepts(node, name))
        run.report(
          { parent: location, token: name },
          'expected a name that the schema of "propertyNames" accepts',
        );
    }
  };
}

function checkDependentRequired({ schema }: KeywordContext): Check | undefined {
  const dependents = [schema.dependentRequired, schema.dependencies].flatMap(listEntries);
  const lists = dependents.filter(([, names]) => Array.isArray(names));
  if (lists.length === 0) return undefined;
  return (value, location, run) => {
    if (!isObject(value)) return;
    run.spend(lists.length);
    for (const [name, names] of lists) {
      const why = ` beside ${nameShown(name)}`;
      if (Object.hasOwn(value, name)) reportMissing(toList<string>(names), value, location, run, why);
    }
  };
}

/** Returns the check of `unevaluatedProperties`. It comes after all others of its schema. */
export function checkUnevaluatedProperties({ schema, getNode }: KeywordContext): Check | undefined {
  if (schema.unevaluatedProperties === undefined) return undefined;
  const node = schema.unevaluatedProperties === false ? allowOnly([]) : getNode("unevaluatedProperties");
  return (value, location, run) => {
    if (!isObject(value)) return;
    for (const [name, member] of listEntries(value)) {
      if (run.evaluated?.names.has(name)) continue;
      run.applyBelow(node, member, location, name);
      run.evaluated?.names.add(name);
    }
  };
}
