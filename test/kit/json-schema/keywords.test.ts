import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/kit/json/json.ts";
import {
  ANTHROPIC_OUTPUT,
  GEMINI_JSON_SCHEMA,
  GEMINI_OPENAPI,
  OPENAI_STRICT,
} from "../../../src/kit/json-schema/dialects.ts";
import { compiled, type Outcome } from "./compiled.ts";

/** What becomes of a schema: the schema that is sent and what is told of it, or the refusal. */
type Expected = { schema: unknown; told?: string[] } | { refused: string };

interface Row {
  readonly what: string;
  /** Schema of the property `a`, which is required. */
  readonly schema: unknown;
  readonly openai: Expected;
  readonly anthropic: Expected;
  readonly gemini: Expected;
  readonly openapi: Expected;
}

const DIALECTS = {
  openai: OPENAI_STRICT,
  anthropic: ANTHROPIC_OUTPUT,
  gemini: GEMINI_JSON_SCHEMA,
  openapi: GEMINI_OPENAPI,
} as const;

/** Keyword by keyword. `told` are pointers below the property; what is only noted is marked so. */
const ROWS: readonly Row[] = [
  {
    what: "type",
    schema: { type: "string" },
    openai: { schema: { type: "string" } },
    anthropic: { schema: { type: "string" } },
    gemini: { schema: { type: "string" } },
    openapi: { schema: { type: "STRING" } },
  },
  {
    what: "type, several",
    schema: { type: ["string", "integer"] },
    openai: { schema: { type: ["string", "integer"] } },
    anthropic: { schema: { type: ["string", "integer"] } },
    gemini: { schema: { anyOf: [{ type: "string" }, { type: "integer" }] } },
    openapi: { schema: { anyOf: [{ type: "STRING" }, { type: "INTEGER" }] } },
  },
  {
    what: "type with null",
    schema: { type: ["string", "null"], minLength: 2 },
    openai: { schema: { type: ["string", "null"], minLength: 2 } },
    anthropic: {
      schema: { type: ["string", "null"], description: "Minimum length: 2." },
      told: ["minLength"],
    },
    gemini: { schema: { type: ["string", "null"], description: "Minimum length: 2." }, told: ["minLength"] },
    openapi: { schema: { type: "STRING", minLength: 2, nullable: true } },
  },
  {
    what: "no type, string words",
    schema: { maxLength: 2 },
    openai: { schema: { maxLength: 2, type: "string" } },
    anthropic: { schema: { type: "string", description: "Maximum length: 2." }, told: ["maxLength"] },
    gemini: { schema: { type: "string", description: "Maximum length: 2." }, told: ["maxLength"] },
    openapi: { schema: { maxLength: 2, type: "STRING" } },
  },
  {
    what: "no type, properties",
    schema: { properties: { x: { type: "null" } }, required: ["x"] },
    openai: {
      schema: {
        properties: { x: { type: "null" } },
        required: ["x"],
        type: "object",
        additionalProperties: false,
      },
    },
    anthropic: {
      schema: {
        properties: { x: { type: "null" } },
        required: ["x"],
        type: "object",
        additionalProperties: false,
      },
    },
    gemini: { schema: { properties: { x: { type: "null" } }, required: ["x"], type: "object" } },
    openapi: { schema: { properties: { x: { type: "NULL" } }, required: ["x"], type: "OBJECT" } },
  },
  {
    what: "title and description",
    schema: { title: "T", description: "D", type: "string" },
    openai: { schema: { title: "T", description: "D", type: "string" } },
    anthropic: { schema: { title: "T", description: "D", type: "string" } },
    gemini: { schema: { title: "T", description: "D", type: "string" } },
    openapi: { schema: { title: "T", description: "D", type: "STRING" } },
  },
  {
    what: "default",
    schema: { type: "integer", default: 3 },
    openai: { schema: { type: "integer", description: "Default: 3." } },
    anthropic: { schema: { type: "integer", default: 3 } },
    gemini: { schema: { type: "integer", description: "Default: 3." } },
    openapi: { schema: { type: "INTEGER", default: 3 } },
  },
  {
    what: "examples",
    schema: { type: "integer", examples: [1, 2] },
    openai: { schema: { type: "integer", description: "Examples: 1, 2." } },
    anthropic: { schema: { type: "integer", description: "Examples: 1, 2." } },
    gemini: { schema: { type: "integer", description: "Examples: 1, 2." } },
    openapi: { schema: { type: "INTEGER", description: "Examples: 1, 2." } },
  },
  {
    what: "example",
    schema: { type: "integer", example: 1 },
    openai: { schema: { type: "integer", description: "Example: 1." } },
    anthropic: { schema: { type: "integer", description: "Example: 1." } },
    gemini: { schema: { type: "integer", description: "Example: 1." } },
    openapi: { schema: { type: "INTEGER", example: 1 } },
  },
  {
    what: "deprecated",
    schema: { type: "integer", deprecated: true, readOnly: true, $comment: "for us" },
    openai: { schema: { type: "integer", description: "Deprecated. Read-only." } },
    anthropic: { schema: { type: "integer", description: "Deprecated. Read-only." } },
    gemini: { schema: { type: "integer", description: "Deprecated. Read-only." } },
    openapi: { schema: { type: "INTEGER", description: "Deprecated. Read-only." } },
  },
  {
    what: "contentEncoding",
    schema: { type: "string", contentEncoding: "base64", contentMediaType: "image/png" },
    openai: { schema: { type: "string", description: "Encoded as base64. Holds image/png." } },
    anthropic: { schema: { type: "string", description: "Encoded as base64. Holds image/png." } },
    gemini: { schema: { type: "string", description: "Encoded as base64. Holds image/png." } },
    openapi: { schema: { type: "STRING", description: "Encoded as base64. Holds image/png." } },
  },
  {
    what: "enum of strings",
    schema: { enum: ["a", "b"] },
    openai: { schema: { enum: ["a", "b"], type: "string" } },
    anthropic: { schema: { enum: ["a", "b"], type: "string" } },
    gemini: { schema: { enum: ["a", "b"], type: "string" } },
    openapi: { schema: { enum: ["a", "b"], type: "STRING" } },
  },
  {
    what: "enum of numbers",
    schema: { type: "number", enum: [1, 2.5] },
    openai: { schema: { type: "number", enum: [1, 2.5] } },
    anthropic: { schema: { type: "number", enum: [1, 2.5] } },
    gemini: { schema: { type: "number", enum: [1, 2.5] } },
    openapi: { schema: { type: "NUMBER", enum: ["1", "2.5"] } },
  },
  {
    what: "enum with null",
    schema: { type: ["string", "null"], enum: ["a", null] },
    openai: { schema: { type: ["string", "null"], enum: ["a", null] } },
    anthropic: { schema: { type: ["string", "null"], enum: ["a", null] } },
    gemini: { schema: { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] } },
    openapi: { schema: { type: "STRING", enum: ["a"], nullable: true } },
  },
  {
    what: "enum of several types",
    schema: { enum: ["a", 1] },
    openai: { schema: { enum: ["a", 1], type: ["string", "integer"] } },
    anthropic: { schema: { enum: ["a", 1], type: ["string", "integer"] } },
    gemini: {
      schema: {
        anyOf: [
          { type: "string", enum: ["a"] },
          { type: "integer", enum: [1] },
        ],
      },
    },
    openapi: {
      schema: {
        anyOf: [
          { type: "STRING", enum: ["a"] },
          { type: "INTEGER", enum: ["1"] },
        ],
      },
    },
  },
  {
    what: "enum of booleans",
    schema: { enum: [true] },
    openai: { schema: { enum: [true], type: "boolean" } },
    anthropic: { schema: { enum: [true], type: "boolean" } },
    gemini: { schema: { type: "boolean", description: "One of: true." }, told: ["enum"] },
    openapi: { schema: { type: "BOOLEAN", description: "One of: true." }, told: ["enum"] },
  },
  {
    what: "enum of objects",
    schema: {
      enum: [{ a: 1 }],
      type: "object",
      properties: { a: { type: "integer" } },
      required: ["a"],
      additionalProperties: false,
    },
    openai: {
      schema: {
        type: "object",
        properties: { a: { type: "integer" } },
        required: ["a"],
        additionalProperties: false,
        description: 'One of: {"a":1}.',
      },
      told: ["enum"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { a: { type: "integer" } },
        required: ["a"],
        additionalProperties: false,
        description: 'One of: {"a":1}.',
      },
      told: ["enum"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { a: { type: "integer" } },
        required: ["a"],
        additionalProperties: false,
        description: 'One of: {"a":1}.',
      },
      told: ["enum"],
    },
    openapi: {
      schema: {
        type: "OBJECT",
        properties: { a: { type: "INTEGER" } },
        required: ["a"],
        description: 'One of: {"a":1}.',
      },
      told: ["enum"],
    },
  },
  {
    what: "const",
    schema: { const: "a" },
    openai: { schema: { const: "a", type: "string" } },
    anthropic: { schema: { const: "a", type: "string" } },
    gemini: { schema: { enum: ["a"], type: "string" } },
    openapi: { schema: { enum: ["a"], type: "STRING" } },
  },
  {
    what: "const null",
    schema: { const: null },
    openai: { schema: { const: null, type: "null" } },
    anthropic: { schema: { const: null, type: "null" } },
    gemini: { schema: { type: "null" } },
    openapi: { schema: { type: "NULL" } },
  },
  {
    what: "nullable",
    schema: { type: "string", nullable: true },
    openai: { schema: { type: ["string", "null"] }, told: ["noted nullable"] },
    anthropic: { schema: { type: ["string", "null"] }, told: ["noted nullable"] },
    gemini: { schema: { type: ["string", "null"] }, told: ["noted nullable"] },
    openapi: { schema: { type: "STRING", nullable: true } },
  },
  {
    what: "nullable with const and enum",
    schema: { nullable: true, enum: ["a", "b"], const: "b" },
    openai: { schema: { enum: ["b", null], type: ["string", "null"] }, told: ["noted nullable"] },
    anthropic: { schema: { enum: ["b", null], type: ["string", "null"] }, told: ["noted nullable"] },
    gemini: {
      schema: { anyOf: [{ type: "string", enum: ["b"] }, { type: "null" }] },
      told: ["noted nullable"],
    },
    openapi: { schema: { enum: ["b"], type: "STRING", nullable: true } },
  },
  {
    what: "minLength",
    schema: { type: "string", minLength: 1 },
    openai: { schema: { type: "string", minLength: 1 } },
    anthropic: { schema: { type: "string", description: "Minimum length: 1." }, told: ["minLength"] },
    gemini: { schema: { type: "string", description: "Minimum length: 1." }, told: ["minLength"] },
    openapi: { schema: { type: "STRING", minLength: 1 } },
  },
  {
    what: "pattern",
    schema: { type: "string", pattern: "^a+$" },
    openai: { schema: { type: "string", pattern: "^a+$" } },
    anthropic: { schema: { type: "string", pattern: "^a+$" } },
    gemini: {
      schema: { type: "string", description: "Matches the regular expression ^a+$" },
      told: ["pattern"],
    },
    openapi: { schema: { type: "STRING", pattern: "^a+$" } },
  },
  {
    what: "pattern that looks ahead",
    schema: { type: "string", pattern: "^(?!a)" },
    openai: {
      schema: { type: "string", description: "Matches the regular expression ^(?!a)" },
      told: ["pattern"],
    },
    anthropic: {
      schema: { type: "string", description: "Matches the regular expression ^(?!a)" },
      told: ["pattern"],
    },
    gemini: {
      schema: { type: "string", description: "Matches the regular expression ^(?!a)" },
      told: ["pattern"],
    },
    openapi: {
      schema: { type: "STRING", description: "Matches the regular expression ^(?!a)" },
      told: ["pattern"],
    },
  },
  {
    what: "format date-time",
    schema: { type: "string", format: "date-time" },
    openai: { schema: { type: "string", format: "date-time" } },
    anthropic: { schema: { type: "string", format: "date-time" } },
    gemini: { schema: { type: "string", format: "date-time" } },
    openapi: { schema: { type: "STRING", format: "date-time" } },
  },
  {
    what: "format uri",
    schema: { type: "string", format: "uri" },
    openai: { schema: { type: "string", description: "Format: uri." }, told: ["format"] },
    anthropic: { schema: { type: "string", format: "uri" } },
    gemini: { schema: { type: "string", format: "uri" } },
    openapi: { schema: { type: "STRING", description: "Format: uri." }, told: ["format"] },
  },
  {
    what: "format int64",
    schema: { type: "integer", format: "int64" },
    openai: { schema: { type: "integer", description: "Format: int64." } },
    anthropic: { schema: { type: "integer", description: "Format: int64." } },
    gemini: { schema: { type: "integer", format: "int64" } },
    openapi: { schema: { type: "INTEGER", format: "int64" } },
  },
  {
    what: "minimum",
    schema: { type: "number", minimum: 1, maximum: 2 },
    openai: { schema: { type: "number", minimum: 1, maximum: 2 } },
    anthropic: {
      schema: { type: "number", description: "At least 1. At most 2." },
      told: ["minimum", "maximum"],
    },
    gemini: { schema: { type: "number", minimum: 1, maximum: 2 } },
    openapi: { schema: { type: "NUMBER", minimum: 1, maximum: 2 } },
  },
  {
    what: "exclusive bounds of integers",
    schema: { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 9 },
    openai: { schema: { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 9 } },
    anthropic: {
      schema: { type: "integer", description: "More than 0. Less than 9." },
      told: ["exclusiveMinimum", "exclusiveMaximum"],
    },
    gemini: { schema: { type: "integer", minimum: 1, maximum: 8 } },
    openapi: { schema: { type: "INTEGER", minimum: 1, maximum: 8 } },
  },
  {
    what: "exclusive bound of numbers",
    schema: { type: "number", exclusiveMinimum: 0 },
    openai: { schema: { type: "number", exclusiveMinimum: 0 } },
    anthropic: { schema: { type: "number", description: "More than 0." }, told: ["exclusiveMinimum"] },
    gemini: {
      schema: { type: "number", minimum: 0, description: "More than 0." },
      told: ["exclusiveMinimum"],
    },
    openapi: {
      schema: { type: "NUMBER", minimum: 0, description: "More than 0." },
      told: ["exclusiveMinimum"],
    },
  },
  {
    what: "multipleOf",
    schema: { type: "number", multipleOf: 0.5 },
    openai: { schema: { type: "number", multipleOf: 0.5 } },
    anthropic: { schema: { type: "number", description: "A multiple of 0.5." }, told: ["multipleOf"] },
    gemini: { schema: { type: "number", description: "A multiple of 0.5." }, told: ["multipleOf"] },
    openapi: { schema: { type: "NUMBER", description: "A multiple of 0.5." }, told: ["multipleOf"] },
  },
  {
    what: "minItems",
    schema: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 3 },
    openai: { schema: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 3 } },
    anthropic: {
      schema: {
        type: "array",
        items: { type: "string" },
        minItems: 1,
        description: "Maximum number of items: 3.",
      },
      told: ["maxItems"],
    },
    gemini: { schema: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 3 } },
    openapi: { schema: { type: "ARRAY", items: { type: "STRING" }, minItems: 1, maxItems: 3 } },
  },
  {
    what: "minItems above one",
    schema: { type: "array", items: { type: "string" }, minItems: 2 },
    openai: { schema: { type: "array", items: { type: "string" }, minItems: 2 } },
    anthropic: {
      schema: { type: "array", items: { type: "string" }, description: "Minimum number of items: 2." },
      told: ["minItems"],
    },
    gemini: { schema: { type: "array", items: { type: "string" }, minItems: 2 } },
    openapi: { schema: { type: "ARRAY", items: { type: "STRING" }, minItems: 2 } },
  },
  {
    what: "uniqueItems",
    schema: { type: "array", items: { type: "string" }, uniqueItems: true },
    openai: {
      schema: { type: "array", items: { type: "string" }, description: "No item twice." },
      told: ["uniqueItems"],
    },
    anthropic: {
      schema: { type: "array", items: { type: "string" }, description: "No item twice." },
      told: ["uniqueItems"],
    },
    gemini: {
      schema: { type: "array", items: { type: "string" }, description: "No item twice." },
      told: ["uniqueItems"],
    },
    openapi: {
      schema: { type: "ARRAY", items: { type: "STRING" }, description: "No item twice." },
      told: ["uniqueItems"],
    },
  },
  {
    what: "uniqueItems false",
    schema: { type: "array", items: { type: "string" }, uniqueItems: false },
    openai: { schema: { type: "array", items: { type: "string" } } },
    anthropic: { schema: { type: "array", items: { type: "string" } } },
    gemini: { schema: { type: "array", items: { type: "string" } } },
    openapi: { schema: { type: "ARRAY", items: { type: "STRING" } } },
  },
  {
    what: "items absent",
    schema: { type: "array" },
    openai: { refused: "/items: lets any value pass" },
    anthropic: { refused: "/items: lets any value pass" },
    gemini: { schema: { type: "array", items: {} } },
    openapi: { schema: { type: "ARRAY", items: {} } },
  },
  {
    what: "prefixItems",
    schema: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] },
    openai: {
      schema: { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } },
      told: ["prefixItems"],
    },
    anthropic: {
      schema: { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } },
      told: ["prefixItems"],
    },
    gemini: { schema: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] } },
    openapi: {
      schema: { type: "ARRAY", items: { anyOf: [{ type: "STRING" }, { type: "NUMBER" }] } },
      told: ["prefixItems"],
    },
  },
  {
    what: "items as list (draft 7)",
    schema: {
      type: "array",
      items: [{ type: "string" }, { type: "string" }],
      additionalItems: { type: "string" },
    },
    openai: { schema: { type: "array", items: { type: "string" } } },
    anthropic: { schema: { type: "array", items: { type: "string" } } },
    gemini: {
      schema: {
        type: "array",
        prefixItems: [{ type: "string" }, { type: "string" }],
        items: { type: "string" },
      },
    },
    openapi: { schema: { type: "ARRAY", items: { type: "STRING" } } },
  },
  {
    what: "items false",
    schema: { type: "array", prefixItems: [{ type: "string" }], items: false },
    openai: { schema: { type: "array", items: { type: "string" }, maxItems: 1 } },
    anthropic: { schema: { type: "array", items: { type: "string" } }, told: ["items"] },
    gemini: { schema: { type: "array", prefixItems: [{ type: "string" }], maxItems: 1 } },
    openapi: { schema: { type: "ARRAY", items: { type: "STRING" }, maxItems: 1 } },
  },
  {
    what: "contains",
    schema: { type: "array", items: { type: "string" }, contains: { const: "a" } },
    openai: {
      schema: {
        type: "array",
        items: { type: "string" },
        description: 'JSON Schema contains: {"const":"a"}.',
      },
      told: ["contains"],
    },
    anthropic: {
      schema: {
        type: "array",
        items: { type: "string" },
        description: 'JSON Schema contains: {"const":"a"}.',
      },
      told: ["contains"],
    },
    gemini: {
      schema: {
        type: "array",
        items: { type: "string" },
        description: 'JSON Schema contains: {"const":"a"}.',
      },
      told: ["contains"],
    },
    openapi: {
      schema: {
        type: "ARRAY",
        items: { type: "STRING" },
        description: 'JSON Schema contains: {"const":"a"}.',
      },
      told: ["contains"],
    },
  },
  {
    what: "object, silent",
    schema: { type: "object", properties: { x: { type: "string" } }, required: ["x"] },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
    },
    gemini: { schema: { type: "object", properties: { x: { type: "string" } }, required: ["x"] } },
    openapi: { schema: { type: "OBJECT", properties: { x: { type: "STRING" } }, required: ["x"] } },
  },
  {
    what: "object, optional",
    schema: { type: "object", properties: { x: { type: "string" } } },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: ["string", "null"] } },
        required: ["x"],
        additionalProperties: false,
      },
      told: ["properties/x"],
    },
    anthropic: {
      schema: { type: "object", properties: { x: { type: "string" } }, additionalProperties: false },
    },
    gemini: { schema: { type: "object", properties: { x: { type: "string" } } } },
    openapi: { schema: { type: "OBJECT", properties: { x: { type: "STRING" } } } },
  },
  {
    what: "object, open",
    schema: {
      type: "object",
      properties: { x: { type: "string" } },
      required: ["x"],
      additionalProperties: true,
    },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
      told: ["additionalProperties"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
      told: ["additionalProperties"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: true,
      },
    },
    openapi: { schema: { type: "OBJECT", properties: { x: { type: "STRING" } }, required: ["x"] } },
  },
  {
    what: "object, closed",
    schema: {
      type: "object",
      properties: { x: { type: "string" } },
      required: ["x"],
      additionalProperties: false,
    },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
    },
    openapi: { schema: { type: "OBJECT", properties: { x: { type: "STRING" } }, required: ["x"] } },
  },
  {
    what: "object, map",
    schema: { type: "object", additionalProperties: { type: "string" } },
    openai: { refused: ": is an object whose property names are free" },
    anthropic: { refused: ": is an object whose property names are free" },
    gemini: { schema: { type: "object", additionalProperties: { type: "string" } } },
    openapi: {
      schema: { type: "OBJECT", description: 'JSON Schema additionalProperties: {"type":"string"}.' },
      told: ["additionalProperties"],
    },
  },
  {
    what: "object, free",
    schema: { type: "object" },
    openai: { refused: ": is an object whose property names are free" },
    anthropic: { refused: ": is an object whose property names are free" },
    gemini: { schema: { type: "object" } },
    openapi: { schema: { type: "OBJECT" } },
  },
  {
    what: "object, empty",
    schema: { type: "object", properties: {}, additionalProperties: false },
    openai: { schema: { type: "object", properties: {}, additionalProperties: false, required: [] } },
    anthropic: { schema: { type: "object", properties: {}, additionalProperties: false } },
    gemini: { schema: { type: "object", properties: {}, additionalProperties: false } },
    openapi: { schema: { type: "OBJECT" }, told: ["properties"] },
  },
  {
    what: "required, not declared",
    schema: { type: "object", properties: {}, required: ["x"], additionalProperties: { type: "string" } },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
      told: ["additionalProperties"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
      told: ["additionalProperties"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: { type: "string" },
      },
    },
    openapi: {
      schema: {
        type: "OBJECT",
        properties: { x: { type: "STRING" } },
        required: ["x"],
        description: 'JSON Schema additionalProperties: {"type":"string"}.',
      },
      told: ["additionalProperties"],
    },
  },
  {
    what: "patternProperties",
    schema: {
      type: "object",
      properties: { x: { type: "string" } },
      required: ["x"],
      patternProperties: { "^y": { type: "number" } },
      additionalProperties: false,
    },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'JSON Schema patternProperties: {"^y":{"type":"number"}}.',
      },
      told: ["patternProperties"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'JSON Schema patternProperties: {"^y":{"type":"number"}}.',
      },
      told: ["patternProperties"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: { type: "number" },
        description: 'JSON Schema patternProperties: {"^y":{"type":"number"}}.',
      },
      told: ["patternProperties"],
    },
    openapi: {
      schema: {
        type: "OBJECT",
        properties: { x: { type: "STRING" } },
        required: ["x"],
        description: 'JSON Schema patternProperties: {"^y":{"type":"number"}}.',
      },
      told: ["patternProperties"],
    },
  },
  {
    what: "minProperties",
    schema: { type: "object", properties: { x: { type: "string" } }, required: ["x"], minProperties: 1 },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: "Minimum number of properties: 1.",
      },
      told: ["minProperties"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: "Minimum number of properties: 1.",
      },
      told: ["minProperties"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        description: "Minimum number of properties: 1.",
      },
      told: ["minProperties"],
    },
    openapi: {
      schema: { type: "OBJECT", properties: { x: { type: "STRING" } }, required: ["x"], minProperties: 1 },
    },
  },
  {
    what: "propertyNames",
    schema: {
      type: "object",
      properties: { x: { type: "string" } },
      required: ["x"],
      propertyNames: { maxLength: 1 },
    },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'JSON Schema propertyNames: {"maxLength":1}.',
      },
      told: ["propertyNames"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'JSON Schema propertyNames: {"maxLength":1}.',
      },
      told: ["propertyNames"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        description: 'JSON Schema propertyNames: {"maxLength":1}.',
      },
      told: ["propertyNames"],
    },
    openapi: {
      schema: {
        type: "OBJECT",
        properties: { x: { type: "STRING" } },
        required: ["x"],
        description: 'JSON Schema propertyNames: {"maxLength":1}.',
      },
      told: ["propertyNames"],
    },
  },
  {
    what: "dependentRequired",
    schema: {
      type: "object",
      properties: { x: { type: "string" } },
      required: ["x"],
      dependentRequired: { x: ["y"] },
    },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'With "x" also "y".',
      },
      told: ["dependentRequired"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'With "x" also "y".',
      },
      told: ["dependentRequired"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        description: 'With "x" also "y".',
      },
      told: ["dependentRequired"],
    },
    openapi: {
      schema: {
        type: "OBJECT",
        properties: { x: { type: "STRING" } },
        required: ["x"],
        description: 'With "x" also "y".',
      },
      told: ["dependentRequired"],
    },
  },
  {
    what: "dependencies (draft 7)",
    schema: {
      type: "object",
      properties: { x: { type: "string" } },
      required: ["x"],
      dependencies: { x: ["x"] },
    },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'With "x" also "x".',
      },
      told: ["dependentRequired"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'With "x" also "x".',
      },
      told: ["dependentRequired"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        description: 'With "x" also "x".',
      },
      told: ["dependentRequired"],
    },
    openapi: {
      schema: {
        type: "OBJECT",
        properties: { x: { type: "STRING" } },
        required: ["x"],
        description: 'With "x" also "x".',
      },
      told: ["dependentRequired"],
    },
  },
  {
    what: "propertyOrdering",
    schema: {
      type: "object",
      properties: { x: { type: "string" } },
      required: ["x"],
      propertyOrdering: ["x"],
    },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        propertyOrdering: ["x"],
      },
    },
    openapi: {
      schema: {
        type: "OBJECT",
        properties: { x: { type: "STRING" } },
        required: ["x"],
        propertyOrdering: ["x"],
      },
    },
  },
  {
    what: "anyOf",
    schema: { anyOf: [{ type: "string" }, { type: "null" }] },
    openai: { schema: { anyOf: [{ type: "string" }, { type: "null" }] } },
    anthropic: { schema: { anyOf: [{ type: "string" }, { type: "null" }] } },
    gemini: { schema: { anyOf: [{ type: "string" }, { type: "null" }] } },
    openapi: { schema: { type: "STRING", nullable: true } },
  },
  {
    what: "oneOf of other types",
    schema: { oneOf: [{ type: "string" }, { type: "number" }] },
    openai: { schema: { anyOf: [{ type: "string" }, { type: "number" }] } },
    anthropic: { schema: { anyOf: [{ type: "string" }, { type: "number" }] } },
    gemini: { schema: { anyOf: [{ type: "string" }, { type: "number" }] } },
    openapi: { schema: { anyOf: [{ type: "STRING" }, { type: "NUMBER" }] } },
  },
  {
    what: "oneOf that may overlap",
    schema: {
      oneOf: [
        { type: "string", minLength: 1 },
        { type: "string", maxLength: 1 },
      ],
    },
    openai: {
      schema: {
        anyOf: [
          { type: "string", minLength: 1 },
          { type: "string", maxLength: 1 },
        ],
      },
      told: ["oneOf"],
    },
    anthropic: {
      schema: {
        anyOf: [
          { type: "string", description: "Minimum length: 1." },
          { type: "string", description: "Maximum length: 1." },
        ],
      },
      told: ["oneOf", "oneOf/0/minLength", "oneOf/1/maxLength"],
    },
    gemini: {
      schema: {
        anyOf: [
          { type: "string", description: "Minimum length: 1." },
          { type: "string", description: "Maximum length: 1." },
        ],
      },
      told: ["oneOf", "oneOf/0/minLength", "oneOf/1/maxLength"],
    },
    openapi: {
      schema: {
        anyOf: [
          { type: "STRING", minLength: 1 },
          { type: "STRING", maxLength: 1 },
        ],
      },
      told: ["oneOf"],
    },
  },
  {
    what: "allOf",
    schema: {
      allOf: [
        { type: "string", minLength: 1 },
        { minLength: 2, maxLength: 3 },
      ],
    },
    openai: { schema: { type: "string", minLength: 2, maxLength: 3 } },
    anthropic: {
      schema: { type: "string", description: "Minimum length: 2. Maximum length: 3." },
      told: ["minLength", "maxLength"],
    },
    gemini: {
      schema: { type: "string", description: "Minimum length: 2. Maximum length: 3." },
      told: ["minLength", "maxLength"],
    },
    openapi: { schema: { type: "STRING", minLength: 2, maxLength: 3 } },
  },
  {
    what: "not",
    schema: { type: "string", not: { const: "a" } },
    openai: { schema: { type: "string", description: 'JSON Schema not: {"const":"a"}.' }, told: ["not"] },
    anthropic: { schema: { type: "string", description: 'JSON Schema not: {"const":"a"}.' }, told: ["not"] },
    gemini: { schema: { type: "string", description: 'JSON Schema not: {"const":"a"}.' }, told: ["not"] },
    openapi: { schema: { type: "STRING", description: 'JSON Schema not: {"const":"a"}.' }, told: ["not"] },
  },
  {
    what: "if",
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    schema: { type: "string", if: { minLength: 1 }, then: { pattern: "a" } },
    openai: {
      schema: {
        type: "string",
        description: 'JSON Schema if: {"minLength":1}. JSON Schema then: {"pattern":"a"}.',
      },
      told: ["if", "then"],
    },
    anthropic: {
      schema: {
        type: "string",
        description: 'JSON Schema if: {"minLength":1}. JSON Schema then: {"pattern":"a"}.',
      },
      told: ["if", "then"],
    },
    gemini: {
      schema: {
        type: "string",
        description: 'JSON Schema if: {"minLength":1}. JSON Schema then: {"pattern":"a"}.',
      },
      told: ["if", "then"],
    },
    openapi: {
      schema: {
        type: "STRING",
        description: 'JSON Schema if: {"minLength":1}. JSON Schema then: {"pattern":"a"}.',
      },
      told: ["if", "then"],
    },
  },
  {
    what: "true",
    schema: true,
    openai: { refused: ": lets any value pass" },
    anthropic: { refused: ": lets any value pass" },
    gemini: { schema: {} },
    openapi: { schema: {} },
  },
  {
    what: "empty",
    schema: {},
    openai: { refused: ": lets any value pass" },
    anthropic: { refused: ": lets any value pass" },
    gemini: { schema: {} },
    openapi: { schema: {} },
  },
  {
    what: "unknown",
    schema: { type: "string", minlength: 1, "x-own": 1 },
    openai: { schema: { type: "string" }, told: ["noted minlength"] },
    anthropic: { schema: { type: "string" }, told: ["noted minlength"] },
    gemini: { schema: { type: "string" }, told: ["noted minlength"] },
    openapi: { schema: { type: "STRING" }, told: ["noted minlength"] },
  },
];

describe.each(Object.entries(DIALECTS))("%s", (name, dialect) => {
  it.each(ROWS)("$what", (row) => {
    const outcome = compiled({ type: "object", properties: { a: row.schema }, required: ["a"] }, dialect);
    expect(belowProperty(outcome)).toEqual(withDefaults(row[name as keyof typeof DIALECTS]));
  });
});

const PLACE = "schema#/properties/a";

function belowProperty(outcome: Outcome): Expected {
  if ("refused" in outcome) {
    const [reason = ""] = outcome.refused.split(", which");
    return { refused: reason.replace(PLACE, "") };
  }
  const { a } = outcome.schema.properties as JsonObject;
  return { schema: a, told: outcome.told.map((told) => told.replace(`${PLACE}/`, "").replace(PLACE, "")) };
}

function withDefaults(expected: Expected): Expected {
  return "refused" in expected ? expected : { told: [], ...expected };
}
