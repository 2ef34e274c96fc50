import { describe, expect, it, vi } from "vitest";
import { type JsonObject, parseJson } from "../../../src/kit/json/json.ts";
import * as dialects from "../../../src/providers/schema-dialects.ts";
import { INHERITED } from "./arbitraries.ts";
import { accepted, compiled, refusal } from "./compiled.ts";

const { ANTHROPIC_OUTPUT, GEMINI_JSON_SCHEMA, OPENAI_STRICT, PLAIN } = dialects;
const ALL = Object.entries(dialects);
const STRING = { type: "string" };

const record = (properties: object) => ({ type: "object", properties, required: Object.keys(properties) });
const many = (count: number, value: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, value(index)]));
const nested = (depth: number, inside: object): object =>
  Array.from({ length: depth }).reduce<object>((below) => record({ a: below }), inside);

describe("a malformed schema", () => {
  it.each<[string, object, string]>([
    [
      "an unknown type",
      { type: "text" },
      '/type: expected one or some of null, boolean, object, array, number, integer, string, found "text"',
    ],
    [
      "a number as a type",
      { type: 1 },
      "/type: expected one or some of null, boolean, object, array, number, integer, string, found 1",
    ],
    [
      "an empty list of types",
      { type: [] },
      "/type: expected one or some of null, boolean, object, array, number, integer, string, found []",
    ],
    ["required as in draft 3", { required: true }, "/required: expected a list of names, found true"],
    [
      "properties in a list",
      { properties: [STRING] },
      '/properties: expected an object of schemas, found [{"type":"string"}]',
    ],
    [
      "a property that is null",
      { properties: { b: null } },
      '/properties: expected an object of schemas, found {"b":null}',
    ],
    [
      "a string as items",
      { items: "string" },
      '/items: expected a schema or a list of schemas, found "string"',
    ],
    ["a string as enum", { enum: "a" }, '/enum: expected a list, found "a"'],
    [
      "exclusiveMinimum as in draft 4",
      { minimum: 1, exclusiveMinimum: true },
      "/exclusiveMinimum: expected a number, found true",
    ],
    ["a negative length", { minLength: -1 }, "/minLength: expected a whole number from 0, found -1"],
    ["a fractional count", { maxItems: 1.5 }, "/maxItems: expected a whole number from 0, found 1.5"],
    ["multiples of zero", { multipleOf: 0 }, "/multipleOf: expected a number above 0, found 0"],
    ["an empty anyOf", { anyOf: [] }, "/anyOf: expected a list of at least one schema, found []"],
    ["null as a description", { description: null }, "/description: expected a string, found null"],
  ])("is refused with its place, what was expected and what was found: %s", (_name, schema, expected) => {
    const whole = record({ a: schema });
    for (const dialect of [OPENAI_STRICT, ANTHROPIC_OUTPUT, GEMINI_JSON_SCHEMA]) {
      expect(refusal(whole, dialect)).toBe(`schema#/properties/a${expected}`);
    }
  });

  it.each<[string, object]>([
    ["lists", { items: [STRING], prefixItems: [STRING] }],
    ["references", { $ref: "#", $dynamicRef: "#" }],
  ])("is refused if it has the same keyword in the forms of two drafts: %s", (_name, schema) => {
    expect(refusal(record({ a: schema }), GEMINI_JSON_SCHEMA)).toBe(
      "schema#/properties/a: expected a schema in the keywords of one draft, found one keyword in those of two",
    );
  });

  it("is reported with a bounded part of its place and of what was found", () => {
    const message = refusal(record({ ["x".repeat(5000)]: { type: "y".repeat(5000) } }), OPENAI_STRICT);
    expect(message.length).toBeLessThan(500);
  });

  it("is sent unchanged if nothing is enforced", () => {
    const schema = record({ a: { type: "text", required: true } });
    expect(accepted(schema, PLAIN)).toEqual({ schema, reported: [], messages: [] });
  });
});

describe("a schema that is too large", () => {
  it.each(ALL)("is refused for %s without exhausting the stack", (_name, dialect) => {
    const deep = JSON.parse(`${'{"not":'.repeat(100_000)}{}${"}".repeat(100_000)}`);
    expect(refusal(deep, dialect)).toBe("schema: expected at most 256 levels of JSON, found more");
    const data = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
    expect(refusal({ type: "object", properties: {}, default: data }, dialect)).toMatch(
      /^schema: expected at most/,
    );
    const wide = { type: "object", properties: {}, enum: Array.from({ length: 200_000 }, () => 1) };
    expect(refusal(wide, dialect)).toBe("schema: expected at most 100000 JSON values, found more");
  });

  it.each([OPENAI_STRICT, ANTHROPIC_OUTPUT, GEMINI_JSON_SCHEMA])(
    "is refused if references multiply it: $name",
    (dialect) => {
      const next = (index: number) => ({ $ref: `#/$defs/p${index + 1}`, description: "d" });
      const $defs = { ...many(60, (index) => record({ x: next(index), y: next(index) })), p60: STRING };
      const message = refusal({ ...record({ a: { $ref: "#/$defs/p0" } }), $defs }, dialect);
      expect(message).toMatch(/expands to more than 20000 schemas|nests more than 256 schemas/);
    },
  );

  it.each<[string, object, string]>([
    ["properties", record(many(5001, () => STRING)), "has 5001 properties instead of at most 5000"],
    ["levels", nested(11, STRING), "has 11 levels instead of at most 10"],
    [
      "enum values",
      record({ a: { enum: Array.from({ length: 1001 }, (_, index) => `${index}`) } }),
      "has 1001 enum values instead of at most 1000",
    ],
    [
      "characters of an enum",
      record({ a: { enum: Array.from({ length: 251 }, (_, index) => `${index}${"x".repeat(60)}`) } }),
      "has 15703 long enum characters instead of at most 15000",
    ],
    [
      "characters",
      record({ ["x".repeat(120_001)]: STRING }),
      "has 120001 characters instead of at most 120000",
    ],
  ])("is refused for OpenAI's limit of %s", (_name, schema, expected) => {
    expect(refusal(schema, OPENAI_STRICT)).toBe(
      `schema: ${expected}, which OpenAI's strict mode does not support`,
    );
  });

  it("is accepted up to the limit", () => {
    expect(accepted(record(many(4999, () => STRING)), OPENAI_STRICT).reported).toEqual([]);
    expect(accepted(nested(10, STRING), OPENAI_STRICT).reported).toEqual([]);
    const optional = (count: number) => ({ type: "object", properties: many(count, () => STRING) });
    expect(accepted(optional(24), ANTHROPIC_OUTPUT).reported).toEqual([]);
    expect(refusal(optional(25), ANTHROPIC_OUTPUT)).toContain("25 optional properties instead of at most 24");
    const unions = (count: number) => record(many(count, () => ({ type: ["string", "null"] })));
    expect(accepted(unions(16), ANTHROPIC_OUTPUT).reported).toEqual([]);
    expect(refusal(unions(17), ANTHROPIC_OUTPUT)).toContain("17 unions instead of at most 16");
  });
});

describe("the work of a translation", () => {
  const values = (count: number) => Array.from({ length: count }, (_, index) => `value ${index}`);
  const referring = (count: number, target: object) => ({
    type: "object",
    properties: many(count, () => ({ $ref: "#/$defs/A", description: "d" })),
    $defs: { A: target },
  });

  it("grows with the number of definitions, even if all want the same name", () => {
    const count = 2000;
    const name = (index: number) => String.fromCodePoint(0x4e00 + index);
    const entries = Array.from({ length: count }, (_, index) => [name(index), { ...STRING }]);
    const properties = many(count, (index) => ({ $ref: `#/$defs/${name(index)}` }));
    const lookups = vi.spyOn(Map.prototype, "has");
    const { schema } = accepted({ ...record(properties), $defs: Object.fromEntries(entries) }, OPENAI_STRICT);
    const calls = lookups.mock.calls.length;
    lookups.mockRestore();
    expect(Object.keys(schema.$defs ?? {})).toHaveLength(count);
    expect(calls).toBeLessThan(20 * count);
  });

  it("is bounded if references multiply a list of values", () => {
    for (const dialect of [OPENAI_STRICT, ANTHROPIC_OUTPUT, GEMINI_JSON_SCHEMA]) {
      expect(refusal(referring(5000, { enum: values(30_000) }), dialect)).toMatch(
        /^schema: expands to more than 1000000 characters/,
      );
      expect(refusal(referring(5000, { const: "x".repeat(300_000) }), dialect)).toMatch(
        /^schema: expands to more than 1000000 characters/,
      );
    }
  });

  it("reads a list of values once, however many references share it", () => {
    const texts = vi.spyOn(JSON, "stringify");
    const { schema } = accepted(referring(50, { enum: values(1000) }), GEMINI_JSON_SCHEMA);
    const calls = texts.mock.calls.length;
    texts.mockRestore();
    expect(Object.values(schema.properties ?? {})).toHaveLength(50);
    expect(calls).toBeLessThan(2000);
  });

  it("is bounded if a union multiplies its sibling keywords", () => {
    const anyOf = Array.from({ length: 5000 }, (_, minLength) => ({ minLength }));
    expect(refusal(record({ a: { enum: values(5000), anyOf } }), GEMINI_JSON_SCHEMA)).toMatch(
      /^schema: expands to more than 1000000 characters/,
    );
  });

  it("is bounded if the parts of allOf all declare properties", () => {
    const allOf = Array.from({ length: 5000 }, (_, index) => ({ properties: { [`p${index}`]: STRING } }));
    expect(refusal(record({ a: { allOf } }), GEMINI_JSON_SCHEMA)).toMatch(
      /^schema: expands to more than 1000000 characters/,
    );
  });

  it("does not repeat a long name in every report", () => {
    const long = record({ ["x".repeat(100_000)]: record(many(50, () => ({ ...STRING, minLength: 1 }))) });
    const { reported } = accepted(long, GEMINI_JSON_SCHEMA);
    expect(reported.join().length).toBeLessThan(10_000);
  });
});

describe("the report of changes", () => {
  it("lists a bounded number of places and counts the others", () => {
    const { reported, messages } = accepted(
      record(many(40, () => ({ ...STRING, minLength: 1 }))),
      GEMINI_JSON_SCHEMA,
    );
    expect(reported).toHaveLength(17);
    expect(reported.at(-1)).toBe("schema");
    expect(messages.at(-1)).toBe("24 more places of the schema were changed");
  });

  it("lists a place once, however often it is referred to", () => {
    const schema = {
      ...record({ a: { $ref: "#/$defs/A" }, b: { $ref: "#/$defs/A" } }),
      $defs: { A: { ...STRING, minLength: 1 } },
    };
    expect(accepted(schema, GEMINI_JSON_SCHEMA).reported).toEqual(["schema#/$defs/A/minLength"]);
  });

  it("gives places as JSON Pointers", () => {
    const schema = record({ "a/b~c": { ...STRING, minLength: 1 } });
    expect(accepted(schema, GEMINI_JSON_SCHEMA).reported).toEqual(["schema#/properties/a~1b~0c/minLength"]);
  });

  it("leaves texts out of the description that would be too long", () => {
    const not = { enum: Array.from({ length: 500 }, (_, index) => `value ${index}`) };
    const { schema, messages } = accepted(record({ a: { ...STRING, not } }), GEMINI_JSON_SCHEMA);
    expect(schema.properties).toEqual({ a: STRING });
    expect(messages).toEqual(["is not enforced by Gemini's JSON Schema; it was left out"]);
  });
});

describe("a property name", () => {
  it.each(ALL)("may be one that JavaScript objects inherit: %s", (_name, dialect) => {
    for (const name of INHERITED) {
      const property = `{"type":"object","properties":{"${name}":{"$ref":"#/$defs/${name}"}},"required":["${name}"]}`;
      const source = `{"type":"object","properties":{"${name}":${property}},"required":["${name}"],"$defs":{"${name}":{"type":"string"}}}`;
      const { schema } = accepted(JSON.parse(source), dialect);
      const outer = Object.getOwnPropertyDescriptor(schema.properties, name)?.value as JsonObject;
      expect(Object.keys(outer.properties as object)).toEqual([name]);
      expect(outer.required).toEqual([name]);
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it.each(["constructor", "__proto__", "toString"])("is left out and noted as a keyword: %s", (name) => {
    const schema = JSON.parse(`{"type":"object","properties":{},"${name}":{"type":"string"}}`);
    expect(accepted(schema, GEMINI_JSON_SCHEMA).reported).toEqual([`noted schema#/${name}`]);
  });
});

describe("the caller's schema", () => {
  const source =
    '{"properties":{"z":{"type":"integer","maximum":12345678901234567890,"minimum":-0.1},"a":{"const":9007199254740993}},"required":["z","a"],"type":"object"}';

  it.each(ALL)("is not changed, and the result keeps its order and long numbers: %s", (_name, dialect) => {
    const schema = frozen(parseJson(source)) as JsonObject;
    const outcome = compiled(schema, dialect);
    expect(JSON.stringify(schema)).toBe(source);
    const sent = "schema" in outcome ? JSON.stringify(outcome.schema) : "";
    expect(Object.keys(JSON.parse(sent).properties)).toEqual(["z", "a"]);
    expect(sent.indexOf('"properties"')).toBeLessThan(sent.lastIndexOf('"required"'));
    expect(sent).toContain("12345678901234567890");
    expect(sent).toContain("9007199254740993");
  });

  it("is itself the result if nothing needs to change", () => {
    const schema = JSON.parse(source);
    expect(accepted(schema, PLAIN).schema).toBe(schema);
    expect(accepted(schema, dialects.TOOL_PARAMETERS).schema).toBe(schema);
  });
});

function frozen(value: unknown): unknown {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
