import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/kit/json/json.ts";
import {
  ANTHROPIC_OUTPUT,
  GEMINI_JSON_SCHEMA,
  OPENAI_STRICT,
} from "../../../src/providers/schema-dialects.ts";
import { compiled, type Outcome } from "./compiled.ts";

/** The result for a schema: the schema that is sent and the places that are reported, or the refusal. */
type Expected = { schema: unknown; reported?: string[] } | { refused: string };

interface Row {
  readonly what: string;
  /** Schema of the property `a`, which is required. */
  readonly schema: unknown;
  readonly openai: Expected;
  readonly anthropic: Expected;
  readonly gemini: Expected;
}

const DIALECTS = {
  openai: OPENAI_STRICT,
  anthropic: ANTHROPIC_OUTPUT,
  gemini: GEMINI_JSON_SCHEMA,
} as const;

/** Keyword by keyword. `reported` are pointers below the property, with `noted ` before places that lose nothing. */
const ROWS: readonly Row[] = [
  {
    what: "type",
    schema: { type: "string" },
    openai: { schema: { type: "string" } },
    anthropic: { schema: { type: "string" } },
    gemini: { schema: { type: "string" } },
  },
  {
    what: "several types",
    schema: { type: ["string", "integer"] },
    openai: { schema: { type: ["string", "integer"] } },
    anthropic: { schema: { type: ["string", "integer"] } },
    gemini: { schema: { anyOf: [{ type: "string" }, { type: "integer" }] } },
  },
  {
    what: "type and null",
    schema: { type: ["string", "null"], minLength: 2 },
    openai: { schema: { type: ["string", "null"], minLength: 2 } },
    anthropic: {
      schema: { type: ["string", "null"], description: "Min length: 2." },
      reported: ["minLength"],
    },
    gemini: { schema: { type: ["string", "null"], description: "Min length: 2." }, reported: ["minLength"] },
  },
  {
    what: "no type, string keywords",
    schema: { maxLength: 2 },
    openai: { schema: { maxLength: 2, type: "string" } },
    anthropic: { schema: { type: "string", description: "Max length: 2." }, reported: ["maxLength"] },
    gemini: { schema: { type: "string", description: "Max length: 2." }, reported: ["maxLength"] },
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
  },
  {
    what: "title and description",
    schema: { title: "T", description: "D", type: "string" },
    openai: { schema: { title: "T", description: "D", type: "string" } },
    anthropic: { schema: { title: "T", description: "D", type: "string" } },
    gemini: { schema: { title: "T", description: "D", type: "string" } },
  },
  {
    what: "default",
    schema: { type: "integer", default: 3 },
    openai: { schema: { type: "integer", description: "Default: 3." } },
    anthropic: { schema: { type: "integer", default: 3 } },
    gemini: { schema: { type: "integer", description: "Default: 3." } },
  },
  {
    what: "examples",
    schema: { type: "integer", examples: [1, 2] },
    openai: { schema: { type: "integer", description: "Examples: [1,2]." } },
    anthropic: { schema: { type: "integer", description: "Examples: [1,2]." } },
    gemini: { schema: { type: "integer", description: "Examples: [1,2]." } },
  },
  {
    what: "example",
    schema: { type: "integer", example: 1 },
    openai: { schema: { type: "integer", description: "Example: 1." } },
    anthropic: { schema: { type: "integer", description: "Example: 1." } },
    gemini: { schema: { type: "integer", description: "Example: 1." } },
  },
  {
    what: "deprecated",
    schema: { type: "integer", deprecated: true, readOnly: true, $comment: "for us" },
    openai: { schema: { type: "integer", description: "Deprecated: true. Read only: true." } },
    anthropic: { schema: { type: "integer", description: "Deprecated: true. Read only: true." } },
    gemini: { schema: { type: "integer", description: "Deprecated: true. Read only: true." } },
  },
  {
    what: "contentEncoding",
    schema: { type: "string", contentEncoding: "base64", contentMediaType: "image/png" },
    openai: {
      schema: { type: "string", description: 'Content encoding: "base64". Content media type: "image/png".' },
    },
    anthropic: {
      schema: { type: "string", description: 'Content encoding: "base64". Content media type: "image/png".' },
    },
    gemini: {
      schema: { type: "string", description: 'Content encoding: "base64". Content media type: "image/png".' },
    },
  },
  {
    what: "enum of strings",
    schema: { enum: ["a", "b"] },
    openai: { schema: { enum: ["a", "b"], type: "string" } },
    anthropic: { schema: { enum: ["a", "b"], type: "string" } },
    gemini: { schema: { enum: ["a", "b"], type: "string" } },
  },
  {
    what: "enum of numbers",
    schema: { type: "number", enum: [1, 2.5] },
    openai: { schema: { type: "number", enum: [1, 2.5] } },
    anthropic: { schema: { type: "number", enum: [1, 2.5] } },
    gemini: { schema: { type: "number", enum: [1, 2.5] } },
  },
  {
    what: "enum with null",
    schema: { type: ["string", "null"], enum: ["a", null] },
    openai: { schema: { type: ["string", "null"], enum: ["a", null] } },
    anthropic: { schema: { type: ["string", "null"], enum: ["a", null] } },
    gemini: { schema: { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] } },
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
  },
  {
    what: "enum of booleans",
    schema: { enum: [true] },
    openai: { schema: { enum: [true], type: "boolean" } },
    anthropic: { schema: { enum: [true], type: "boolean" } },
    gemini: { schema: { type: "boolean", description: "Enum: [true]." }, reported: ["enum"] },
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
        description: 'Enum: [{"a":1}].',
      },
      reported: ["enum"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { a: { type: "integer" } },
        required: ["a"],
        additionalProperties: false,
        description: 'Enum: [{"a":1}].',
      },
      reported: ["enum"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { a: { type: "integer" } },
        required: ["a"],
        additionalProperties: false,
        description: 'Enum: [{"a":1}].',
      },
      reported: ["enum"],
    },
  },
  {
    what: "const",
    schema: { const: "a" },
    openai: { schema: { const: "a", type: "string" } },
    anthropic: { schema: { const: "a", type: "string" } },
    gemini: { schema: { enum: ["a"], type: "string" } },
  },
  {
    what: "const null",
    schema: { const: null },
    openai: { schema: { const: null, type: "null" } },
    anthropic: { schema: { const: null, type: "null" } },
    gemini: { schema: { type: "null" } },
  },
  {
    what: "nullable",
    schema: { type: "string", nullable: true },
    openai: { schema: { type: ["string", "null"] }, reported: ["noted nullable"] },
    anthropic: { schema: { type: ["string", "null"] }, reported: ["noted nullable"] },
    gemini: { schema: { type: ["string", "null"] }, reported: ["noted nullable"] },
  },
  {
    what: "nullable with const and enum",
    schema: { nullable: true, enum: ["a", "b"], const: "b" },
    openai: {
      schema: { anyOf: [{ type: "string", enum: ["b"] }, { type: "null" }] },
      reported: ["noted nullable"],
    },
    anthropic: {
      schema: { anyOf: [{ type: "string", enum: ["b"] }, { type: "null" }] },
      reported: ["noted nullable"],
    },
    gemini: {
      schema: { anyOf: [{ type: "string", enum: ["b"] }, { type: "null" }] },
      reported: ["noted nullable"],
    },
  },
  {
    what: "minLength",
    schema: { type: "string", minLength: 1 },
    openai: { schema: { type: "string", minLength: 1 } },
    anthropic: { schema: { type: "string", description: "Min length: 1." }, reported: ["minLength"] },
    gemini: { schema: { type: "string", description: "Min length: 1." }, reported: ["minLength"] },
  },
  {
    what: "pattern",
    schema: { type: "string", pattern: "^a+$" },
    openai: { schema: { type: "string", pattern: "^a+$" } },
    anthropic: { schema: { type: "string", pattern: "^a+$" } },
    gemini: {
      schema: { type: "string", description: 'Pattern: "^a+$".' },
      reported: ["pattern"],
    },
  },
  {
    what: "pattern with lookahead",
    schema: { type: "string", pattern: "^(?!a)" },
    openai: {
      schema: { type: "string", description: 'Pattern: "^(?!a)".' },
      reported: ["pattern"],
    },
    anthropic: {
      schema: { type: "string", description: 'Pattern: "^(?!a)".' },
      reported: ["pattern"],
    },
    gemini: {
      schema: { type: "string", description: 'Pattern: "^(?!a)".' },
      reported: ["pattern"],
    },
  },
  {
    what: "format date-time",
    schema: { type: "string", format: "date-time" },
    openai: { schema: { type: "string", format: "date-time" } },
    anthropic: { schema: { type: "string", format: "date-time" } },
    gemini: { schema: { type: "string", format: "date-time" } },
  },
  {
    what: "format uri",
    schema: { type: "string", format: "uri" },
    openai: { schema: { type: "string", description: 'Format: "uri".' }, reported: ["format"] },
    anthropic: { schema: { type: "string", format: "uri" } },
    gemini: { schema: { type: "string", format: "uri" } },
  },
  {
    what: "format int64",
    schema: { type: "integer", format: "int64" },
    openai: { schema: { type: "integer", description: 'Format: "int64".' } },
    anthropic: { schema: { type: "integer", description: 'Format: "int64".' } },
    gemini: { schema: { type: "integer", format: "int64" } },
  },
  {
    what: "minimum",
    schema: { type: "number", minimum: 1, maximum: 2 },
    openai: { schema: { type: "number", minimum: 1, maximum: 2 } },
    anthropic: {
      schema: { type: "number", description: "Minimum: 1. Maximum: 2." },
      reported: ["minimum", "maximum"],
    },
    gemini: { schema: { type: "number", minimum: 1, maximum: 2 } },
  },
  {
    what: "exclusive bounds of integers",
    schema: { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 9 },
    openai: { schema: { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 9 } },
    anthropic: {
      schema: { type: "integer", description: "Exclusive minimum: 0. Exclusive maximum: 9." },
      reported: ["exclusiveMinimum", "exclusiveMaximum"],
    },
    gemini: { schema: { type: "integer", minimum: 1, maximum: 8 } },
  },
  {
    what: "exclusive bound of numbers",
    schema: { type: "number", exclusiveMinimum: 0 },
    openai: { schema: { type: "number", exclusiveMinimum: 0 } },
    anthropic: {
      schema: { type: "number", description: "Exclusive minimum: 0." },
      reported: ["exclusiveMinimum"],
    },
    gemini: {
      schema: { type: "number", minimum: 0, description: "Exclusive minimum: 0." },
      reported: ["exclusiveMinimum"],
    },
  },
  {
    what: "multipleOf",
    schema: { type: "number", multipleOf: 0.5 },
    openai: { schema: { type: "number", multipleOf: 0.5 } },
    anthropic: { schema: { type: "number", description: "Multiple of: 0.5." }, reported: ["multipleOf"] },
    gemini: { schema: { type: "number", description: "Multiple of: 0.5." }, reported: ["multipleOf"] },
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
        description: "Max items: 3.",
      },
      reported: ["maxItems"],
    },
    gemini: { schema: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 3 } },
  },
  {
    what: "minItems above one",
    schema: { type: "array", items: { type: "string" }, minItems: 2 },
    openai: { schema: { type: "array", items: { type: "string" }, minItems: 2 } },
    anthropic: {
      schema: { type: "array", items: { type: "string" }, description: "Min items: 2." },
      reported: ["minItems"],
    },
    gemini: { schema: { type: "array", items: { type: "string" }, minItems: 2 } },
  },
  {
    what: "uniqueItems",
    schema: { type: "array", items: { type: "string" }, uniqueItems: true },
    openai: {
      schema: { type: "array", items: { type: "string" }, description: "Unique items: true." },
      reported: ["uniqueItems"],
    },
    anthropic: {
      schema: { type: "array", items: { type: "string" }, description: "Unique items: true." },
      reported: ["uniqueItems"],
    },
    gemini: {
      schema: { type: "array", items: { type: "string" }, description: "Unique items: true." },
      reported: ["uniqueItems"],
    },
  },
  {
    what: "uniqueItems false",
    schema: { type: "array", items: { type: "string" }, uniqueItems: false },
    openai: { schema: { type: "array", items: { type: "string" } } },
    anthropic: { schema: { type: "array", items: { type: "string" } } },
    gemini: { schema: { type: "array", items: { type: "string" } } },
  },
  {
    what: "array without items",
    schema: { type: "array" },
    openai: { refused: "/items: accepts any value" },
    anthropic: { refused: "/items: accepts any value" },
    gemini: { schema: { type: "array", items: {} } },
  },
  {
    what: "prefixItems",
    schema: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] },
    openai: {
      schema: { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } },
      reported: ["prefixItems"],
    },
    anthropic: {
      schema: { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } },
      reported: ["prefixItems"],
    },
    gemini: { schema: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] } },
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
  },
  {
    what: "items false",
    schema: { type: "array", prefixItems: [{ type: "string" }], items: false },
    openai: { schema: { type: "array", items: { type: "string" }, maxItems: 1 } },
    anthropic: { schema: { type: "array", items: { type: "string" } }, reported: ["items"] },
    gemini: { schema: { type: "array", prefixItems: [{ type: "string" }], maxItems: 1 } },
  },
  {
    what: "contains",
    schema: { type: "array", items: { type: "string" }, contains: { const: "a" } },
    openai: {
      schema: {
        type: "array",
        items: { type: "string" },
        description: 'Contains: {"const":"a"}.',
      },
      reported: ["contains"],
    },
    anthropic: {
      schema: {
        type: "array",
        items: { type: "string" },
        description: 'Contains: {"const":"a"}.',
      },
      reported: ["contains"],
    },
    gemini: {
      schema: {
        type: "array",
        items: { type: "string" },
        description: 'Contains: {"const":"a"}.',
      },
      reported: ["contains"],
    },
  },
  {
    what: "object without additionalProperties",
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
  },
  {
    what: "object with an optional property",
    schema: { type: "object", properties: { x: { type: "string" } } },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: ["string", "null"] } },
        required: ["x"],
        additionalProperties: false,
      },
      reported: ["properties/x"],
    },
    anthropic: {
      schema: { type: "object", properties: { x: { type: "string" } }, additionalProperties: false },
    },
    gemini: { schema: { type: "object", properties: { x: { type: "string" } } } },
  },
  {
    what: "object with additionalProperties true",
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
      reported: ["additionalProperties"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
      reported: ["additionalProperties"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: true,
      },
    },
  },
  {
    what: "object with additionalProperties false",
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
  },
  {
    what: "object with a schema for other properties",
    schema: { type: "object", additionalProperties: { type: "string" } },
    openai: { refused: ": is an object with arbitrary property names" },
    anthropic: { refused: ": is an object with arbitrary property names" },
    gemini: { schema: { type: "object", additionalProperties: { type: "string" } } },
  },
  {
    what: "object without properties",
    schema: { type: "object" },
    openai: { refused: ": is an object with arbitrary property names" },
    anthropic: { refused: ": is an object with arbitrary property names" },
    gemini: { schema: { type: "object" } },
  },
  {
    what: "object that must be empty",
    schema: { type: "object", properties: {}, additionalProperties: false },
    openai: { schema: { type: "object", properties: {}, additionalProperties: false, required: [] } },
    anthropic: { schema: { type: "object", properties: {}, additionalProperties: false } },
    gemini: { schema: { type: "object", properties: {}, additionalProperties: false } },
  },
  {
    what: "required but undeclared property",
    schema: { type: "object", properties: {}, required: ["x"], additionalProperties: { type: "string" } },
    openai: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
      reported: ["additionalProperties"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
      },
      reported: ["additionalProperties"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: { type: "string" },
      },
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
        description: 'Pattern properties: {"^y":{"type":"number"}}.',
      },
      reported: ["patternProperties"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'Pattern properties: {"^y":{"type":"number"}}.',
      },
      reported: ["patternProperties"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: { type: "number" },
        description: 'Pattern properties: {"^y":{"type":"number"}}.',
      },
      reported: ["patternProperties"],
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
        description: "Min properties: 1.",
      },
      reported: ["minProperties"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: "Min properties: 1.",
      },
      reported: ["minProperties"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        description: "Min properties: 1.",
      },
      reported: ["minProperties"],
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
        description: 'Property names: {"maxLength":1}.',
      },
      reported: ["propertyNames"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'Property names: {"maxLength":1}.',
      },
      reported: ["propertyNames"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        description: 'Property names: {"maxLength":1}.',
      },
      reported: ["propertyNames"],
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
        description: 'Dependent required: {"x":["y"]}.',
      },
      reported: ["dependentRequired"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'Dependent required: {"x":["y"]}.',
      },
      reported: ["dependentRequired"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        description: 'Dependent required: {"x":["y"]}.',
      },
      reported: ["dependentRequired"],
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
        description: 'Dependencies: {"x":["x"]}.',
      },
      reported: ["dependencies"],
    },
    anthropic: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        additionalProperties: false,
        description: 'Dependencies: {"x":["x"]}.',
      },
      reported: ["dependencies"],
    },
    gemini: {
      schema: {
        type: "object",
        properties: { x: { type: "string" } },
        required: ["x"],
        description: 'Dependencies: {"x":["x"]}.',
      },
      reported: ["dependencies"],
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
  },
  {
    what: "anyOf",
    schema: { anyOf: [{ type: "string" }, { type: "null" }] },
    openai: { schema: { anyOf: [{ type: "string" }, { type: "null" }] } },
    anthropic: { schema: { anyOf: [{ type: "string" }, { type: "null" }] } },
    gemini: { schema: { anyOf: [{ type: "string" }, { type: "null" }] } },
  },
  {
    what: "oneOf of different types",
    schema: { oneOf: [{ type: "string" }, { type: "number" }] },
    openai: { schema: { anyOf: [{ type: "string" }, { type: "number" }] } },
    anthropic: { schema: { anyOf: [{ type: "string" }, { type: "number" }] } },
    gemini: { schema: { anyOf: [{ type: "string" }, { type: "number" }] } },
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
      reported: ["oneOf"],
    },
    anthropic: {
      schema: {
        anyOf: [
          { type: "string", description: "Min length: 1." },
          { type: "string", description: "Max length: 1." },
        ],
      },
      reported: ["oneOf", "oneOf/0/minLength", "oneOf/1/maxLength"],
    },
    gemini: {
      schema: {
        anyOf: [
          { type: "string", description: "Min length: 1." },
          { type: "string", description: "Max length: 1." },
        ],
      },
      reported: ["oneOf", "oneOf/0/minLength", "oneOf/1/maxLength"],
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
      schema: { type: "string", description: "Min length: 2. Max length: 3." },
      reported: ["minLength", "maxLength"],
    },
    gemini: {
      schema: { type: "string", description: "Min length: 2. Max length: 3." },
      reported: ["minLength", "maxLength"],
    },
  },
  {
    what: "not",
    schema: { type: "string", not: { const: "a" } },
    openai: { schema: { type: "string", description: 'Not: {"const":"a"}.' }, reported: ["not"] },
    anthropic: { schema: { type: "string", description: 'Not: {"const":"a"}.' }, reported: ["not"] },
    gemini: { schema: { type: "string", description: 'Not: {"const":"a"}.' }, reported: ["not"] },
  },
  {
    what: "if and then",
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    schema: { type: "string", if: { minLength: 1 }, then: { pattern: "a" } },
    openai: {
      schema: {
        type: "string",
        description: 'If: {"minLength":1}. Then: {"pattern":"a"}.',
      },
      reported: ["if", "then"],
    },
    anthropic: {
      schema: {
        type: "string",
        description: 'If: {"minLength":1}. Then: {"pattern":"a"}.',
      },
      reported: ["if", "then"],
    },
    gemini: {
      schema: {
        type: "string",
        description: 'If: {"minLength":1}. Then: {"pattern":"a"}.',
      },
      reported: ["if", "then"],
    },
  },
  {
    what: "true as schema",
    schema: true,
    openai: { refused: ": accepts any value" },
    anthropic: { refused: ": accepts any value" },
    gemini: { schema: {} },
  },
  {
    what: "empty schema",
    schema: {},
    openai: { refused: ": accepts any value" },
    anthropic: { refused: ": accepts any value" },
    gemini: { schema: {} },
  },
  {
    what: "unknown keywords",
    schema: { type: "string", minlength: 1, "x-other": 1 },
    openai: { schema: { type: "string" }, reported: ["noted minlength"] },
    anthropic: { schema: { type: "string" }, reported: ["noted minlength"] },
    gemini: { schema: { type: "string" }, reported: ["noted minlength"] },
  },
];

describe.each(Object.entries(DIALECTS))("the dialect %s", (name, dialect) => {
  it.each(ROWS)("translates $what", (row) => {
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
  return {
    schema: a,
    reported: outcome.reported.map((reported) => reported.replace(`${PLACE}/`, "").replace(PLACE, "")),
  };
}

function withDefaults(expected: Expected): Expected {
  return "refused" in expected ? expected : { reported: [], ...expected };
}
