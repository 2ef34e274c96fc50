/** The dialects of JSON Schema that providers support, from their documentation and client libraries. */
import type { SchemaDialect } from "../kit/json-schema/dialect.ts";

/** Schemas that a provider shows to the model and does not enforce. Nothing is changed. */
export const PLAIN: SchemaDialect = {
  name: "the provider",
  keywords: "all",
  root: "any",
  formats: "all",
  typeLists: "all",
  literals: ["null", "boolean", "object", "array", "number", "string"],
  objects: "open",
  requireAll: false,
  recursion: "allowed",
  limits: {},
  requestLimits: {},
};

/**
 * Parameters of a tool that are not enforced: OpenAI, Anthropic and servers that follow them require an object at the
 * root, without `allOf`, `anyOf`, `oneOf`, `not` or `enum` alongside it. Nothing below the root is changed.
 */
export const TOOL_PARAMETERS: SchemaDialect = { ...PLAIN, root: "object" };

const SCALARS = ["null", "boolean", "number", "string"] as const;

/** Keywords that every dialect has. */
const CORE = [
  ...["$ref", "type", "title", "description", "enum", "anyOf"],
  ...["properties", "required", "additionalProperties", "items", "minItems", "format"],
];

const STRICT_KEYWORDS = [
  ...[...CORE, "const", "maxItems", "minLength", "maxLength", "pattern"],
  ...["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
];

/**
 * OpenAI, tools and `json_schema` with `strict: true` (guide "Structured model outputs", "Supported schemas").
 * `default` is moved into the description: older models refuse it, and it has no effect if every property is required.
 */
export const OPENAI_STRICT: SchemaDialect = {
  ...PLAIN,
  name: "OpenAI's strict mode",
  keywords: STRICT_KEYWORDS,
  root: "object",
  formats: ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
  literals: SCALARS,
  objects: "closed",
  requireAll: true,
  limits: { properties: 5000, levels: 10, enumValues: 1000, longEnumCharacters: 15_000, characters: 120_000 },
};

/** Anthropic, `output_config.format` (guide "Structured outputs", "JSON Schema limitations"). */
export const ANTHROPIC_OUTPUT: SchemaDialect = {
  ...PLAIN,
  name: "Anthropic's structured output",
  keywords: [...CORE, "const", "default", "pattern"],
  formats: ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
  highestMinItems: 1,
  literals: SCALARS,
  objects: "closed",
  recursion: "refused",
  requestLimits: { schemas: 20, optionalProperties: 24, unions: 16 },
};

/** Anthropic, tools with `strict: true`. The limits hold for all strict tools of a request together. */
export const ANTHROPIC_STRICT: SchemaDialect = {
  ...ANTHROPIC_OUTPUT,
  name: "Anthropic's strict tool use",
  root: "object",
};

/**
 * Gemini, `responseJsonSchema` and `parametersJsonSchema` (reference of `GenerationConfig`).
 * `oneOf` is read as `anyOf` there. A schema may refer to itself only in a property that is not
 * required, nothing may stand alongside a reference, and lists must have `items`.
 */
export const GEMINI_JSON_SCHEMA: SchemaDialect = {
  ...PLAIN,
  name: "Gemini's JSON Schema",
  keywords: [...CORE, "prefixItems", "maxItems", "minimum", "maximum", "propertyOrdering"],
  typeLists: "nullable",
  literals: ["number", "string"],
  recursion: "optional",
};

/**
 * Mistral, `json_schema` and tools with `strict: true`: closed objects and all properties required, as in Mistral's
 * client library. The documentation names no refused keyword.
 */
export const MISTRAL_STRICT: SchemaDialect = {
  ...OPENAI_STRICT,
  name: "Mistral's strict mode",
  keywords: [
    ...[...STRICT_KEYWORDS, "prefixItems", "uniqueItems", "default", "examples"],
    ...["minProperties", "maxProperties"],
  ],
  formats: "all",
  limits: {},
};
