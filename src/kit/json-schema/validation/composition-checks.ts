/** Checks by other schemas that apply to the same value. */
import { isObject, type JsonValue } from "../../json/json.ts";
import { getReference } from "../references.ts";
import { listEntries, toList } from "../values.ts";
import type { CheckMaker, KeywordContext } from "./keyword-context.ts";
import {
  type Check,
  type Finding,
  getKind,
  type InstanceLocation,
  type SchemaNode,
  type Validation,
} from "./validation.ts";

/** The checks by other schemas. */
export const COMPOSITION_CHECKS: readonly CheckMaker[] = [
  checkReference,
  checkAllOf,
  checkAnyOf,
  checkOneOf,
  checkNot,
  checkCondition,
  checkDependentSchemas,
];

function checkReference({ schema, toTarget }: KeywordContext): Check | undefined {
  if (getReference(schema) === undefined) return undefined;
  const node = toTarget();
  return (value, location, run) => void run.apply(node, value, location);
}

function checkAllOf({ schema, sameValue }: KeywordContext): Check | undefined {
  const nodes = toList(schema.allOf).map((_, index) => sameValue("allOf", index));
  if (nodes.length === 0) return undefined;
  return (value, location, run) => {
    for (const node of nodes) run.apply(node, value, location);
  };
}

function checkAnyOf({ schema, sameValue }: KeywordContext): Check | undefined {
  const nodes = toList(schema.anyOf).map((_, index) => sameValue("anyOf", index));
  if (nodes.length === 0) return undefined;
  return (value, location, run) => {
    const found = testAll(nodes, value, location, run);
    if (found.every((findings) => findings.length > 0)) reportClosest(found, value, location, run);
  };
}

function checkOneOf({ schema, sameValue }: KeywordContext): Check | undefined {
  const nodes = toList(schema.oneOf).map((_, index) => sameValue("oneOf", index));
  if (nodes.length === 0) return undefined;
  return (value, location, run) => {
    const found = testAll(nodes, value, location, run);
    const valid = found.filter((findings) => findings.length === 0).length;
    if (valid === 0) reportClosest(found, value, location, run);
    if (valid > 1) {
      const message = `expected a value that matches exactly one of ${nodes.length} alternatives, found one that matches ${valid}`;
      run.report(location, message);
    }
  };
}

function testAll(
  nodes: readonly SchemaNode[],
  value: JsonValue,
  location: InstanceLocation,
  run: Validation,
) {
  return nodes.map((node) => run.test(node, value, location));
}

/**
 * Reports that no alternative accepts a value. If only one alternative is meant for the value's type, and for the
 * literal values of the members that distinguish alternatives, the findings of that alternative are more useful than
 * the number of alternatives.
 */
function reportClosest(
  found: readonly (readonly Finding[])[],
  value: JsonValue,
  location: InstanceLocation,
  run: Validation,
) {
  const types = found.flatMap(
    (each) => each.find((finding) => finding.location === location && finding.types)?.types ?? [],
  );
  if (types.length === found.length) {
    const names = [...new Set(types)].join(" or ");
    return run.add({ location, message: `expected ${names}, found ${getKind(value)}`, types: names });
  }
  const ofType = found.filter(
    (each) => !each.some((finding) => finding.location === location && finding.types),
  );
  const alike = ofType.filter(
    (each) => !each.some((finding) => finding.isUnlisted && finding.location.parent === location),
  );
  const closest = [alike, ofType].find((each) => each.length === 1)?.[0];
  const message = `expected a value that matches one of ${found.length} alternatives, found ${getKind(value)} that matches none`;
  for (const finding of closest ?? [{ location, message }]) run.add(finding);
}

function checkNot({ schema, sameValue }: KeywordContext): Check | undefined {
  if (schema.not === undefined) return undefined;
  const node = sameValue("not");
  return (value, location, run) => {
    if (run.accepts(node, value))
      run.report(location, 'expected a value that the schema of "not" does not accept');
  };
}

function checkCondition({ schema, sameValue }: KeywordContext): Check | undefined {
  if (schema.if === undefined) return undefined;
  const condition = sameValue("if");
  const then = schema.then === undefined ? undefined : sameValue("then");
  const otherwise = schema.else === undefined ? undefined : sameValue("else");
  return (value, location, run) => {
    const branch = run.test(condition, value, location).length === 0 ? then : otherwise;
    if (branch !== undefined) run.apply(branch, value, location);
  };
}

function checkDependentSchemas({ schema, sameValue }: KeywordContext): Check | undefined {
  const dependents = ["dependentSchemas", "dependencies"].flatMap((key) =>
    listEntries(schema[key])
      .filter(([, each]) => !Array.isArray(each))
      .map(([name]) => [name, sameValue(key, name)] as const),
  );
  if (dependents.length === 0) return undefined;
  return (value, location, run) => {
    if (!isObject(value)) return;
    run.spend(dependents.length);
    for (const [name, node] of dependents) if (Object.hasOwn(value, name)) run.apply(node, value, location);
  };
}
