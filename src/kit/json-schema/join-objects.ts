import type { JsonObject, JsonValue } from "../json/json.ts";
import { identityOf, sameJson } from "./same-json.ts";

/**
 * One object schema that lets pass what any of several lets pass, and more: it has the properties
 * of all, and requires what all require.
 * @param schemas Object schemas in normal form, at least one.
 */
export function joinObjects(schemas: readonly JsonObject[]): JsonObject {
  const [first] = schemas;
  const others = first?.additionalProperties;
  const agree = schemas.every(({ additionalProperties }) =>
    sameJson(additionalProperties ?? true, others ?? true),
  );
  return {
    type: ["object"],
    properties: joinProperties(schemas),
    required: commonNames(schemas),
    ...(agree && others !== undefined ? { additionalProperties: others } : {}),
  };
}

function joinProperties(schemas: readonly JsonObject[]): JsonObject {
  const joined = new Map<string, Map<string, JsonValue>>();
  for (const { properties } of schemas) {
    for (const [name, schema] of Object.entries((properties ?? {}) as Record<string, JsonValue>)) {
      const found = joined.get(name) ?? new Map<string, JsonValue>();
      joined.set(name, found.set(identityOf(schema), schema));
    }
  }
  return Object.fromEntries(
    [...joined].map(([name, found]) => {
      const [schema, ...more] = [...found.values()];
      return [name, more.length === 0 ? schema : { anyOf: [...found.values()] }];
    }),
  );
}

function commonNames([first = {}, ...others]: readonly JsonObject[]): string[] {
  const required = others.map(namesIn);
  return [...namesIn(first)].filter((name) => required.every((names) => names.has(name)));
}

function namesIn({ required }: JsonObject): Set<string> {
  return new Set((required ?? []) as readonly string[]);
}
