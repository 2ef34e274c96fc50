import { describe, expect, it } from "vitest";
import { type JsonObject, parseJson } from "../../../src/kit/json/json.ts";
import * as dialects from "../../../src/kit/json-schema/dialects.ts";
import { TROUBLESOME } from "./arbitraries.ts";
import { accepted, compiled, refusal } from "./compiled.ts";

const { ANTHROPIC_OUTPUT, GEMINI_JSON_SCHEMA, GEMINI_OPENAPI, OPENAI_STRICT, PLAIN } = dialects;
const ALL = Object.entries(dialects);
const STRING = { type: "string" };

const record = (properties: object) => ({ type: "object", properties, required: Object.keys(properties) });
const many = (count: number, value: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, value(index)]));
const nested = (depth: number, inside: object): object =>
  Array.from({ length: depth }).reduce<object>((below) => record({ a: below }), inside);

describe("what is no JSON Schema", () => {
  it.each<[string, object, string]>([
    [
      "a type that there is not",
      { type: "text" },
      '/type: expected one or some of null, boolean, object, array, number, integer, string, found "text"',
    ],
    [
      "a type that is a number",
      { type: 1 },
      "/type: expected one or some of null, boolean, object, array, number, integer, string, found 1",
    ],
    [
      "no types",
      { type: [] },
      "/type: expected one or some of null, boolean, object, array, number, integer, string, found an empty list",
    ],
    ["required as in draft 3", { required: true }, "/required: expected a list of names, found true"],
    [
      "properties in a list",
      { properties: [STRING] },
      "/properties: expected an object of schemas, found a list of something else",
    ],
    [
      "a property that is null",
      { properties: { b: null } },
      "/properties: expected an object of schemas, found an object of something else",
    ],
    [
      "items that are a string",
      { items: "string" },
      '/items: expected a schema or a list of schemas, found "string"',
    ],
    ["an enum that is no list", { enum: "a" }, '/enum: expected a list, found "a"'],
    [
      "exclusiveMinimum as in draft 4",
      { minimum: 1, exclusiveMinimum: true },
      "/exclusiveMinimum: expected a number, found true",
    ],
    ["a length below zero", { minLength: -1 }, "/minLength: expected a whole number from 0, found -1"],
    ["a broken count", { maxItems: 1.5 }, "/maxItems: expected a whole number from 0, found 1.5"],
    ["multiples of nothing", { multipleOf: 0 }, "/multipleOf: expected a number above 0, found 0"],
    ["anyOf nothing", { anyOf: [] }, "/anyOf: expected a list of at least one schema, found an empty list"],
    ["a description that is null", { description: null }, "/description: expected a string, found null"],
    [
      "names that are none",
      { dependentRequired: { a: "b" } },
      "/dependentRequired: expected an object of lists of names, found an object of something else",
    ],
    [
      "dependencies that are none",
      { dependencies: { a: 1 } },
      "/dependencies: expected an object of schemas or lists of names, found an object of something else",
    ],
  ])("is refused by place, found and expected: %s", (_name, schema, expected) => {
    const whole = record({ a: schema });
    for (const dialect of [OPENAI_STRICT, ANTHROPIC_OUTPUT, GEMINI_JSON_SCHEMA, GEMINI_OPENAPI]) {
      expect(refusal(whole, dialect)).toBe(`schema#/properties/a${expected}`);
    }
  });

  it.each<[string, object, string]>([
    ["lists", { items: [STRING], prefixItems: [STRING] }, "prefixItems"],
    ["dependencies", { dependencies: { a: ["b"] }, dependentRequired: { b: ["a"] } }, "dependentRequired"],
    ["references", { $ref: "#", $dynamicRef: "#" }, "$ref"],
  ])("is refused where it is in the words of two drafts: %s", (_name, schema, key) => {
    const found = `found "${key}" in the words of two drafts`;
    expect(refusal(record({ a: schema }), GEMINI_JSON_SCHEMA)).toBe(
      `schema#/properties/a: expected a schema in the words of one draft, ${found}`,
    );
  });

  it("shows a bounded part of what was found, and of where", () => {
    const message = refusal(record({ ["x".repeat(5000)]: { type: "y".repeat(5000) } }), OPENAI_STRICT);
    expect(message.length).toBeLessThan(500);
  });

  it("goes as it came where nothing is enforced", () => {
    const schema = record({ a: { type: "text", required: true } });
    expect(accepted(schema, PLAIN)).toEqual({ schema, told: [], messages: [] });
  });
});

describe("a schema that is too large", () => {
  it.each(ALL)("is refused by %s before it costs the stack", (_name, dialect) => {
    const deep = JSON.parse(`${'{"not":'.repeat(100_000)}{}${"}".repeat(100_000)}`);
    expect(refusal(deep, dialect)).toBe("schema: expected at most 256 levels of JSON, found more");
    const data = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
    expect(refusal({ type: "object", properties: {}, default: data }, dialect)).toMatch(
      /^schema: expected at most/,
    );
    const wide = { type: "object", properties: {}, enum: Array.from({ length: 200_000 }, () => 1) };
    expect(refusal(wide, dialect)).toBe("schema: expected at most 100000 JSON values, found more");
  });

  it.each([OPENAI_STRICT, ANTHROPIC_OUTPUT, GEMINI_JSON_SCHEMA, GEMINI_OPENAPI])(
    "is refused where references multiply it: $name",
    (dialect) => {
      const next = (index: number) => ({ $ref: `#/$defs/p${index + 1}`, description: "d" });
      const $defs = { ...many(60, (index) => record({ x: next(index), y: next(index) })), p60: STRING };
      const message = refusal({ ...record({ a: { $ref: "#/$defs/p0" } }), $defs }, dialect);
      expect(message).toMatch(
        /comes to more than 20000 schemas, written out|more than 128 schemas inside one another/,
      );
    },
  );

  it.each<[string, object, string]>([
    ["properties", record(many(5001, () => STRING)), "comes to 5001 properties instead of at most 5000"],
    ["levels", nested(11, STRING), "comes to 11 objects inside one another instead of at most 10"],
    [
      "enum values",
      record({ a: { enum: Array.from({ length: 1001 }, (_, index) => `${index}`) } }),
      "comes to 1001 enum values instead of at most 1000",
    ],
    [
      "characters of an enum",
      record({ a: { enum: Array.from({ length: 251 }, (_, index) => `${index}${"x".repeat(60)}`) } }),
      "comes to 15703 characters in an enum of more than 250 values instead of at most 15000",
    ],
    [
      "characters",
      record({ ["x".repeat(120_001)]: STRING }),
      "comes to 120001 characters in names and enum values instead of at most 120000",
    ],
  ])("is refused by OpenAI's limit of %s", (_name, schema, expected) => {
    expect(refusal(schema, OPENAI_STRICT)).toBe(
      `schema: ${expected}, which OpenAI's strict mode does not take`,
    );
  });

  it("is taken up to the limit", () => {
    expect(accepted(record(many(4999, () => STRING)), OPENAI_STRICT).told).toEqual([]);
    expect(accepted(nested(10, STRING), OPENAI_STRICT).told).toEqual([]);
    const optional = (count: number) => ({ type: "object", properties: many(count, () => STRING) });
    expect(accepted(optional(24), ANTHROPIC_OUTPUT).told).toEqual([]);
    expect(refusal(optional(25), ANTHROPIC_OUTPUT)).toContain(
      "25 properties that are not required instead of at most 24",
    );
    const unions = (count: number) => record(many(count, () => ({ type: ["string", "null"] })));
    expect(accepted(unions(16), ANTHROPIC_OUTPUT).told).toEqual([]);
    expect(refusal(unions(17), ANTHROPIC_OUTPUT)).toContain("17 unions instead of at most 16");
  });
});

describe("what is told", () => {
  it("is bounded, and says how much more there is", () => {
    const { told, messages } = accepted(
      record(many(40, () => ({ ...STRING, minLength: 1 }))),
      GEMINI_JSON_SCHEMA,
    );
    expect(told).toHaveLength(17);
    expect(told.at(-1)).toBe("schema");
    expect(messages.at(-1)).toBe("24 more places of the schema were changed");
  });

  it("is told once for a place that is come upon twice", () => {
    const schema = {
      ...record({ a: { $ref: "#/$defs/A" }, b: { $ref: "#/$defs/A" } }),
      $defs: { A: { ...STRING, minLength: 1 } },
    };
    expect(accepted(schema, GEMINI_JSON_SCHEMA).told).toEqual(["schema#/$defs/A/minLength"]);
  });

  it("names places as JSON Pointers do", () => {
    const schema = record({ "a/b~c": { ...STRING, minLength: 1 } });
    expect(accepted(schema, GEMINI_JSON_SCHEMA).told).toEqual(["schema#/properties/a~1b~0c/minLength"]);
  });

  it("puts no more of a keyword into words than one would read", () => {
    const not = { enum: Array.from({ length: 500 }, (_, index) => `value ${index}`) };
    const { schema, messages } = accepted(record({ a: { ...STRING, not } }), GEMINI_JSON_SCHEMA);
    expect(schema.properties).toEqual({ a: STRING });
    expect(messages).toEqual(["is not enforced by Gemini's JSON Schema; it was left out"]);
  });
});

describe("a name", () => {
  it.each(ALL)("that JavaScript has a meaning for is only a name: %s", (_name, dialect) => {
    for (const name of TROUBLESOME) {
      const property = `{"type":"object","properties":{"${name}":{"$ref":"#/$defs/${name}"}},"required":["${name}"]}`;
      const source = `{"type":"object","properties":{"${name}":${property}},"required":["${name}"],"$defs":{"${name}":{"type":"string"}}}`;
      const { schema } = accepted(JSON.parse(source), dialect);
      const outer = Object.getOwnPropertyDescriptor(schema.properties, name)?.value as JsonObject;
      expect(Object.keys(outer.properties as object)).toEqual([name]);
      expect(outer.required).toEqual([name]);
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it.each(["constructor", "__proto__", "toString"])("that is no keyword is left out: %s", (name) => {
    const schema = JSON.parse(`{"type":"object","properties":{},"${name}":{"type":"string"}}`);
    expect(accepted(schema, GEMINI_JSON_SCHEMA).told).toEqual([`noted schema#/${name}`]);
  });
});

describe("the source", () => {
  const source =
    '{"properties":{"z":{"type":"integer","maximum":12345678901234567890,"minimum":-0.1},"a":{"const":9007199254740993}},"required":["z","a"],"type":"object"}';

  it.each(ALL)("is not changed, and the result has its order and its numbers: %s", (_name, dialect) => {
    const schema = frozen(parseJson(source)) as JsonObject;
    const outcome = compiled(schema, dialect);
    expect(JSON.stringify(schema)).toBe(source);
    const sent = "schema" in outcome ? JSON.stringify(outcome.schema) : "";
    expect(Object.keys(JSON.parse(sent).properties)).toEqual(["z", "a"]);
    expect(sent.indexOf('"properties"')).toBeLessThan(sent.lastIndexOf('"required"'));
    expect(sent).toContain("12345678901234567890");
    expect(sent).toContain("9007199254740993");
  });

  it("that is plain is the result itself", () => {
    const schema = JSON.parse(source);
    expect(accepted(schema, PLAIN).schema).toBe(schema);
    expect(accepted(schema, dialects.TOOL_PARAMETERS).schema).toBe(schema);
  });
});

function frozen(value: unknown): unknown {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}
