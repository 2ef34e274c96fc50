/** Checks of arrays and their items. */
import { toList } from "../values.ts";
import type { CheckMaker, KeywordContext } from "./keyword-context.ts";
import type { Check } from "./validation.ts";
import { checkCounts, describeCount } from "./value-checks.ts";

/** The checks of arrays, except of unevaluated items. */
export const ARRAY_CHECKS: readonly CheckMaker[] = [
  checkItemCount,
  checkUniqueItems,
  checkItems,
  checkContains,
];

function checkItemCount({ schema }: KeywordContext): Check | undefined {
  const { least, most } = checkCounts(schema, "Items");
  if (least === 0 && most === Infinity) return undefined;
  return (value, location, run) => {
    if (!Array.isArray(value)) return;
    const problem = describeCount(value.length, least, most, "item");
    if (problem !== undefined) run.report(location, problem);
  };
}

function checkUniqueItems({ schema }: KeywordContext): Check | undefined {
  if (schema.uniqueItems !== true) return undefined;
  return (value, location, run) => {
    const items = new Map<string, number>();
    for (const [index, item] of toList(value).entries()) {
      const identity = run.toIdentity(item);
      const first = items.get(identity);
      if (first === undefined) items.set(identity, index);
      else
        run.report(
          { parent: location, token: index },
          `expected unique items, found the same as at index ${first}`,
        );
    }
  };
}

function checkItems({ schema, getNode }: KeywordContext): Check | undefined {
  const isDraft7 = Array.isArray(schema.items);
  const prefixKey = isDraft7 ? "items" : "prefixItems";
  const restKey = isDraft7 ? "additionalItems" : "items";
  const prefix = toList(schema[prefixKey]).map((_, index) => getNode(prefixKey, index));
  const rest = schema[restKey] === undefined ? undefined : getNode(restKey);
  if (prefix.length === 0 && rest === undefined) return undefined;
  return (value, location, run) => {
    if (!Array.isArray(value)) return;
    for (const [index, item] of toList(value).entries()) {
      const node = prefix[index] ?? rest;
      if (node === undefined) break;
      run.applyBelow(node, item, location, index);
      run.evaluated?.items.add(index);
    }
  };
}

function checkContains({ schema, getNode }: KeywordContext): Check | undefined {
  if (schema.contains === undefined) return undefined;
  const node = getNode("contains");
  const { most } = checkCounts(schema, "Contains");
  const least = schema.minContains === undefined ? 1 : Number(schema.minContains);
  return (value, location, run) => {
    if (!Array.isArray(value)) return;
    const matching = [...toList(value).entries()].filter(([, item]) => run.accepts(node, item));
    for (const [index] of matching) run.evaluated?.items.add(index);
    const problem = describeCount(matching.length, least, most, "item");
    if (problem !== undefined) run.report(location, `${problem} that the schema of "contains" accepts`);
  };
}

/** Returns the check of `unevaluatedItems`. It comes after all others of its schema. */
export function checkUnevaluatedItems({ schema, getNode }: KeywordContext): Check | undefined {
  if (schema.unevaluatedItems === undefined) return undefined;
  const node = getNode("unevaluatedItems");
  return (value, location, run) => {
    if (!Array.isArray(value)) return;
    for (const [index, item] of toList(value).entries()) {
      if (run.evaluated?.items.has(index)) continue;
      run.applyBelow(node, item, location, index);
      run.evaluated?.items.add(index);
    }
  };
}
