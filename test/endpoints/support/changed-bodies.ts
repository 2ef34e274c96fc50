/** Bodies in which another value stands at some place. */
import fc from "fast-check";
import { expect } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";

/** A place in a JSON value. */
export type Path = readonly (string | number)[];

/** Names that objects inherit. */
export const INHERITED = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"];

/** Returns the paths of all values in a JSON value, itself included. */
export function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, member]) => pathsIn(member, [...path, key]))];
}

/** Returns a copy of a JSON value with another value at a path. */
export function replaced(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  if (Array.isArray(value)) return value.with(Number(key), replaced(value[Number(key)], rest, by));
  const members = value as Record<string, unknown>;
  return { ...members, [key]: replaced(members[key], rest, by) };
}

/** Expects that a body with anything at any place is read, or refused as invalid, and nothing else. */
export function expectReadOrRefused(whole: object, read: (body: string) => unknown): void {
  const paths = pathsIn(whole);
  const outcomes = new Set<string>();
  const attempt = (body: unknown) => {
    try {
      read(JSON.stringify(body));
      outcomes.add("read");
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(InvalidRequestError);
      outcomes.add("refused");
    }
  };
  for (const path of paths)
    for (const name of INHERITED)
      for (const value of [name, JSON.parse(`{"${name}":{"a":1}}`), [name]])
        attempt(replaced(whole, path, value));
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.jsonValue(), (path, value) =>
      attempt(replaced(whole, path, value)),
    ),
    { numRuns: 1000 },
  );
  expect(outcomes).toEqual(new Set(["read", "refused"]));
}
