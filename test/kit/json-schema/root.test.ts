import { describe, expect, it } from "vitest";
import { ANTHROPIC_STRICT, OPENAI_STRICT, TOOL_PARAMETERS } from "../../../src/providers/schema-dialects.ts";
import { accepted, refusal } from "./compiled.ts";

const STRING = { type: "string" };
const record = (properties: object, extra: object = {}) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  ...extra,
});
const ARGUMENTS = record({ a: STRING });

describe("the root of a tool's parameters", () => {
  const DIALECTS = [TOOL_PARAMETERS, OPENAI_STRICT, ANTHROPIC_STRICT];

  it.each<[string, object, string]>([
    ["empty", {}, "{}"],
    ["a string", STRING, '{"type":"string"}'],
    ["a list", { items: STRING }, '{"items":{"type":"string"}}'],
    [
      "a reference to a string",
      { $ref: "#/$defs/A", $defs: { A: STRING } },
      '{"$ref":"#/$defs/A","$defs":{"A":{"type":"string…',
    ],
    ["a reference to itself", { $ref: "#" }, '{"$ref":"#"}'],
    [
      "a union of scalars",
      { anyOf: [STRING, { type: "null" }] },
      '{"anyOf":[{"type":"string"},{"type":"null"}]}',
    ],
  ])("is refused if it is %s", (_name, schema, found) => {
    for (const dialect of DIALECTS) {
      expect(refusal(schema, dialect)).toBe(
        `schema: expected a JSON Schema whose root has "type": "object", found ${found}`,
      );
    }
  });

  it.each<[string, object]>([
    ["an object in a list of types", { ...ARGUMENTS, type: ["object"] }],
    ["an object or null", { ...ARGUMENTS, type: ["object", "null"] }],
    ["a reference to an object", { $ref: "#/$defs/A", $defs: { A: ARGUMENTS } }],
    ["a reference by anchor", { $ref: "#args", $defs: { A: { $anchor: "args", ...ARGUMENTS } } }],
  ])("is an object if it is %s", (_name, schema) => {
    for (const dialect of DIALECTS) {
      expect(accepted(schema, dialect)).toMatchObject({ schema: ARGUMENTS, reported: [] });
    }
  });

  it("gets its type if it has none", () => {
    expect(accepted({ properties: { a: STRING } }, TOOL_PARAMETERS)).toMatchObject({
      schema: { type: "object", properties: { a: STRING } },
      reported: [],
    });
  });

  it("is replaced by its target, and the schemas below stay unchanged", () => {
    const odd = { $ref: "#/$defs/B", minlength: 3, nullable: true };
    const $defs = { A: record({ a: odd }), B: STRING };
    expect(accepted({ $schema: "x", $ref: "#/$defs/A", $defs }, TOOL_PARAMETERS)).toMatchObject({
      schema: { $schema: "x", ...record({ a: odd }), $defs },
      reported: [],
    });
  });

  it("is merged with its allOf", () => {
    const schema = { allOf: [record({ a: STRING }), record({ b: { oneOf: [STRING, { type: "null" }] } })] };
    expect(accepted(schema, TOOL_PARAMETERS)).toMatchObject({
      schema: record({ a: STRING, b: { oneOf: [STRING, { type: "null" }] } }),
      reported: [],
    });
  });

  it("that requires one of several properties has them all optional, and reports it", () => {
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
        description: 'Any of: [{"required":["title"]},{"required":["text"]}].',
      },
      reported: ["schema#/anyOf"],
    });
  });

  it("that is a union of objects becomes one object with the properties of all", () => {
    const schema = {
      oneOf: [
        record({ kind: { const: "circle" }, radius: { type: "number" } }),
        record({ kind: { const: "square" }, side: { type: "number" } }),
        { type: "null" },
      ],
    };
    const { schema: sent, reported } = accepted(schema, ANTHROPIC_STRICT);
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
    expect(reported).toEqual(["schema#/oneOf"]);
  });

  it("that is a union of an object and other types becomes that object, and reports it", () => {
    const schema = { description: "D", anyOf: [{ type: "null" }, record({ a: STRING })] };
    const { schema: sent, reported } = accepted(schema, TOOL_PARAMETERS);
    expect(sent).toMatchObject({
      ...record({ a: STRING }),
      description: expect.stringMatching(/^D\nAny of: /),
    });
    expect(reported).toEqual(["schema#/anyOf"]);
  });

  it.each([
    ["not", { not: { required: ["b"] } }],
    ["enum", { enum: [{ a: "x" }] }],
    ["const", { const: { a: "x" } }],
  ])("has its %s moved into the description", (key, extra) => {
    const { schema, reported } = accepted({ ...ARGUMENTS, ...extra }, TOOL_PARAMETERS);
    expect(Object.keys(schema)).toEqual(["type", "properties", "required", "description"]);
    expect(reported).toEqual([`schema#/${key}`]);
  });
});
