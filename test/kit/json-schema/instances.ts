import fc from "fast-check";
import { lookUp } from "./validator.ts";

type Schema = Record<string, unknown>;

/**
 * Values for a schema, made by its common keywords, so that most values are valid. The validator decides whether one
 * is.
 */
export function arbitraryInstances(
  schema: unknown,
  root: unknown = schema,
  depth = 0,
): fc.Arbitrary<unknown> {
  const keywords = (typeof schema === "object" && schema !== null ? schema : {}) as Schema;
  if (depth > 6) return fc.constant(null);
  const below = (each: unknown) => arbitraryInstances(each, root, depth + 1);
  if (typeof keywords.$ref === "string") return below(lookUp(root, keywords.$ref));
  const literals = keywords.const === undefined ? keywords.enum : [keywords.const];
  if (Array.isArray(literals)) return fc.constantFrom(...(literals as unknown[]));
  const union = keywords.anyOf ?? keywords.oneOf;
  if (Array.isArray(union)) return fc.oneof(...union.map(below));
  const types = [keywords.type ?? []].flat().map((type) => String(type).toLowerCase());
  if (types.length === 0) return fc.constantFrom(null, 1, "a");
  const made = types.map((type) => instanceOfType(type, keywords, below));
  return fc.oneof(...made, ...(keywords.nullable === true ? [fc.constant(null)] : []));
}

function instanceOfType(type: string, schema: Schema, below: (schema: unknown) => fc.Arbitrary<unknown>) {
  switch (type) {
    case "object":
      return objects(schema, below);
    case "array":
      return lists(schema, below);
    case "string":
      return fc.constantFrom("", "a", "ab", "aab", "2026-01-01", "x:y", "b");
    case "integer":
      return fc.constantFrom(-2, -1, 0, 1, 2, 3, 4);
    case "number":
      return fc.constantFrom(-1, 0, 0.5, 1, 1.5, 2, 3);
    case "boolean":
      return fc.boolean();
    default:
      return fc.constant(null);
  }
}

function objects(schema: Schema, below: (schema: unknown) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Schema).map(([name, each]) => [
    name,
    below(each),
  ]);
  const requiredKeys = ((schema.required ?? []) as string[]).filter((name) =>
    properties.some(([each]) => each === name),
  );
  const made: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(properties);
  return fc.record(made, { requiredKeys, noNullPrototype: true });
}

function lists(schema: Schema, below: (schema: unknown) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const prefix = ((schema.prefixItems ?? []) as unknown[]).map(below);
  const rest = fc.array(schema.items === undefined ? fc.constantFrom(null, "a") : below(schema.items), {
    maxLength: 2,
  });
  return prefix.length === 0
    ? rest
    : fc
        .tuple(fc.tuple(...prefix), rest, fc.nat(prefix.length))
        .map(([first, more, length]) =>
          length < prefix.length ? first.slice(0, length) : [...first, ...more],
        );
}
