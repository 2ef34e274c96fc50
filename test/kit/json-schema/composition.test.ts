import { describe, expect, it } from "vitest";
import { GEMINI_JSON_SCHEMA, OPENAI_STRICT } from "../../../src/providers/schema-dialects.ts";
import { accepted, refusal } from "./compiled.ts";

/**
 * Compiles a schema as the required property of an object. Returns the result, and the places in it that are reported.
 */
function inProperty(schema: object, dialect = OPENAI_STRICT): { schema: unknown; reported: string[] } {
  const { $defs, ...rest } = schema as { $defs?: object };
  const whole = { type: "object", properties: { a: rest }, required: ["a"], ...($defs && { $defs }) };
  const outcome = accepted(whole, dialect);
  const { a } = outcome.schema.properties as { a: unknown };
  return {
    schema: a,
    reported: outcome.reported.map((reported) => reported.replace("schema#/properties/a", "")),
  };
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
      "objects beside one",
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
      "descriptions: the outer one is kept",
      { description: "Outer.", allOf: [{ ...STRING, description: "Inner." }] },
      { description: "Outer.", ...STRING },
    ],
    [
      "unevaluatedProperties, which apply to all parts",
      {
        allOf: [record({ x: STRING })],
        properties: { y: STRING },
        required: ["y"],
        unevaluatedProperties: false,
      },
      closed({ y: STRING, x: STRING }),
    ],
  ])("of %s becomes one schema", (_name, schema, expected) => {
    const { schema: sent, reported } = inProperty(schema);
    expect(reported).toEqual([]);
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
  ])("of %s is moved into the description as far as it cannot be merged", (_name, schema, reported) => {
    const outcome = inProperty(schema);
    expect(outcome.reported).toEqual(reported);
    expect(outcome.schema).toMatchObject({ description: expect.stringMatching(/^All of: \[\{/) });
  });

  it("that contradicts itself is refused, or its property left out if that is optional", () => {
    const never = { allOf: [STRING, { type: "number" }] };
    expect(refusal(record({ a: never }), OPENAI_STRICT)).toMatch(/found a contradiction$/);
    const optional = accepted(
      { ...record({ b: STRING }), properties: { a: never, b: STRING } },
      OPENAI_STRICT,
    );
    expect(optional).toMatchObject({ schema: closed({ b: STRING }), reported: [] });
  });
});

describe("a union", () => {
  it.each<[string, object, object]>([
    ["of one branch is that branch", { description: "D", anyOf: [STRING] }, { description: "D", ...STRING }],
    ["leaves out branches that accept no value", { anyOf: [STRING, false, { enum: [] }] }, STRING],
    [
      "merges assertions beside it into its branches, and leaves annotations outside",
      { description: "D", ...STRING, anyOf: [{ minLength: 3 }, { maxLength: 1 }] },
      {
        description: "D",
        anyOf: [
          { ...STRING, minLength: 3 },
          { ...STRING, maxLength: 1 },
        ],
      },
    ],
    [
      "of required names becomes a union of objects",
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
      "of anyOf beside oneOf accepts what both accept",
      { anyOf: [STRING, { type: "null" }], oneOf: [{ type: "null" }] },
      { type: "null" },
    ],
  ])("%s", (_name, schema, expected) => {
    const { schema: sent, reported } = inProperty(schema);
    expect(reported).toEqual([]);
    expect(sent).toEqual(expected);
  });

  it.each<[string, object[]]>([
    ["types", [STRING, { type: "integer" }, { type: "null" }]],
    ["values", [{ const: "a", title: "A" }, { enum: ["b", "c"] }]],
    [
      "a tag",
      [
        record({ kind: { const: "circle" }, radius: { type: "number" } }),
        record({ kind: { enum: ["square"] }, side: { type: "number" } }),
      ],
    ],
  ])("of branches that exclude one another by %s loses nothing as anyOf", (_name, oneOf) => {
    expect(inProperty({ oneOf }).reported).toEqual([]);
  });

  it.each<[string, object[]]>([
    ["share a tag", [record({ kind: { enum: ["a", "b"] } }), record({ kind: { enum: ["b"] } })]],
    [
      "do not require their tag",
      [{ type: "object", properties: { kind: { const: "a" } } }, record({ kind: { const: "b" } })],
    ],
    [
      "differ in a pattern only",
      [
        { ...STRING, pattern: "^a" },
        { ...STRING, pattern: "^b" },
      ],
    ],
    ["are integers and numbers", [{ type: "integer" }, { type: "number" }]],
    ["differ in a nested tag", ["a", "b"].map((kind) => record({ meta: record({ kind: { const: kind } }) }))],
  ])("of oneOf whose branches %s is reported", (_name, oneOf) => {
    expect(inProperty({ oneOf }, GEMINI_JSON_SCHEMA).reported).toContain("/oneOf");
  });

  it("that cannot be merged with its sibling keywords is merged as far as possible", () => {
    const { schema, reported } = inProperty({
      ...STRING,
      pattern: "a",
      anyOf: [{ pattern: "b" }, { pattern: "c" }],
    });
    expect(reported).toEqual(["/anyOf/0/allOf", "/anyOf/1/allOf"]);
    expect(schema).toEqual({
      anyOf: [
        { ...STRING, pattern: "a", description: 'All of: [{"pattern":"b"}].' },
        { ...STRING, pattern: "a", description: 'All of: [{"pattern":"c"}].' },
      ],
    });
  });
});
