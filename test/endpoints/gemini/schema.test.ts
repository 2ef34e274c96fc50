import { describe, expect, it } from "vitest";
import { toJsonSchema } from "../../../src/endpoints/gemini/schema.ts";

describe("toJsonSchema", () => {
  it("converts types, nullable values, counts, examples and the order of properties at every level", () => {
    const schema = {
      type: "OBJECT",
      propertyOrdering: ["b", "a", "missing"],
      properties: {
        a: { type: "ARRAY", items: { type: "INTEGER", nullable: true }, min_items: "1", maxItems: 3 },
        b: { anyOf: [{ type: "STRING", enum: ["x"], nullable: true }, { type: "NUMBER" }], example: "x" },
        c: { type: "TYPE_UNSPECIFIED", description: "d" },
      },
      required: ["a"],
    };
    const converted = toJsonSchema(schema);
    expect(converted).toEqual({
      type: "object",
      properties: {
        b: { anyOf: [{ type: ["string", "null"], enum: ["x", null] }, { type: "number" }], examples: ["x"] },
        a: { type: "array", items: { type: ["integer", "null"] }, minItems: 1, maxItems: 3 },
        c: { description: "d" },
      },
      required: ["a"],
    });
    expect(Object.keys(converted.properties as object)).toEqual(["b", "a", "c"]);
  });

  it("converts schemas that others refer to, by either name, and those of further values", () => {
    const node = { type: "STRING" };
    for (const name of ["defs", "$defs"])
      expect(toJsonSchema({ $ref: "#/$defs/node", [name]: { node } })).toEqual({
        $ref: "#/$defs/node",
        $defs: { node: { type: "string" } },
      });
    expect(toJsonSchema({ type: "OBJECT", additionalProperties: node })).toEqual({
      type: "object",
      additionalProperties: { type: "string" },
    });
  });
});
