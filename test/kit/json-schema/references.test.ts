import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import {
  ANTHROPIC_OUTPUT,
  GEMINI_JSON_SCHEMA,
  OPENAI_STRICT,
} from "../../../src/providers/schema-dialects.ts";
import { accepted, refusal } from "./compiled.ts";

const STRING = { type: "string" };

/** An object with one property, which is a reference. */
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
      "to the document by its $id",
      { $ref: "https://example.org/s.json#/$defs/A" },
      { $id: "https://example.org/s.json", $defs: { A: STRING } },
      "A",
    ],
    [
      "to a schema by its $id",
      { $ref: "part.json" },
      { $id: "https://example.org/s.json", $defs: { A: { $id: "part.json", ...STRING } } },
      "A",
    ],
    [
      "into a schema by its $id",
      { $ref: "urn:example:part#/$defs/B" },
      { $defs: { A: { $id: "urn:example:part", $defs: { B: STRING } } } },
      "B",
    ],
    [
      "to a property",
      { $ref: "#/$defs/A/properties/b" },
      { $defs: { A: { properties: { b: STRING } } } },
      "b",
    ],
    [
      "to a place that is not a keyword",
      { $ref: "#/components/schemas/A" },
      { components: { schemas: { A: STRING } } },
      "A",
    ],
    ["with escapes", { $ref: "#/$defs/a~1b%20~0" }, { $defs: { "a/b ~": STRING } }, "a_b__"],
    ["to another reference", { $ref: "#/$defs/B" }, { $defs: { A: STRING, B: { $ref: "#/$defs/A" } } }, "A"],
  ])("%s becomes one to the $defs of the root", (_name, reference, rest, name) => {
    const { schema } = accepted(referring(reference, rest), OPENAI_STRICT);
    expect(schema.$defs).toEqual({ [name]: STRING });
    expect(schema.properties).toEqual({ a: { $ref: `#/$defs/${name}` } });
  });

  it("with annotations alongside it is merged with its target", () => {
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

  it("with assertions alongside it is merged with its target", () => {
    const schema = referring(
      { $ref: "#/$defs/A", minLength: 2 },
      { $defs: { A: { ...STRING, minLength: 1 } } },
    );
    expect(accepted(schema, OPENAI_STRICT).schema.properties).toEqual({
      a: { type: "string", minLength: 2 },
    });
  });

  it("to true or false is replaced by it", () => {
    const schema = (A: boolean) => referring({ $ref: "#/$defs/A" }, { $defs: { A }, required: [] });
    expect(accepted(schema(true), GEMINI_JSON_SCHEMA).schema.properties).toEqual({ a: {} });
    expect(accepted(schema(false), OPENAI_STRICT).schema.properties).toEqual({});
  });

  it.each([
    [
      "leads out of the document",
      { $ref: "https://example.org/other.json" },
      "https://example.org/other.json",
    ],
    ["leads to nothing", { $ref: "#/$defs/B" }, "#/$defs/B"],
    ["leads to a list", { $ref: "#/required" }, "#/required"],
    ["leads to a member that every JavaScript object has", { $ref: "#/constructor" }, "#/constructor"],
    ["leads to a member that every JavaScript array has", { $ref: "#/required/length" }, "#/required/length"],
    ["is not a URI", { $ref: "http://[" }, "http://["],
    ["is not a URI fragment", { $ref: "#/%" }, "#/%"],
  ])("that %s is refused with its place", (_name, reference, found) => {
    const schema = referring(reference, { $defs: { A: STRING } });
    expect(refusal(schema, OPENAI_STRICT)).toBe(
      `schema#/properties/a: expected references to a place in the schema, found "${found}"`,
    );
  });

  it.each([
    ["each other", { A: { $ref: "#/$defs/B" }, B: { $ref: "#/$defs/A" } }],
    ["itself", { A: { $ref: "#/$defs/A" }, B: STRING }],
    ["itself, with a description", { A: { $ref: "#/$defs/A", description: "D" }, B: STRING }],
  ])("that leads only to %s is refused", (_name, $defs) => {
    const schema = referring({ $ref: "#/$defs/A" }, { $defs });
    expect(refusal(schema, OPENAI_STRICT)).toMatch(/found references that lead to themselves$/);
  });
});

describe("definitions", () => {
  it("that nothing refers to are left out", () => {
    const schema = {
      $defs: { Unused: STRING, B: { enum: ["b"] }, A: { enum: ["a"] } },
      type: "object",
      properties: { a: { $ref: "#/$defs/A" }, b: { $ref: "#/$defs/B" } },
      required: ["a", "b"],
    };
    expect(accepted(schema, OPENAI_STRICT).schema.$defs).toEqual({
      A: { enum: ["a"], ...STRING },
      B: { enum: ["b"], ...STRING },
    });
  });

  it("of the same name get different ones", () => {
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

describe("a recursive schema", () => {
  const node = (required: string[], next: object) => ({
    type: "object",
    properties: { value: STRING, next },
    required,
  });
  const listed = { type: "array", items: { $ref: "#/$defs/Node" } };
  const tree = (required: string[]) =>
    referring({ $ref: "#/$defs/Node" }, { $defs: { Node: node(required, listed) } });

  it("stays recursive if the dialect allows it", () => {
    const { schema, reported } = accepted(tree(["value", "next"]), OPENAI_STRICT);
    expect(schema.$defs).toEqual({
      Node: { ...node(["value", "next"], listed), additionalProperties: false },
    });
    expect(reported).toEqual([]);
  });

  it("may refer to its root", () => {
    const root = node(["value", "next"], { anyOf: [{ $ref: "#" }, { type: "null" }] });
    expect(accepted(root, OPENAI_STRICT)).toMatchObject({ schema: root, reported: [] });
  });

  it("is refused with its place if the dialect refuses recursion", () => {
    expect(refusal(tree(["value"]), ANTHROPIC_OUTPUT)).toBe(
      "schema#/$defs/Node/properties/next/items: refers to itself, which Anthropic's structured output does not support",
    );
  });

  it("is accepted for Gemini in an optional property, and a required property becomes optional", () => {
    const optional = accepted(tree(["value"]), GEMINI_JSON_SCHEMA);
    expect(optional).toMatchObject({ schema: tree(["value"]), reported: [] });
    const required = accepted(tree(["value", "next"]), GEMINI_JSON_SCHEMA);
    expect(required).toMatchObject({
      schema: tree(["value"]),
      reported: ["schema#/$defs/Node/properties/next"],
    });
  });

  it("accepts any value for Gemini if it is recursive without a property", () => {
    const schema = referring(
      { $ref: "#/$defs/L" },
      { $defs: { L: { type: "array", items: { $ref: "#/$defs/L" } } } },
    );
    expect(accepted(schema, GEMINI_JSON_SCHEMA)).toMatchObject({
      schema: { $defs: { L: { type: "array", items: {} } } },
      reported: ["schema#/$defs/L/items"],
    });
  });

  it("keeps a recursive reference and leaves out the description alongside it", () => {
    const schema = node(["value"], { $ref: "#", description: "The next one." });
    expect(accepted(schema, GEMINI_JSON_SCHEMA)).toMatchObject({
      schema: node(["value"], { $ref: "#" }),
      reported: ["noted schema#/properties/next/description"],
    });
  });
});

describe("a pointer of millions of tokens", () => {
  it("leads nowhere at its first one, in a heap of 96 MiB", async () => {
    const file = new URL("../../../src/kit/json-schema/references.ts", import.meta.url);
    const program = `
      const { References } = await import(${JSON.stringify(file.href)});
      const found = new References({ type: "object" }).resolve({ $ref: "#" + "/abc".repeat(4e6) });
      process.stdout.write(String(found));
    `;
    const options = ["--max-old-space-size=96", "--input-type=module", "--eval", program];
    expect((await promisify(execFile)(process.execPath, options)).stdout).toBe("undefined");
  });
});
