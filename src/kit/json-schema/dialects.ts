/**
 * The dialects of JSON Schema that providers take, as their documentation and their own client
 * libraries have them.
 */
import type { SchemaDialect } from "./dialect.ts";

/** No rules of its own: the schema goes as it came. */
const ANYTHING: Omit<SchemaDialect, "name" | "keywords"> = {
  root: "any",
  formats: "all",
  greatest: {},
  typeLists: "all",
  typeNames: "lower",
  literals: ["null", "boolean", "object", "array", "number", "string"],
  literalsAsText: false,
  objects: "open",
  requireAll: false,
  omitEmptyProperties: false,
  anyValue: true,
  itemsRequired: false,
  references: "definitions",
  recursion: "allowed",
  limits: {},
  requestLimits: {},
};

/** Nothing is changed: what a provider shows to the model and does not enforce. */
export const PLAIN: SchemaDialect = { ...ANYTHING, name: "the provider", keywords: "all" };

/**
 * Parameters of a tool that are not enforced: OpenAI, Anthropic and servers that follow them want
 * an object at the root, without `allOf`, `anyOf`, `oneOf`, `not` or `enum` beside it. What is
 * below the root is not changed.
 */
export const TOOL_PARAMETERS: SchemaDialect = {
  ...PLAIN,
  name: "the provider",
  root: "object",
};

const SCALARS = ["null", "boolean", "number", "string"] as const;

/** Keywords that every dialect has. */
const CORE = ["$ref", "type", "title", "description", "enum", "anyOf", "properties", "required", "items"];

const STRICT_KEYWORDS = [
  ...CORE,
  "const",
  "additionalProperties",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "multipleOf",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minItems",
  "maxItems",
];

/**
 * OpenAI, tools and `json_schema` with `strict: true` (guide "Structured model outputs",
 * "Supported schemas"). `default` is put into words: it was long refused, and with every property
 * required it says nothing that is enforced.
 */
export const OPENAI_STRICT: SchemaDialect = {
  ...ANYTHING,
  name: "OpenAI's strict mode",
  keywords: STRICT_KEYWORDS,
  root: "object",
  formats: ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
  literals: SCALARS,
  objects: "closed",
  requireAll: true,
  anyValue: false,
  itemsRequired: true,
  limits: {
    properties: 5000,
    depth: 10,
    enumValues: 1000,
    longEnumCharacters: 15_000,
    characters: 120_000,
  },
};

/** What Anthropic enforces (guide "Structured outputs", "JSON Schema limitations"). */
const ANTHROPIC: SchemaDialect = {
  ...ANYTHING,
  name: "Anthropic's structured output",
  keywords: [...CORE, "const", "default", "additionalProperties", "pattern", "format", "minItems"],
  formats: ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
  greatest: { minItems: 1 },
  literals: SCALARS,
  objects: "closed",
  anyValue: false,
  itemsRequired: true,
  recursion: "refused",
  requestLimits: { schemas: 20, optionalProperties: 24, unions: 16 },
};

/** Anthropic, tools with `strict: true`. The limits hold for all strict tools of a request together. */
export const ANTHROPIC_STRICT: SchemaDialect = {
  ...ANTHROPIC,
  name: "Anthropic's strict tool use",
  root: "object",
};

/** Anthropic, `output_config.format`. */
export const ANTHROPIC_OUTPUT: SchemaDialect = ANTHROPIC;

/**
 * Gemini, `responseJsonSchema` (reference of `GenerationConfig`). `oneOf` is read as `anyOf`
 * there. A schema may refer to itself only in a property that is not required, and nothing may
 * stand beside a reference. Lists must say what they hold, as in the older form.
 */
export const GEMINI_JSON_SCHEMA: SchemaDialect = {
  ...ANYTHING,
  name: "Gemini's JSON Schema",
  keywords: [
    ...CORE,
    "format",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "additionalProperties",
    "propertyOrdering",
  ],
  typeLists: "nullable",
  literals: ["number", "string"],
  itemsRequired: true,
  recursion: "optional",
};

/** Gemini, `parametersJsonSchema`: the same, and an object at the root. */
export const GEMINI_PARAMETERS: SchemaDialect = { ...GEMINI_JSON_SCHEMA, root: "object" };

/**
 * Gemini, the older `responseSchema` and `parameters`: a subset of OpenAPI 3.0 (reference of
 * `Schema`). It has no references, `enum` holds strings, and an object without properties
 * must not have an empty list of them.
 */
export const GEMINI_OPENAPI: SchemaDialect = {
  ...ANYTHING,
  name: "Gemini's OpenAPI schema",
  keywords: [
    ...CORE.filter((key) => key !== "$ref"),
    "nullable",
    "default",
    "example",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "propertyOrdering",
  ],
  formats: ["float", "double", "int32", "int64", "email", "byte", "date", "date-time", "password", "enum"],
  typeLists: "none",
  typeNames: "upper",
  literals: ["number", "string"],
  literalsAsText: true,
  objects: "implied",
  omitEmptyProperties: true,
  itemsRequired: true,
  references: "none",
  recursion: "cut",
};

/**
 * Mistral, `json_schema` and tools with `strict: true`: closed objects and all properties required,
 * as its own client library makes them. Its documentation names no keyword that is refused.
 */
export const MISTRAL_STRICT: SchemaDialect = {
  ...OPENAI_STRICT,
  name: "Mistral's strict mode",
  keywords: [
    ...STRICT_KEYWORDS,
    "prefixItems",
    "uniqueItems",
    "default",
    "examples",
    "minProperties",
    "maxProperties",
  ],
  formats: "all",
  limits: {},
};
