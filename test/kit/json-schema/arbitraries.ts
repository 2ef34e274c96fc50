import fc from "fast-check";

type Schema = Record<string, unknown>;

const NAMES = ["a", "b", "c"] as const;

/** Few values, so that many are valid for a schema. */
const scalar = fc.constantFrom<unknown>(
  null,
  true,
  false,
  0,
  1,
  2,
  1.5,
  -1,
  "",
  "a",
  "ab",
  "2026-01-01",
  "x:y",
);

const name = fc.constantFrom(...NAMES);

const type = fc.constantFrom("null", "boolean", "object", "array", "number", "integer", "string");
const scalarType = fc.constantFrom("null", "boolean", "number", "integer", "string");
const count = fc.integer({ min: 0, max: 3 });
const number = fc.constantFrom(-1, 0, 1, 1.5, 2);

/** One keyword with its value. */
function keyword(name: string, value: fc.Arbitrary<unknown>): fc.Arbitrary<Schema> {
  return value.map((each) => ({ [name]: each }));
}

/** A schema of a few keywords: no value would be valid with all keywords at once. */
function toSchema(keywords: readonly fc.Arbitrary<Schema>[], most: number): fc.Arbitrary<Schema> {
  return fc.array(fc.oneof(...keywords), { maxLength: most }).map((parts) => Object.assign({}, ...parts));
}

/** Keywords without subschemas. */
const PLAIN = [
  keyword("type", type),
  keyword("type", fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
  keyword("enum", fc.array(scalar, { minLength: 1, maxLength: 4 })),
  keyword("const", scalar),
  keyword("nullable", fc.constant(true)),
  keyword("minLength", count),
  keyword("maxLength", count),
  keyword("pattern", fc.constantFrom("^a", "^(?!a)", "b$")),
  keyword("format", fc.constantFrom("date", "uri", "int64")),
  keyword("minimum", number),
  keyword("maximum", number),
  keyword("exclusiveMinimum", number),
  keyword("exclusiveMaximum", number),
  keyword("multipleOf", fc.constantFrom(1, 2, 0.5)),
  keyword("minItems", count),
  keyword("maxItems", count),
  keyword("uniqueItems", fc.boolean()),
  keyword("minProperties", count),
  keyword("maxProperties", count),
  keyword("required", fc.uniqueArray(name, { maxLength: 2 })),
  keyword("dependentRequired", createMap(name, fc.uniqueArray(name, { maxLength: 2 }), 1)),
  keyword("title", fc.constant("T")),
  keyword("description", fc.constantFrom("D", "E")),
  keyword("default", scalar),
  keyword("x-other", scalar),
  keyword("unheard", scalar),
];

const reference = fc.constantFrom("#", "#/$defs/One", "#/$defs/Two");

const { schema, object } = fc.letrec<{ schema: unknown; object: Schema }>((tie) => {
  const list = fc.array(tie("schema"), { minLength: 1, maxLength: 3 });
  const nested = [
    keyword("$ref", reference),
    keyword("properties", createMap(name, tie("schema"), 3)),
    keyword("patternProperties", createMap(fc.constantFrom("^a", "c"), tie("schema"), 1)),
    ...["additionalProperties", "unevaluatedProperties", "propertyNames", "items", "additionalItems"].map(
      (each) => keyword(each, tie("schema")),
    ),
    ...["unevaluatedItems", "contains", "not", "if", "then", "else"].map((each) =>
      keyword(each, tie("schema")),
    ),
    ...["allOf", "anyOf", "oneOf", "prefixItems", "items"].map((each) => keyword(each, list)),
    keyword("dependentSchemas", createMap(name, tie("schema"), 1)),
  ];
  return {
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { arbitrary: typed(PLAIN, type), weight: 8 },
      { arbitrary: toSchema(PLAIN, 3), weight: 2 },
      { arbitrary: fc.constantFrom<unknown>(true, false, {}), weight: 1 },
      { arbitrary: fc.record({ $ref: reference }), weight: 1 },
      { arbitrary: fc.record({ $ref: reference, description: fc.constant("R") }), weight: 1 },
      { arbitrary: record(tie("schema")), weight: 4 },
      { arbitrary: typed([...PLAIN, keyword("items", tie("schema"))], fc.constant("array")), weight: 1 },
      { arbitrary: tie("object"), weight: 3 },
    ),
    object: toSchema([...PLAIN, ...nested, ...nested], 5),
  };
});

/** Objects composed of others. */
const composed = fc
  .tuple(
    record(schema),
    fc.constantFrom("allOf", "anyOf", "oneOf"),
    fc.array(record(schema), { minLength: 1, maxLength: 2 }),
  )
  .map(([first, key, others]) => ({ ...first, [key]: others }));

/** Schemas with any keywords, two definitions and references to them and to the root. */
export const schemas: fc.Arbitrary<Schema> = fc
  .record({ root: fc.oneof(object, record(schema), composed), One: schema, Two: schema })
  .map(({ root, One, Two }) => parsed({ ...root, $defs: { One, Two } }));

/** The schema as if parsed from text: no two places are the same object. */
function parsed(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema));
}

/** An object as callers write most. */
function record(property: fc.Arbitrary<unknown>): fc.Arbitrary<Schema> {
  return fc.record(
    {
      type: fc.constant("object"),
      properties: createMap(name, property, 3),
      required: fc.uniqueArray(name, { maxLength: 3 }),
      additionalProperties: fc.constantFrom(false, true),
    },
    { requiredKeys: ["type", "properties"] },
  );
}

/** A schema of a known type. */
function typed(keywords: readonly fc.Arbitrary<Schema>[], of: fc.Arbitrary<string>): fc.Arbitrary<Schema> {
  return fc.tuple(of, toSchema(keywords, 2)).map(([each, rest]) => ({ ...rest, type: each }));
}

function createMap<Value>(
  key: fc.Arbitrary<string>,
  value: fc.Arbitrary<Value>,
  maxKeys: number,
): fc.Arbitrary<Record<string, Value>> {
  return fc.dictionary(key, value, { minKeys: 1, maxKeys, noNullPrototype: true });
}

/** Schemas as callers write them: values of known types, objects, arrays, unions, references. */
const common = fc.letrec<{ schema: unknown }>((tie) => {
  const property = tie("schema");
  return {
    schema: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      { arbitrary: typed(PLAIN, scalarType), weight: 6 },
      { arbitrary: fc.record({ enum: fc.array(scalar, { minLength: 1, maxLength: 3 }) }), weight: 1 },
      { arbitrary: fc.record({ $ref: fc.constantFrom("#/$defs/One", "#/$defs/Two") }), weight: 1 },
      { arbitrary: fc.record({ $ref: fc.constantFrom("#/$defs/One"), title: fc.constant("R") }), weight: 1 },
      { arbitrary: record(property), weight: 3 },
      { arbitrary: fc.record({ type: fc.constant("array"), items: property }), weight: 2 },
      {
        arbitrary: fc.record({
          prefixItems: fc.array(property, { minLength: 1, maxLength: 2 }),
          items: fc.oneof(property, fc.constant(false)),
        }),
        weight: 1,
      },
      {
        arbitrary: fc
          .tuple(
            fc.constantFrom("anyOf", "oneOf", "allOf"),
            fc.array(property, { minLength: 1, maxLength: 3 }),
            fc.oneof(fc.constant({}), typed(PLAIN, scalarType), record(property)),
          )
          .map(([key, list, beside]) => ({ ...beside, [key]: list })),
        weight: 2,
      },
    ),
  };
}).schema;

/** Schemas as callers write them, most of which every dialect can express. */
export const commonSchemas: fc.Arbitrary<Schema> = fc
  .record({ root: record(common), One: common, Two: common })
  .map(({ root, One, Two }) => parsed({ ...root, $defs: { One, Two } }));

/** A value of one type, with at most one keyword that every strict mode enforces or reports. */
const strictScalar = fc.oneof(
  { arbitrary: fc.record({ type: scalarType }), weight: 4 },
  { arbitrary: fc.record({ type: fc.tuple(scalarType, fc.constant("null")).map(distinctTypes) }), weight: 1 },
  { arbitrary: fc.record({ enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }) }), weight: 1 },
  { arbitrary: fc.record({ const: scalar }), weight: 1 },
  { arbitrary: fc.record({ type: fc.constant("string"), pattern: fc.constantFrom("^a", "b$") }), weight: 1 },
  { arbitrary: fc.record({ type: fc.constant("string"), minLength: count }), weight: 1 },
  { arbitrary: fc.record({ type: fc.constant("integer"), exclusiveMinimum: number }), weight: 1 },
  { arbitrary: fc.record({ type: fc.constant("number"), maximum: number }), weight: 1 },
);

function distinctTypes(types: readonly string[]): string[] {
  return [...new Set(types)];
}

/** An object whose properties are all required. */
function strictRecord(property: fc.Arbitrary<unknown>): fc.Arbitrary<Schema> {
  return fc.tuple(createMap(name, property, 3), fc.boolean()).map(([properties, isClosed]) => ({
    type: "object",
    properties,
    required: Object.keys(properties),
    ...(isClosed && { additionalProperties: false }),
  }));
}

/** Objects with a property of different values, so that no value is valid for two alternatives. */
function tagged(property: fc.Arbitrary<unknown>): fc.Arbitrary<Schema> {
  return fc.array(strictRecord(property), { minLength: 2, maxLength: 3 }).map((branches) => ({
    oneOf: branches.map((branch, index) => ({
      ...branch,
      properties: { kind: { const: `k${index}` }, ...(branch.properties as Schema) },
      required: ["kind", ...(branch.required as string[])],
    })),
  }));
}

const strict = fc.letrec<{ schema: unknown }>((tie) => {
  const property = tie("schema");
  return {
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { arbitrary: strictScalar, weight: 6 },
      { arbitrary: fc.record({ $ref: fc.constantFrom("#/$defs/One", "#/$defs/Two") }), weight: 1 },
      { arbitrary: fc.record({ $ref: fc.constant("#/$defs/One"), title: fc.constant("R") }), weight: 1 },
      { arbitrary: strictRecord(property), weight: 3 },
      { arbitrary: fc.record({ type: fc.constant("array"), items: property }), weight: 2 },
      { arbitrary: fc.record({ anyOf: fc.tuple(strictScalar, property) }), weight: 2 },
      { arbitrary: tagged(property), weight: 1 },
      {
        arbitrary: fc.record({ allOf: fc.array(strictRecord(property), { minLength: 1, maxLength: 2 }) }),
        weight: 1,
      },
    ),
  };
}).schema;

/**
 * Schemas of which most need no relaxation for a strict mode: typed values, all properties required,
 * and unions with at most one object, or with a tag, so that it is clear which properties a value declares.
 */
export const strictSchemas: fc.Arbitrary<Schema> = fc
  .record({ root: strictRecord(strict), One: strictScalar, Two: strictRecord(strictScalar) })
  .map(({ root, One, Two }) => parsed({ ...root, $defs: { One, Two } }));

/** Names that every JavaScript object inherits. */
export const INHERITED = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"] as const;
