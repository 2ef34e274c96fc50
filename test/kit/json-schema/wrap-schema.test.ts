import { describe, expect, it } from "vitest";
import { LossReport } from "../../../src/kit/call/loss-report.ts";
import type { JsonObject } from "../../../src/kit/json/json.ts";
import { wrapAnswer } from "../../../src/kit/json-schema/wrap-answer.ts";
import { wrapSchema } from "../../../src/kit/json-schema/wrap-schema.ts";
import { OPENAI_STRICT, PLAIN } from "../../../src/providers/schema-dialects.ts";

describe("wrapSchema()", () => {
  it("keeps the dialect and the older definitions at the root", () => {
    const $schema = "http://json-schema.org/draft-07/schema#";
    const definitions = { item: { type: "string" } };
    const wrapped = wrapSchema(
      {
        $schema,
        type: "array",
        items: { $ref: "#/definitions/item" },
        definitions,
      },
      "value",
    );
    expect(wrapped).toStrictEqual({
      $schema,
      type: "object",
      properties: { value: { type: "array", items: { $ref: "#/definitions/item" } } },
      required: ["value"],
      additionalProperties: false,
      definitions,
    });
  });

  it("wraps the schema as a member, and keeps definitions at the root", () => {
    const $defs = { item: { type: "string" } };
    const wrapped = wrapSchema({ type: "array", items: { $ref: "#/$defs/item" }, $defs }, "value");
    expect(wrapped).toStrictEqual({
      type: "object",
      properties: { value: { type: "array", items: { $ref: "#/$defs/item" } } },
      required: ["value"],
      additionalProperties: false,
      $defs,
    });
  });

  it.each([
    ["the root", { type: "array", items: { $ref: "#" } }],
    ["another member", { type: "array", items: { $ref: "#/prefixItems/0" } }],
    ["a base address", { $id: "https://example.com/list", type: "array" }],
    ["an anchor", { type: "array", items: { $anchor: "a" } }],
  ])("does not wrap a schema that refers to %s", (_name, list) => {
    expect(wrapSchema(list, "value")).toBeUndefined();
  });
});

describe("wrapAnswer()", () => {
  const forms = { enforced: OPENAI_STRICT, shown: PLAIN };

  function wrap(schema: JsonObject, strict = true) {
    const loss = new LossReport();
    return { sent: wrapAnswer(schema, strict, forms, "schema", loss), warnings: loss.warnings };
  }

  const CITY = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  };

  it.each<[string, JsonObject]>([
    ["a list", { type: "array", items: CITY }],
    ["a text", { type: "string" }],
    ["an object or null", { type: ["object", "null"], properties: {} }],
    ["a union", { anyOf: [CITY, { type: "null" }] }],
    ["a choice", { enum: ["a", "b"] }],
    ["a reference to a list", { $ref: "#/$defs/L", $defs: { L: { type: "array", items: CITY } } }],
  ])("wraps %s, and says so", (_name, schema) => {
    for (const strict of [true, false]) {
      const { sent, warnings } = wrap(schema, strict);
      expect(sent).toMatchObject({
        schema: { type: "object", required: ["value"], additionalProperties: false },
        wrappedMember: "value",
      });
      expect(warnings.at(-1)).toMatchObject({ field: "schema", code: "adjusted_schema" });
    }
  });

  it.each<[string, JsonObject]>([
    ["an object", CITY],
    ["a reference to an object", { $ref: "#/$defs/C", $defs: { C: CITY } }],
    ["a root that names no type", { properties: {} }],
    ["a list of itself", { type: "array", items: { $ref: "#" } }],
  ])("does not wrap %s", (_name, schema) => {
    expect(wrap(schema)).toEqual({ sent: undefined, warnings: [] });
  });

  it("enforces the wrapped schema, with its definitions at the root", () => {
    const { sent } = wrap({ type: "array", items: { $ref: "#/$defs/C" }, $defs: { C: CITY } });
    expect(sent?.enforced).toBe(true);
    expect(sent?.schema.properties).toMatchObject({ value: { type: "array" } });
  });

  it("counts the wrapper as a level of the provider's limit", () => {
    const nested = (levels: number): JsonObject =>
      levels === 0 ? { type: "string" } : { ...CITY, properties: { city: nested(levels - 1) } };
    const { levels = 0 } = OPENAI_STRICT.limits;
    expect(wrap({ type: "array", items: nested(levels - 1) }).sent?.enforced).toBe(true);
    expect(wrap({ type: "array", items: nested(levels) }).sent?.enforced).toBe(false);
  });

  it("chooses a name that the schema does not have", () => {
    const schema = { anyOf: [{ ...CITY, properties: { value: { type: "string" } } }, CITY] };
    expect(wrap(schema, false).sent?.wrappedMember).toBe("value_");
  });

  it("finds an unused name in one pass, however many the caller uses", () => {
    const schema = { type: "array", items: { properties: { value: {}, value__: {} } } };
    expect(wrap(schema, false).sent?.wrappedMember).toBe("value___");
  });
});
