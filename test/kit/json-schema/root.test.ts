import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/kit/json/json.ts";
import {
  ANTHROPIC_STRICT,
  GEMINI_PARAMETERS,
  OPENAI_STRICT,
  TOOL_PARAMETERS,
} from "../../../src/kit/json-schema/dialects.ts";
import { requireObjectRoot } from "../../../src/kit/json-schema/object-root.ts";
import { accepted, refusal } from "./compiled.ts";

const STRING = { type: "string" };
const record = (properties: object, extra: object = {}) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  ...extra,
});
const ARGUMENTS = record({ a: STRING });

const NO_OBJECTS: [string, object, string][] = [
  ["nothing", {}, "an empty schema"],
  ["a string", STRING, '"type": "\\"string\\""'],
  ["an object or null", { type: ["object", "null"] }, '"type": "[\\"object\\",\\"null\\"]"'],
  ["a list of schemas", { items: STRING }, 'no type, but "items"'],
  ["a reference to a string", { $ref: "#/$defs/A", $defs: { A: STRING } }, 'no type, but "$ref"'],
  ["a reference to itself", { $ref: "#" }, 'no type, but "$ref"'],
];

describe("requireObjectRoot()", () => {
  it.each<[string, object]>([
    ["an object", ARGUMENTS],
    ["an object in a list", { type: ["object"] }],
    ["properties", { properties: { a: STRING } }],
    ["a reference to an object", { $ref: "#/$defs/A", $defs: { A: ARGUMENTS } }],
    ["a reference by name", { $ref: "#args", $defs: { A: { $anchor: "args", properties: {} } } }],
  ])("takes %s", (_name, schema) => {
    expect(() => requireObjectRoot(schema as JsonObject, "f")).not.toThrow();
  });

  it.each(NO_OBJECTS)("refuses %s", (_name, schema, found) => {
    expect(() => requireObjectRoot(schema as JsonObject, "tools[0].function.parameters_json")).toThrow(
      `tools[0].function.parameters_json: expected a JSON Schema whose root has "type": "object", found ${found}`,
    );
  });
});

describe("the root of a tool's parameters", () => {
  const DIALECTS = [TOOL_PARAMETERS, OPENAI_STRICT, ANTHROPIC_STRICT, GEMINI_PARAMETERS];
  // Of an object or null, the object is left.
  const refused = NO_OBJECTS.filter(([name]) => name !== "an object or null");

  it.each(refused)("is refused where it is %s", (_name, schema) => {
    for (const dialect of DIALECTS) {
      expect(refusal(schema, dialect)).toMatch(
        /^schema: expected a JSON Schema whose root has "type": "object", found |references that lead to themselves/,
      );
    }
  });

  it("gets its type where it has none", () => {
    expect(accepted({ properties: { a: STRING } }, TOOL_PARAMETERS)).toMatchObject({
      schema: { type: "object", properties: { a: STRING } },
      told: [],
    });
  });

  it("is what it refers to, and what is below stays as it is", () => {
    const odd = { $ref: "#/$defs/B", minlength: 3, nullable: true };
    const $defs = { A: record({ a: odd }), B: STRING };
    expect(accepted({ $schema: "x", $ref: "#/$defs/A", $defs }, TOOL_PARAMETERS)).toMatchObject({
      schema: { $schema: "x", ...record({ a: odd }), $defs },
      told: [],
    });
  });

  it("is one with its allOf", () => {
    const schema = { allOf: [record({ a: STRING }), record({ b: { oneOf: [STRING, { type: "null" }] } })] };
    expect(accepted(schema, TOOL_PARAMETERS)).toMatchObject({
      schema: record({ a: STRING, b: { oneOf: [STRING, { type: "null" }] } }),
      told: [],
    });
  });

  it("that wants one of some names has them all optional, and says so", () => {
    const schema = {
      type: "object",
      properties: { id: STRING, title: STRING, text: STRING },
      required: ["id"],
      anyOf: [{ required: ["title"] }, { required: ["text"] }],
    };
    expect(accepted(schema, TOOL_PARAMETERS)).toMatchObject({
      schema: {
        type: "object",
        properties: schema.properties,
        required: ["id"],
        description: 'JSON Schema anyOf: [{"required":["title"]},{"required":["text"]}].',
      },
      told: ["schema#/anyOf"],
    });
  });

  it("that is one of several objects becomes one with the properties of all", () => {
    const schema = {
      oneOf: [
        record({ kind: { const: "circle" }, radius: { type: "number" } }),
        record({ kind: { const: "square" }, side: { type: "number" } }),
        { type: "null" },
      ],
    };
    const { schema: sent, told } = accepted(schema, ANTHROPIC_STRICT);
    expect(sent).toMatchObject({
      type: "object",
      properties: {
        kind: {
          anyOf: [
            { const: "circle", ...STRING },
            { const: "square", ...STRING },
          ],
        },
        radius: { type: "number" },
        side: { type: "number" },
      },
      required: ["kind"],
      additionalProperties: false,
    });
    expect(told).toEqual(["schema#/oneOf"]);
  });

  it("that only one branch can be is that branch", () => {
    const schema = {
      description: "D",
      anyOf: [{ type: "null" }, record({ a: STRING }, { minProperties: 1 })],
    };
    expect(accepted(schema, TOOL_PARAMETERS)).toMatchObject({
      schema: { description: "D", ...record({ a: STRING }, { minProperties: 1 }) },
      told: [],
    });
    const exclusive = { oneOf: [{ minLength: 1 }, record({ a: STRING })] };
    expect(accepted(exclusive, TOOL_PARAMETERS).told).toEqual(["schema#/oneOf"]);
  });

  it.each([
    ["not", { not: { required: ["b"] } }],
    ["enum", { enum: [{ a: "x" }] }],
    ["const", { const: { a: "x" } }],
  ])("has no %s", (key, extra) => {
    const { schema, told } = accepted({ ...ARGUMENTS, ...extra }, TOOL_PARAMETERS);
    expect(Object.keys(schema)).toEqual(["type", "properties", "required", "description"]);
    expect(told).toEqual([`schema#/${key}`]);
  });
});
