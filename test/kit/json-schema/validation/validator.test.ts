import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../../src/core/errors.ts";
import type { JsonValue } from "../../../../src/kit/json/json.ts";
import {
  createSchemaValidator,
  violationText,
} from "../../../../src/kit/json-schema/validation/validator.ts";
import { schemas } from "../arbitraries.ts";
import { arbitraryInstances } from "../instances.ts";
import { accepts } from "../validator.ts";

/** Returns the problems of a value, in sentences. */
function getProblems(schema: unknown, value: JsonValue): readonly string[] {
  return createSchemaValidator(JSON.stringify(schema)).validate(value).map(violationText);
}

/** The message of the error with which a schema is refused. */
function toRefusal(schema: unknown): string {
  try {
    createSchemaValidator(JSON.stringify(schema));
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidRequestError);
    if (error instanceof InvalidRequestError) return error.message;
  }
  throw new Error("expected a refusal");
}

/** Values that are valid for a schema, and invalid values with their problems. */
interface Case {
  readonly valid: readonly JsonValue[];
  readonly invalid: readonly (readonly [value: JsonValue, ...problems: string[]])[];
}

const CASES: readonly (readonly [schema: unknown, Case])[] = [
  [true, { valid: [1, null, {}], invalid: [] }],
  [false, { valid: [], invalid: [[1, "expected no value here, found an integer"]] }],
  [{}, { valid: [1, null, "a", [], {}], invalid: [] }],
  [
    { type: "integer" },
    {
      valid: [1, -1, 1.0, 1e300],
      invalid: [
        ["1", "expected an integer, found a string"],
        [1.5, "expected an integer, found a number with a fraction"],
        [null, "expected an integer, found null"],
      ],
    },
  ],
  [{ type: "number" }, { valid: [1, 1.5], invalid: [[true, "expected a number, found a boolean"]] }],
  [
    { type: ["string", "null"] },
    { valid: ["a", null], invalid: [[[], "expected a string or null, found an array"]] },
  ],
  [
    { type: "STRING", nullable: true },
    { valid: ["a", null], invalid: [[{}, "expected a string, found an object"]] },
  ],
  [{ type: "object" }, { valid: [{}], invalid: [[[], "expected an object, found an array"]] }],
  [
    { enum: ["a", 1, null, { a: [1], b: 2 }] },
    {
      valid: ["a", 1, null, { b: 2, a: [1] }],
      invalid: [
        ["b", 'expected one of "a", 1, null, {"a":[1],"b":2}, found another value (a string)'],
        [{ a: [1] }, 'expected one of "a", 1, null, {"a":[1],"b":2}, found another value (an object)'],
        [true, 'expected one of "a", 1, null, {"a":[1],"b":2}, found another value (a boolean)'],
      ],
    },
  ],
  [{ const: 0 }, { valid: [0, -0], invalid: [[false, "expected 0, found another value (a boolean)"]] }],
  [
    { minimum: 1, maximum: 3 },
    {
      valid: [1, 3, "a"],
      invalid: [
        [0, "expected at least 1, found a smaller number"],
        [3.1, "expected at most 3, found a greater number"],
      ],
    },
  ],
  [
    { exclusiveMinimum: 1, exclusiveMaximum: 3 },
    {
      valid: [1.1, 2],
      invalid: [
        [1, "expected a number above 1, found one that is not"],
        [3, "expected a number below 3, found one that is not"],
      ],
    },
  ],
  [
    { multipleOf: 0.01 },
    {
      valid: [0, 19.99, 0.07, -4.35, 1e300],
      invalid: [[0.075, "expected a multiple of 0.01, found another number"]],
    },
  ],
  [
    { multipleOf: 3 },
    { valid: [9, -3], invalid: [[1e22, "expected a multiple of 3, found another number"]] },
  ],
  [
    { minLength: 2, maxLength: 3 },
    {
      valid: ["ab", "😀😀😀", 1],
      invalid: [
        ["😀", "expected at least 2 characters, found 1"],
        ["abcd", "expected at most 3 characters, found 4"],
      ],
    },
  ],
  [{ minLength: 1 }, { valid: ["a"], invalid: [["", "expected at least 1 character, found 0"]] }],
  [
    { pattern: "^[a-z]+$" },
    { valid: ["abc", 1], invalid: [["Abc", 'expected a string that matches the pattern "^[a-z]+$"']] },
  ],
  [
    { minItems: 1, maxItems: 2 },
    {
      valid: [[1], [1, 2]],
      invalid: [
        [[], "expected at least 1 item, found 0"],
        [[1, 2, 3], "expected at most 2 items, found 3"],
      ],
    },
  ],
  [
    { uniqueItems: true },
    {
      valid: [[1, "1", true, [1], { a: 1 }, { a: 2 }]],
      invalid: [
        [[{ a: 1, b: 2 }, 1, { b: 2, a: 1 }], "/2: expected unique items, found the same as at index 0"],
      ],
    },
  ],
  [
    { items: { type: "string" } },
    { valid: [[], ["a"]], invalid: [[["a", 1], "/1: expected a string, found an integer"]] },
  ],
  [
    { prefixItems: [{ type: "string" }, {}], items: false },
    {
      valid: [["a"], ["a", 1]],
      invalid: [
        [[1], "/0: expected a string, found an integer"],
        [["a", 1, 2], "/2: expected no value here, found an integer"],
      ],
    },
  ],
  [
    { items: [{ type: "string" }], additionalItems: { type: "null" } },
    { valid: [["a", null]], invalid: [[["a", 1], "/1: expected null, found an integer"]] },
  ],
  [
    { contains: { type: "null" } },
    {
      valid: [[1, null]],
      invalid: [[[1], 'expected at least 1 item, found 0 that the schema of "contains" accepts']],
    },
  ],
  [
    { contains: { type: "null" }, minContains: 0, maxContains: 1 },
    {
      valid: [[], [1], [null]],
      invalid: [[[null, null], 'expected at most 1 item, found 2 that the schema of "contains" accepts']],
    },
  ],
  [
    { prefixItems: [{}], contains: { type: "null" }, unevaluatedItems: { type: "string" } },
    { valid: [[1, null, "a"]], invalid: [[[1, null, 2], "/2: expected a string, found an integer"]] },
  ],
  [
    { required: ["a", "b"] },
    { valid: [{ a: 1, b: 2 }, 1], invalid: [[{ a: 1 }, 'expected the property "b", found none']] },
  ],
  [
    { minProperties: 1, maxProperties: 2 },
    {
      valid: [{ a: 1 }],
      invalid: [
        [{}, "expected at least 1 property, found 0"],
        [{ a: 1, b: 2, c: 3 }, "expected at most 2 properties, found 3"],
      ],
    },
  ],
  [
    { properties: { a: { properties: { "b/~": { type: "null" } } } } },
    { valid: [{ a: {} }], invalid: [[{ a: { "b/~": 1 } }, "/a/b~1~0: expected null, found an integer"]] },
  ],
  [
    {
      properties: { a: {}, b: {} },
      patternProperties: { "^x": { type: "string" } },
      additionalProperties: false,
    },
    {
      valid: [{ a: 1, x1: "a" }],
      invalid: [
        [{ x1: 1 }, "/x1: expected a string, found an integer"],
        [{ c: 1 }, '/c: expected only the properties "a", "b", found another one'],
      ],
    },
  ],
  [
    { additionalProperties: { type: "integer" } },
    { valid: [{ a: 1 }], invalid: [[{ a: "1" }, "/a: expected an integer, found a string"]] },
  ],
  [
    { additionalProperties: false },
    { valid: [{}], invalid: [[{ a: 1 }, "/a: expected no properties, found another one"]] },
  ],
  [
    { propertyNames: { maxLength: 2 } },
    {
      valid: [{ ab: 1 }],
      invalid: [[{ abc: 1 }, '/abc: expected a name that the schema of "propertyNames" accepts']],
    },
  ],
  [
    { dependentRequired: { a: ["b"] } },
    {
      valid: [{}, { a: 1, b: 1 }],
      invalid: [[{ a: 1 }, 'expected the property "b" beside "a", found none']],
    },
  ],
  [
    { dependencies: { a: ["b"], c: { required: ["d"] } } },
    {
      valid: [
        { a: 1, b: 1 },
        { c: 1, d: 1 },
      ],
      invalid: [
        [
          { a: 1, c: 1 },
          'expected the property "b" beside "a", found none',
          'expected the property "d", found none',
        ],
      ],
    },
  ],
  [
    { dependentSchemas: { a: { required: ["b"] } } },
    { valid: [{ b: 1 }], invalid: [[{ a: 1 }, 'expected the property "b", found none']] },
  ],
  [
    { $ref: "#/$defs/S", maxLength: 1, $defs: { S: { type: "string" } } },
    {
      valid: ["a"],
      invalid: [
        [1, "expected a string, found an integer"],
        ["ab", "expected at most 1 character, found 2"],
      ],
    },
  ],
  [
    {
      type: "object",
      properties: { next: { anyOf: [{ $ref: "#" }, { type: "null" }] } },
      required: ["next"],
    },
    {
      valid: [{ next: { next: null } }],
      invalid: [
        [{ next: { next: {} } }, '/next/next: expected the property "next", found none'],
        [{ next: 1 }, "/next: expected an object or null, found an integer"],
      ],
    },
  ],
  [
    { $ref: "#named", $defs: { A: { $anchor: "named", type: "null" } } },
    { valid: [null], invalid: [[1, "expected null, found an integer"]] },
  ],
  [
    { allOf: [{ required: ["a"] }, { required: ["b"] }] },
    {
      valid: [{ a: 1, b: 1 }],
      invalid: [[{}, 'expected the property "a", found none', 'expected the property "b", found none']],
    },
  ],
  [
    { anyOf: [{ type: "string", minLength: 2 }, { type: "integer" }] },
    {
      valid: ["ab", 1],
      invalid: [
        ["a", "expected at least 2 characters, found 1"],
        [null, "expected a string or an integer, found null"],
      ],
    },
  ],
  [
    {
      oneOf: ["circle", "square"].map((kind) => ({
        type: "object",
        properties: { kind: { const: kind }, size: { type: "number" } },
        required: ["kind", "size"],
      })),
    },
    {
      valid: [{ kind: "circle", size: 1 }],
      invalid: [
        [{ kind: "square", size: "1" }, "/size: expected a number, found a string"],
        [
          { kind: "line", size: 1 },
          "expected a value that matches one of 2 alternatives, found an object that matches none",
        ],
      ],
    },
  ],
  [
    { oneOf: [{ minimum: 1 }, { maximum: 3 }] },
    {
      valid: [0, 4],
      invalid: [[2, "expected a value that matches exactly one of 2 alternatives, found one that matches 2"]],
    },
  ],
  [
    { not: { type: "null" } },
    { valid: [1], invalid: [[null, 'expected a value that the schema of "not" does not accept']] },
  ],
  [
    JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}'),
    {
      valid: [{ a: 1, b: 1 }, { c: 1 }],
      invalid: [
        [{ a: 1 }, 'expected the property "b", found none'],
        [{}, 'expected the property "c", found none'],
      ],
    },
  ],
  [
    {
      allOf: [{ properties: { a: {} } }],
      anyOf: [{ required: ["b"], properties: { b: {} } }, true],
      unevaluatedProperties: false,
    },
    { valid: [{ a: 1, b: 1 }], invalid: [[{ a: 1, c: 1 }, "/c: expected no properties, found another one"]] },
  ],
  [
    { properties: { ["__proto__"]: { type: "string" } } },
    {
      valid: [{}, JSON.parse('{"__proto__":"a"}')],
      invalid: [[JSON.parse('{"__proto__":1}'), "/__proto__: expected a string, found an integer"]],
    },
  ],
  [
    { required: ["toString"], properties: { constructor: { type: "null" } } },
    { valid: [{ toString: 1 }], invalid: [[{}, 'expected the property "toString", found none']] },
  ],
];

const FORMATS: readonly (readonly [format: string, valid: readonly string[], invalid: readonly string[]])[] =
  [
    [
      "date",
      ["2024-02-29", "0000-02-29"],
      ["2023-02-29", "2024-13-01", "2024-00-01", "2024-1-01", "2024-01-00", ""],
    ],
    ["time", ["00:00:00Z", "23:59:60.123+05:30"], ["24:00:00Z", "12:00", "12:00:00", "12:00:00+5"]],
    [
      "date-time",
      ["2024-01-01T00:00:00Z", "2024-01-01t00:00:00.5-08:00"],
      ["2024-01-01", "2024-02-30T00:00:00Z"],
    ],
    ["duration", ["P1Y2M3DT4H5M6S", "PT1H", "P2W", "P1D"], ["P", "PT", "1D", "P1YT", "P1W2D", "P1H"]],
    ["uuid", ["2EB8AA08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08aa9811eab4aa73b441d16380", "x"]],
    ["email", ["a@b", "joe.o'neil+x@example.com"], ["a", "a@", "@b", "a@b@c", "a b@c"]],
    [
      "hostname",
      ["example.com", "a-b.c", "xn--4gbwdl.xn--wgbh1c"],
      ["-a.b", "a..b", "a_b", "", "a".repeat(64)],
    ],
    ["ipv4", ["127.0.0.1"], ["256.0.0.1", "1.2.3", "01.2.3.4"]],
    ["ipv6", ["::1", "fe80::1"], ["::1%eth0", "12345::", "1.2.3.4"]],
    ["uri", ["https://example.com/a?b#c", "urn:isbn:1"], ["example.com", "/a", "http://a b"]],
  ];

describe("validate()", () => {
  it.each(CASES)("checks %j", (schema, { valid, invalid }) => {
    for (const value of valid) expect(getProblems(schema, value), JSON.stringify(value)).toEqual([]);
    for (const [value, ...problems] of invalid) expect(getProblems(schema, value)).toEqual(problems);
  });

  it.each(FORMATS)("checks the format %s", (format, valid, invalid) => {
    for (const text of valid) expect(getProblems({ format }, text), text).toEqual([]);
    for (const text of invalid)
      expect(getProblems({ format }, text), text).toEqual([`expected a string in the format ${format}`]);
    expect(getProblems({ format }, 1)).toEqual([]);
  });

  it("does not check formats that it does not know", () => {
    expect(getProblems({ format: "int64" }, "a")).toEqual([]);
  });

  it("agrees with an independent validator on generated schemas and values", () => {
    let valid = 0;
    let invalid = 0;
    const cases = schemas.chain((schema) =>
      fc.tuple(
        fc.constant(schema),
        fc.array(fc.oneof(arbitraryInstances(schema), fc.jsonValue({ maxDepth: 2 })), { maxLength: 5 }),
      ),
    );
    fc.assert(
      fc.property(cases, ([schema, values]) => {
        const text = JSON.stringify(schema);
        // Schemas that apply themselves to the same value are refused; "int64" is not checked, "contains" marks items.
        fc.pre(!text.includes('"#"') && !text.includes('"contains"'));
        let validator: ReturnType<typeof createSchemaValidator>;
        try {
          validator = createSchemaValidator(text);
        } catch (error) {
          expect(String(error)).toContain("does not apply itself");
          return;
        }
        for (const value of values) {
          const parsed = JSON.parse(JSON.stringify(value));
          const expected = accepts(schema, parsed);
          const violations = validator.validate(parsed);
          expect(
            violations.length === 0,
            `${text} ${JSON.stringify(value)} ${JSON.stringify(violations)}`,
          ).toBe(expected);
          if (expected) valid += 1;
          else invalid += 1;
        }
      }),
      { numRuns: 2000 },
    );
    expect(Math.min(valid, invalid)).toBeGreaterThan(300);
  });

  it("gives at most 20 violations, and repeats nothing of the value but names", () => {
    const secret = "a secret of the caller";
    const value = { list: Array.from({ length: 100 }, () => secret), [`n${"a".repeat(500)}`]: secret };
    const schema = {
      properties: {
        list: { items: { type: "integer", enum: [1], pattern: "^b", maxLength: 1, format: "date" } },
      },
      additionalProperties: { const: 1 },
    };
    const violations = createSchemaValidator(JSON.stringify(schema)).validate(value);
    expect(violations).toHaveLength(20);
    expect(JSON.stringify(violations)).not.toContain("secret");
    const [long] = createSchemaValidator(JSON.stringify({ additionalProperties: false }))
      .validate(value)
      .slice(1);
    expect(long?.path.length).toBeLessThanOrEqual(201);
    const many = { enum: Array.from({ length: 10_000 }, (_, index) => `value ${index}`) };
    expect(getProblems(many, 1)[0]?.length).toBeLessThan(500);
  });
});

describe("createSchemaValidator()", () => {
  it.each([
    ["not JSON", "schema_json: expected a JSON Schema, found invalid JSON"],
    ["[]", "schema_json: expected a JSON Schema, found invalid JSON"],
    ["null", "schema_json: expected a JSON Schema, found invalid JSON"],
  ])("refuses the text %s", (text, message) => {
    expect(() => createSchemaValidator(text)).toThrow(message);
    expect(() => createSchemaValidator(text)).toThrow(InvalidRequestError);
  });

  it.each<[unknown, string]>([
    [{ type: "strin" }, "schema_json#/type: expected one or some of null, boolean"],
    [{ properties: { a: 5 } }, "schema_json#/properties: expected an object of schemas"],
    [{ items: { minLength: -1 } }, "schema_json#/items/minLength: expected a whole number from 0, found -1"],
    [
      { $defs: { Unused: { required: "a" } } },
      "schema_json#/$defs/Unused/required: expected a list of names",
    ],
    [{ exclusiveMinimum: true }, "schema_json#/exclusiveMinimum: expected a number, found true"],
    [{ multipleOf: 0 }, "schema_json#/multipleOf: expected a number above 0, found 0"],
    [{ not: 1 }, "schema_json#/not: expected a schema"],
    [
      { dependentRequired: { a: "b" } },
      "schema_json#/dependentRequired: expected an object of lists of names",
    ],
    [{ minContains: "1" }, "schema_json#/minContains: expected a whole number from 0"],
    [{ anyOf: [] }, "schema_json#/anyOf: expected a list of at least one schema"],
    [
      { pattern: "(" },
      "schema_json#/pattern: expected a regular expression (ECMA-262), found a syntax error",
    ],
    [{ patternProperties: { "(?P<x>a)": {} } }, "expected a regular expression (ECMA-262)"],
    [{ $ref: "#/$defs/None" }, "expected references to a place in the schema"],
    [{ $ref: "https://example.com/schema.json" }, "expected references to a place in the schema"],
    [{ $ref: "#" }, "schema_json: expected a schema that does not apply itself to the same value"],
    [
      {
        properties: { a: { $ref: "#/$defs/A" } },
        $defs: { A: { allOf: [{ $ref: "#/$defs/B" }] }, B: { not: { $ref: "#/$defs/A" } } },
      },
      "expected a schema that does not apply itself to the same value",
    ],
  ])("refuses %j", (schema, message) => {
    expect(toRefusal(schema)).toContain(message);
  });

  it("names the field that it is given", () => {
    expect(() => createSchemaValidator("{", "tools[0].function.parameters_json")).toThrow(
      "tools[0].function.parameters_json: expected",
    );
  });

  it("lists the patterns that it does not check", () => {
    const schema = {
      properties: { a: { pattern: "(a)\\1" } },
      patternProperties: { "(?<=a)b": { type: "null" } },
    };
    const validator = createSchemaValidator(JSON.stringify({ ...schema, additionalProperties: false }));
    expect(validator.unchecked).toEqual(["/patternProperties/(?<=a)b", "/properties/a/pattern"]);
    expect(validator.validate({ a: "x", ab: 1 })).toEqual([]);
    expect(createSchemaValidator('{"pattern":"^a+$"}').unchecked).toEqual([]);
  });
});

describe("a hostile schema or value", () => {
  const TOO_MUCH = [{ path: "", message: expect.stringContaining("in bounded time") }];

  function nested(levels: number): JsonValue {
    return JSON.parse("[".repeat(levels) + "]".repeat(levels));
  }

  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const doubling = letters.map((letter, index) => {
    const next = letters[index + 1];
    const both = { anyOf: [{ $ref: `#/$defs/${next}` }, { $ref: `#/$defs/${next}` }] };
    return [letter, next === undefined ? { type: "null" } : both];
  });
  const chain = Array.from({ length: 20_000 }, (_, index) => [
    `d${index}`,
    { $ref: `#/$defs/d${index + 1}` },
  ]);
  const tree = { anyOf: [{ type: "integer" }, { type: "array", items: { $ref: "#" } }] };
  const list = Array.from({ length: 20_000 }, (_, index) => ({ a: index }));

  it.each<[string, unknown, JsonValue]>([
    ["alternatives that double 25 times", { $ref: "#/$defs/a", $defs: Object.fromEntries(doubling) }, 1],
    [
      "20,000 references in a row",
      { $ref: "#/$defs/d0", $defs: { ...Object.fromEntries(chain), d20000: {} } },
      1,
    ],
    ["10,000 levels of arrays", tree, nested(10_000)],
    ["10,000 levels where items are compared", { uniqueItems: true }, [nested(10_000)]],
    ["10,000 levels where a value is compared", { enum: [[1]] }, nested(10_000)],
    ["1,000 comparisons of a large value", { allOf: Array(1000).fill({ enum: [[1]] }) }, list],
    ["a pattern for a text of 10 MB", { pattern: "^a*$" }, "a".repeat(10_000_000)],
    ["20,000 property names that every item lacks", { items: { required: Array(20_000).fill("b") } }, list],
  ])("ends with an error: %s", (_, schema, value) => {
    expect(createSchemaValidator(JSON.stringify(schema)).validate(value)).toEqual(TOO_MUCH);
  });

  it("may be nested as deeply as JSON in a request", () => {
    expect(getProblems(tree, nested(256))).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["too many levels", JSON.parse(`${'{"not":'.repeat(300)}{}${"}".repeat(300)}`)],
    ["too many values", { enum: Array(100_001).fill(1) }],
  ])("is refused: %s", (_, schema) => {
    expect(toRefusal(schema)).toContain("schema_json: expected at most");
  });

  it("has only its JSON members, not inherited JavaScript properties", () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"type":"string"}},"$defs":{"__proto__":{"required":["x"]}}}',
    );
    expect(getProblems(schema, {})).toEqual([]);
    expect(toRefusal({ $ref: "#/$defs/toString", $defs: {} })).toContain("expected references to a place");
  });
});
