import { isSchemaObject } from "./keywords.ts";

/**
 * A text that two JSON values share exactly when they are the same value: the order of keys does
 * not matter, the spelling of a long number does.
 */
export function identityOf(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => (isSchemaObject(each) ? sorted(each) : each));
}

/** Whether two JSON values are the same. */
export function sameJson(left: unknown, right: unknown): boolean {
  return left === right || identityOf(left) === identityOf(right);
}

/** The values without repetitions, in their order. */
export function distinct<Value>(values: readonly Value[]): Value[] {
  return [...new Map(values.map((value) => [identityOf(value), value])).values()];
}

function sorted(object: object): object {
  return Object.fromEntries(Object.entries(object).sort(([left], [right]) => (left < right ? -1 : 1)));
}
