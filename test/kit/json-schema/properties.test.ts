import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keeps } from "../../../src/kit/json-schema/dialect.ts";
import * as dialects from "../../../src/kit/json-schema/dialects.ts";
import { commonSchemas, schemas } from "./arbitraries.ts";
import { compiled } from "./compiled.ts";
import { instancesOf } from "./instances.ts";
import { accepts, EndlessSchema } from "./validator.ts";

const { PLAIN, TOOL_PARAMETERS, ...TRANSLATED } = dialects;
const KINDS = [
  { kind: "any schema", arbitrary: schemas },
  { kind: "a common schema", arbitrary: commonSchemas },
];

/** The same schemas in every run, so that a red build stays red until it is mended. */
const RUNS = { numRuns: 100, seed: 20261121 };

describe.each(Object.entries(TRANSLATED))("%s", (_name, dialect) => {
  describe.each(KINDS)("given $kind", ({ arbitrary }) => {
    it("lets pass only what the schema lets pass, where nothing is told", () => {
      let tried = 0;
      const check = fc.property(arbitrary, fc.gen(), (schema, generate) => {
        const outcome = compiled(schema, dialect);
        if ("refused" in outcome || outcome.told.length > 0) return;
        const sent = dialect.objects === "implied" ? closed(outcome.schema) : outcome.schema;
        const value = generate(() => instancesOf(sent));
        if (!fits(sent, value)) return;
        tried += 1;
        expect({ value, fits: fits(schema, value) }).toEqual({ value, fits: true });
      });
      fc.assert(check, RUNS);
      expect(tried).toBeGreaterThan(0);
    });

    it("has only the words of the dialect", () => {
      const check = fc.property(arbitrary, (schema) => {
        const outcome = compiled(schema, dialect);
        if ("refused" in outcome) return;
        for (const each of schemasOf(outcome.schema)) {
          expect(Object.keys(each).filter((key) => key !== "$defs" && !keeps(dialect, key))).toEqual([]);
          if (dialect.objects === "closed") expect(laxityOf(each, dialect.requireAll)).toBe("");
        }
      });
      fc.assert(check, RUNS);
    });

    it("is the same when it is translated once more, and every time", () => {
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
});

/** Whether a value fits. Of a schema that begins itself again on the same value, the judge cannot tell. */
function fits(schema: unknown, value: unknown): boolean {
  try {
    return accepts(schema, value);
  } catch (error) {
    if (error instanceof EndlessSchema) return true;
    throw error;
  }
}

/** Objects of Gemini's older form hold what they declare, which they need not say. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const below = Object.entries(schema).map(([key, value]) => [key, DATA.has(key) ? value : closed(value)]);
  const own = Object.fromEntries(below);
  return own.type === "OBJECT" && own.properties !== undefined
    ? { ...own, additionalProperties: false }
    : own;
}

/** Keywords whose values are no schemas. */
const DATA = new Set(["enum", "default", "example"]);

/** A schema and all below it. */
function schemasOf(schema: unknown): Schema[] {
  if (Array.isArray(schema)) return schema.flatMap(schemasOf);
  if (typeof schema !== "object" || schema === null) return [];
  const below = Object.entries(schema as Schema).flatMap(([key, value]) => {
    if (DATA.has(key)) return [];
    const isMap = key === "properties" || key === "$defs";
    return isMap ? Object.values(value as Schema).flatMap(schemasOf) : schemasOf(value);
  });
  return [schema as Schema, ...below];
}

type Schema = Record<string, unknown>;

/** What is missing of an object that holds its own properties and no others. */
function laxityOf({ properties, required, additionalProperties, type }: Schema, all: boolean): string {
  if (![type].flat().includes("object")) return "";
  if (additionalProperties !== false) return "open";
  const names = Object.keys(properties as Schema);
  return all && names.join() !== (required as string[]).join() ? "not all required" : "";
}
