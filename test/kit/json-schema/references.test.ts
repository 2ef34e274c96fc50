import { describe, expect, it } from "vitest";
import {
  ANTHROPIC_OUTPUT,
  GEMINI_JSON_SCHEMA,
  GEMINI_OPENAPI,
  OPENAI_STRICT,
} from "../../../src/kit/json-schema/dialects.ts";
import { accepted, refusal } from "./compiled.ts";

const STRING = { type: "string" };

/** An object whose one property refers to something; what it refers to, the result must have in its `$defs`. */
function referring(reference: unknown, rest: object): object {
  return { type: "object", properties: { a: reference }, required: ["a"], ...rest };
}

describe("a reference", () => {
  it.each([
    ["to $defs", { $ref: "#/$defs/A" }, { $defs: { A: STRING } }, "A"],
    ["to definitions (draft 7)", { $ref: "#/definitions/A" }, { definitions: { A: STRING } }, "A"],
    ["to an anchor", { $ref: "#here" }, { $defs: { A: { $anchor: "here", ...STRING } } }, "A"],
    ["to an anchor (draft 7)", { $ref: "#here" }, { definitions: { A: { $id: "#here", ...STRING } } }, "A"],
    [
      "to a dynamic anchor",
      { $dynamicRef: "#here" },
      { $defs: { A: { $dynamicAnchor: "here", ...STRING } } },
      "A",
    ],
    [
      "by the document's own name",
      { $ref: "https://example.org/s.json#/$defs/A" },
      { $id: "https://example.org/s.json", $defs: { A: STRING } },
      "A",
    ],
    [
      "to a schema by its name",
      { $ref: "part.json" },
      { $id: "https://example.org/s.json", $defs: { A: { $id: "part.json", ...STRING } } },
      "A",
    ],
    [
      "within a schema that has a name",
      { $ref: "urn:example:part#/$defs/B" },
      { $defs: { A: { $id: "urn:example:part", $defs: { B: STRING } } } },
      "_defs_B",
    ],
    [
      "to a property",
      { $ref: "#/$defs/A/properties/b" },
      { $defs: { A: { properties: { b: STRING } } } },
      "properties_b",
    ],
    [
      "to a place of the caller's",
      { $ref: "#/components/schemas/A" },
      { components: { schemas: { A: STRING } } },
      "schemas_A",
    ],
    ["with escapes", { $ref: "#/$defs/a~1b%20~0" }, { $defs: { "a/b ~": STRING } }, "a_b__"],
    ["to another reference", { $ref: "#/$defs/B" }, { $defs: { A: STRING, B: { $ref: "#/$defs/A" } } }, "A"],
  ])("%s becomes one to the root's $defs", (_name, reference, rest, name) => {
    const { schema } = accepted(referring(reference, rest), OPENAI_STRICT);
    expect(schema.$defs).toEqual({ [name]: STRING });
    expect(schema.properties).toEqual({ a: { $ref: `#/$defs/${name}` } });
  });

  it("is inlined where the dialect has none", () => {
    const schema = referring({ $ref: "#/$defs/A" }, { $defs: { A: STRING } });
    expect(accepted(schema, GEMINI_OPENAPI)).toEqual({
      schema: { type: "OBJECT", properties: { a: { type: "STRING" } }, required: ["a"] },
      told: [],
      messages: [],
    });
  });

  it("that has something told beside it becomes what it leads to", () => {
    const schema = referring(
      { $ref: "#/$defs/A", description: "Mine." },
      { $defs: { A: { ...STRING, description: "Any.", title: "A" } } },
    );
    expect(accepted(schema, OPENAI_STRICT).schema).toEqual({
      type: "object",
      properties: { a: { type: "string", description: "Mine.", title: "A" } },
      required: ["a"],
      additionalProperties: false,
    });
  });

  it("that has something said beside it is one schema with what it leads to", () => {
    const schema = referring(
      { $ref: "#/$defs/A", minLength: 2 },
      { $defs: { A: { ...STRING, minLength: 1 } } },
    );
    expect(accepted(schema, OPENAI_STRICT).schema.properties).toEqual({
      a: { type: "string", minLength: 2 },
    });
  });

  it("to true or false is that", () => {
    const schema = (A: boolean) => referring({ $ref: "#/$defs/A" }, { $defs: { A }, required: [] });
    expect(accepted(schema(true), GEMINI_JSON_SCHEMA).schema.properties).toEqual({ a: {} });
    expect(accepted(schema(false), OPENAI_STRICT).schema.properties).toEqual({});
  });

  it.each([
    ["out of the document", { $ref: "https://example.org/other.json" }, "https://example.org/other.json"],
    ["to nothing", { $ref: "#/$defs/B" }, "#/$defs/B"],
    ["to no schema", { $ref: "#/required" }, "#/required"],
    ["to what every object has", { $ref: "#/constructor" }, "#/constructor"],
    ["to what every list has", { $ref: "#/required/length" }, "#/required/length"],
    ["that is no URI", { $ref: "http://[" }, "http://["],
    ["that is no fragment", { $ref: "#/%" }, "#/%"],
  ])("that leads %s is refused where it stands", (_name, reference, found) => {
    const schema = referring(reference, { $defs: { A: STRING } });
    expect(refusal(schema, OPENAI_STRICT)).toBe(
      `schema#/properties/a: expected references to a place in the schema, found "${found}"`,
    );
  });

  it.each([
    ["each other", { A: { $ref: "#/$defs/B" }, B: { $ref: "#/$defs/A" } }],
    ["itself", { A: { $ref: "#/$defs/A" }, B: STRING }],
    ["itself, with a description", { A: { $ref: "#/$defs/A", description: "D" }, B: STRING }],
  ])("that leads to nothing but %s is refused", (_name, $defs) => {
    const schema = referring({ $ref: "#/$defs/A" }, { $defs });
    expect(refusal(schema, OPENAI_STRICT)).toMatch(/found references that lead to themselves$/);
  });
});

describe("definitions", () => {
  it("that nothing refers to are left out, others keep their order and their place", () => {
    const schema = {
      $defs: { Unused: STRING, B: { enum: ["b"] }, A: { enum: ["a"] } },
      type: "object",
      properties: { a: { $ref: "#/$defs/A" }, b: { $ref: "#/$defs/B" } },
      required: ["a", "b"],
    };
    const sent = JSON.stringify(accepted(schema, OPENAI_STRICT).schema);
    expect(sent).toMatch(/^\{"\$defs":\{"B":.*"A":.*\},"type":"object"/);
    expect(sent).not.toContain("Unused");
  });

  it("of one name get two", () => {
    const schema = {
      type: "object",
      properties: { a: { $ref: "#/$defs/A" }, b: { $ref: "#/definitions/A" } },
      required: ["a", "b"],
      $defs: { A: STRING },
      definitions: { A: { type: "number" } },
    };
    expect(accepted(schema, OPENAI_STRICT).schema.$defs).toEqual({ A: STRING, A_2: { type: "number" } });
  });
});

describe("a schema that refers to itself", () => {
  const node = (required: string[], next: object) => ({
    type: "object",
    properties: { value: STRING, next },
    required,
  });
  const listed = { type: "array", items: { $ref: "#/$defs/Node" } };
  const tree = (required: string[]) =>
    referring({ $ref: "#/$defs/Node" }, { $defs: { Node: node(required, listed) } });

  it("stays so where that is allowed", () => {
    const { schema, told } = accepted(tree(["value", "next"]), OPENAI_STRICT);
    expect(schema.$defs).toEqual({
      Node: { ...node(["value", "next"], listed), additionalProperties: false },
    });
    expect(told).toEqual([]);
  });

  it("may do so by the root", () => {
    const root = node(["value", "next"], { anyOf: [{ $ref: "#" }, { type: "null" }] });
    expect(accepted(root, OPENAI_STRICT)).toMatchObject({ schema: root, told: [] });
  });

  it("is refused where the dialect has no form for it, and the place is named", () => {
    expect(refusal(tree(["value"]), ANTHROPIC_OUTPUT)).toBe(
      "schema#/$defs/Node/properties/next/items: refers to itself, which Anthropic's structured output does not take",
    );
  });

  it("is taken by Gemini in a property that is not required, and made so elsewhere", () => {
    const optional = accepted(tree(["value"]), GEMINI_JSON_SCHEMA);
    expect(optional).toMatchObject({ schema: tree(["value"]), told: [] });
    const required = accepted(tree(["value", "next"]), GEMINI_JSON_SCHEMA);
    expect(required).toMatchObject({
      schema: tree(["value"]),
      told: ["schema#/$defs/Node/properties/next"],
    });
  });

  it("is cut for Gemini where no property is on the way", () => {
    const schema = referring(
      { $ref: "#/$defs/L" },
      { $defs: { L: { type: "array", items: { $ref: "#/$defs/L" } } } },
    );
    expect(accepted(schema, GEMINI_JSON_SCHEMA)).toMatchObject({
      schema: { $defs: { L: { type: "array", items: {} } } },
      told: ["schema#/$defs/L/items"],
    });
  });

  it("is cut where references are inlined", () => {
    const { schema, told } = accepted(tree(["value"]), GEMINI_OPENAPI);
    expect(schema.properties).toEqual({
      a: {
        type: "OBJECT",
        properties: { value: { type: "STRING" }, next: { type: "ARRAY", items: {} } },
        required: ["value"],
      },
    });
    expect(told).toEqual(["schema#/$defs/Node/properties/next/items"]);
  });

  it("keeps the reference and not what is told beside it", () => {
    const schema = node(["value"], { $ref: "#", description: "The next one." });
    expect(accepted(schema, GEMINI_JSON_SCHEMA)).toMatchObject({
      schema: node(["value"], { $ref: "#" }),
      told: ["noted schema#/properties/next/description"],
    });
  });
});
