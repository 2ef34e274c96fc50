import { describe, expect, it } from "vitest";
import { GEMINI_JSON_SCHEMA, OPENAI_STRICT } from "../../../src/kit/json-schema/dialects.ts";
import { accepted, refusal } from "./compiled.ts";

/** What a schema becomes as the required property of an object, and what is told below it. */
function inProperty(schema: object, dialect = OPENAI_STRICT): { schema: unknown; told: string[] } {
  const { $defs, ...own } = schema as { $defs?: object };
  const whole = { type: "object", properties: { a: own }, required: ["a"], ...($defs && { $defs }) };
  const outcome = accepted(whole, dialect);
  const { a } = outcome.schema.properties as { a: unknown };
  return { schema: a, told: outcome.told.map((told) => told.replace("schema#/properties/a", "")) };
}

const record = (properties: object, extra: object = {}) => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  ...extra,
});
const closed = (properties: object) => record(properties, { additionalProperties: false });
const STRING = { type: "string" };

describe("allOf", () => {
  it.each<[string, object, object]>([
    ["objects", { allOf: [record({ x: STRING }), record({ y: STRING })] }, closed({ x: STRING, y: STRING })],
    [
      "with what stands beside it",
      { ...record({ x: STRING }), allOf: [record({ y: STRING })] },
      closed({ x: STRING, y: STRING }),
    ],
    [
      "the same property twice",
      { allOf: [record({ x: { type: "number", minimum: 1 } }), record({ x: { minimum: 2, maximum: 9 } })] },
      closed({ x: { type: "number", minimum: 2, maximum: 9 } }),
    ],
    [
      "references",
      {
        allOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }],
        $defs: { A: record({ x: STRING }), B: record({ y: STRING }) },
      },
      closed({ x: STRING, y: STRING }),
    ],
    [
      "one reference with a title",
      { allOf: [{ $ref: "#/$defs/A" }], title: "T", $defs: { A: STRING } },
      { title: "T", ...STRING },
    ],
    ["true", { ...STRING, allOf: [true, {}] }, STRING],
    [
      "numbers and integers",
      { type: "number", allOf: [{ type: ["integer", "string"] }] },
      { type: "integer" },
    ],
    [
      "literals",
      { enum: ["a", "b", "c"], allOf: [{ enum: ["c", "b"] }, { type: "string" }] },
      { enum: ["b", "c"], type: "string" },
    ],
    [
      "lists",
      {
        allOf: [
          { type: "array", items: STRING },
          { items: { minLength: 1 }, minItems: 1 },
        ],
      },
      { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 },
    ],
    [
      "what is told: the outer word is heard",
      { description: "Outer.", allOf: [{ ...STRING, description: "Inner." }] },
      { description: "Outer.", ...STRING },
    ],
    [
      "unevaluatedProperties, which see it all",
      {
        allOf: [record({ x: STRING })],
        properties: { y: STRING },
        required: ["y"],
        unevaluatedProperties: false,
      },
      closed({ y: STRING, x: STRING }),
    ],
  ])("of %s becomes one schema", (_name, schema, expected) => {
    const { schema: sent, told } = inProperty(schema);
    expect(told).toEqual([]);
    expect(sent).toEqual(expected);
  });

  it("keeps long numbers as they are spelled", () => {
    const long = JSON.rawJSON("12345678901234567890");
    const { schema } = inProperty({ allOf: [{ type: "integer", minimum: long }, { maximum: long }] });
    expect(JSON.stringify(schema)).toContain('"minimum":12345678901234567890');
    expect(JSON.stringify(schema)).toContain('"maximum":12345678901234567890');
  });

  it.each<[string, object, string[]]>([
    ["two patterns", { ...STRING, pattern: "a", allOf: [{ pattern: "b" }] }, ["/allOf"]],
    [
      "two unions",
      { anyOf: [STRING, { type: "null" }], allOf: [{ anyOf: [{ type: "null" }, { minLength: 1 }] }] },
      ["/allOf"],
    ],
    [
      "a bound too long to compare",
      { type: "number", minimum: 1, allOf: [{ minimum: JSON.rawJSON("1234567890123456789") }] },
      ["/allOf"],
    ],
  ])("of %s is put into words", (_name, schema, told) => {
    const outcome = inProperty(schema);
    expect(outcome.told).toEqual(told);
    expect(outcome.schema).toMatchObject({ description: expect.stringMatching(/^JSON Schema allOf: \[\{/) });
  });

  it("that nothing fits is refused at the root, and left out where nothing need be", () => {
    const never = { allOf: [STRING, { type: "number" }] };
    expect(refusal(record({ a: never }), OPENAI_STRICT)).toMatch(/found a contradiction$/);
    const optional = accepted(
      { ...record({ b: STRING }), properties: { a: never, b: STRING } },
      OPENAI_STRICT,
    );
    expect(optional).toMatchObject({ schema: closed({ b: STRING }), told: [] });
  });
});

describe("a union", () => {
  it.each<[string, object, object]>([
    ["of one is that one", { description: "D", anyOf: [STRING] }, { description: "D", ...STRING }],
    ["forgets what nothing fits", { anyOf: [STRING, false, { enum: [] }] }, STRING],
    [
      "takes what is said beside it into its branches, and leaves what is told outside",
      { description: "D", ...STRING, anyOf: [{ minLength: 3 }, { maxLength: 1 }] },
      {
        description: "D",
        anyOf: [
          { minLength: 3, ...STRING },
          { maxLength: 1, ...STRING },
        ],
      },
    ],
    [
      "of required names becomes one of objects",
      {
        type: "object",
        properties: { x: STRING, y: STRING },
        required: ["x"],
        anyOf: [{ required: ["y"] }, { properties: { y: false } }],
      },
      { anyOf: [closed({ x: STRING, y: STRING }), closed({ x: STRING })] },
    ],
    [
      "keeps its references",
      { anyOf: [{ $ref: "#/$defs/A" }, { type: "null" }], $defs: { A: STRING } },
      { anyOf: [{ $ref: "#/$defs/A" }, { type: "null" }] },
    ],
    [
      "of anyOf and oneOf is both",
      { anyOf: [STRING, { type: "null" }], oneOf: [{ type: "null" }] },
      { type: "null" },
    ],
  ])("%s", (_name, schema, expected) => {
    const { schema: sent, told } = inProperty(schema);
    expect(told).toEqual([]);
    expect(sent).toEqual(expected);
  });

  it("of exclusive branches that a tag tells apart loses nothing as anyOf", () => {
    const circle = record({ kind: { const: "circle" }, radius: { type: "number" } });
    const square = record({ kind: { enum: ["square"] }, side: { type: "number" } });
    expect(inProperty({ oneOf: [circle, square] }).told).toEqual([]);
    const nested = (kind: string) => record({ meta: record({ kind: { const: kind } }) });
    expect(inProperty({ oneOf: [nested("a"), nested("b")] }).told).toEqual([]);
  });

  it.each<[string, object[]]>([
    ["share a value", [record({ kind: { enum: ["a", "b"] } }), record({ kind: { enum: ["b"] } })]],
    [
      "need not have their tag",
      [{ type: "object", properties: { kind: { const: "a" } } }, record({ kind: { const: "b" } })],
    ],
    [
      "are told apart by a pattern only",
      [
        { ...STRING, pattern: "^a" },
        { ...STRING, pattern: "^b" },
      ],
    ],
  ])("of exclusive branches that %s is told", (_name, oneOf) => {
    expect(inProperty({ oneOf }, GEMINI_JSON_SCHEMA).told).toContain("/oneOf");
  });

  it("that cannot be merged with what stands beside it is put into words", () => {
    const { schema, told } = inProperty({
      ...STRING,
      pattern: "a",
      anyOf: [{ pattern: "b" }, { pattern: "c" }],
    });
    expect(told).toEqual(["/anyOf"]);
    expect(schema).toEqual({
      ...STRING,
      pattern: "a",
      description: 'JSON Schema anyOf: [{"pattern":"b"},{"pattern":"c"}].',
    });
  });
});
