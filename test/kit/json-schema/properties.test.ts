import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keeps } from "../../../src/kit/json-schema/dialect.ts";
import * as dialects from "../../../src/providers/schema-dialects.ts";
import { commonSchemas, schemas, strictSchemas } from "./arbitraries.ts";
import { compiled } from "./compiled.ts";
import { arbitraryInstances } from "./instances.ts";
import { accepts, EndlessSchema } from "./validator.ts";

const { PLAIN, TOOL_PARAMETERS, ...TRANSLATED } = dialects;
const KINDS = [
  { kind: "any schema", arbitrary: schemas, leastTried: 1 },
  { kind: "a common schema", arbitrary: commonSchemas, leastTried: 1 },
  { kind: "a schema for strict modes", arbitrary: strictSchemas, leastTried: 30 },
];

/** The same schemas in every run, so that a failure can be reproduced. */
const RUNS = { numRuns: 100, seed: 20261121 };

describe.each(Object.entries(TRANSLATED))("%s", (_name, dialect) => {
  describe.each(KINDS)("given $kind", ({ arbitrary, leastTried }) => {
    it("accepts only values that the schema accepts, unless a change was reported", () => {
      let tried = 0;
      const check = fc.property(arbitrary, fc.gen(), (schema, generate) => {
        const outcome = compiled(schema, dialect);
        if ("refused" in outcome || outcome.reported.length > 0) return;
        const value = generate(() => arbitraryInstances(outcome.schema));
        if (!isValid(outcome.schema, value)) return;
        tried += 1;
        expect({ value, isValid: isValid(schema, value) }).toEqual({ value, isValid: true });
      });
      fc.assert(check, RUNS);
      expect(tried).toBeGreaterThanOrEqual(leastTried);
    });

    it("keeps only keywords of the dialect", () => {
      const check = fc.property(arbitrary, (schema) => {
        const outcome = compiled(schema, dialect);
        if ("refused" in outcome) return;
        for (const each of collectSchemas(outcome.schema)) {
          expect(Object.keys(each).filter((key) => key !== "$defs" && !keeps(dialect, key))).toEqual([]);
          if (dialect.objects === "closed") expect(measureLaxity(each, dialect.requireAll)).toBe("");
        }
      });
      fc.assert(check, RUNS);
    });

    it("has the same result every time, and for the result itself", () => {
      const check = fc.property(arbitrary, (schema) => {
        const source = JSON.stringify(schema);
        const outcome = compiled(schema, dialect);
        expect(compiled(JSON.parse(source), dialect)).toEqual(outcome);
        expect(JSON.stringify(schema)).toBe(source);
        if ("refused" in outcome) return;
        const again = compiled(outcome.schema, dialect);
        expect("schema" in again && JSON.stringify(again.schema)).toBe(JSON.stringify(outcome.schema));
      });
      fc.assert(check, RUNS);
    });
  });

  it("accepts every value of declared, typed properties that the schema accepts", () => {
    let tried = 0;
    const check = fc.property(strictSchemas, fc.gen(), (schema, generate) => {
      const outcome = compiled(schema, dialect);
      if ("refused" in outcome) return;
      const value = generate(() => arbitraryInstances(schema));
      if (!isValid(schema, value)) return;
      tried += 1;
      expect({ value, isValid: isValid(outcome.schema, value) }).toEqual({ value, isValid: true });
    });
    fc.assert(check, RUNS);
    expect(tried).toBeGreaterThanOrEqual(30);
  });
});

/** Whether a value is valid. Also true if a schema refers to itself for the same value, so that nothing is known. */
function isValid(schema: unknown, value: unknown): boolean {
  try {
    return accepts(schema, value);
  } catch (error) {
    if (error instanceof EndlessSchema) return true;
    throw error;
  }
}

/** Keywords whose values are no schemas. */
const DATA = new Set(["enum", "const", "default", "examples"]);

/** A schema and all schemas below it. */
function collectSchemas(schema: unknown): Schema[] {
  if (Array.isArray(schema)) return schema.flatMap(collectSchemas);
  if (typeof schema !== "object" || schema === null) return [];
  const below = Object.entries(schema as Schema).flatMap(([key, value]) => {
    if (DATA.has(key)) return [];
    const isMap = key === "properties" || key === "$defs";
    return isMap ? Object.values(value as Schema).flatMap(collectSchemas) : collectSchemas(value);
  });
  return [schema as Schema, ...below];
}

type Schema = Record<string, unknown>;

/**
 * Returns the reasons why an object schema is not closed or not all of its properties are required. Empty if it is
 * strict.
 */
function measureLaxity({ properties, required, additionalProperties, type }: Schema, all: boolean): string {
  if (![type].flat().includes("object")) return "";
  if (additionalProperties !== false) return "open";
  const names = Object.keys(properties as Schema);
  return all && names.join() !== (required as string[]).join() ? "not all required" : "";
}
