/** JSON Schemas of tools and of response formats, in the dialect that a server accepts. */
import { asObject, type JsonObject, type JsonValue, parseObjectField } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import { compileSchema } from "../../kit/json-schema/compile-schema.ts";
import type { SchemaDialect } from "../../kit/json-schema/dialect.ts";
import { enforceSchema, type SentSchema } from "../../kit/json-schema/enforce-schema.ts";
import { type AnswerSchema, wrapAnswer } from "../../kit/json-schema/wrap-answer.ts";
import { MISTRAL_STRICT, OPENAI_STRICT, PLAIN, TOOL_PARAMETERS } from "../schema-dialects.ts";
import type { RequestContext } from "./context.ts";
import type { ServerProfile } from "./profile.ts";

/** The use of a schema. */
export type SchemaUse = "parameters" | "response";

/**
 * Returns a schema of the request in the form that is sent.
 * @param text The schema, JSON text.
 * @param strict Whether the server is to enforce it.
 * @param field Path of the schema in the request.
 */
export function toSchema(
  text: string,
  use: SchemaUse,
  strict: boolean,
  field: string,
  { profile, loss }: RequestContext,
): SentSchema {
  const schema = parseObjectField(text, field);
  const dialect = ENFORCED[profile.strictSchemas];
  // OpenAI does not look behind a reference for the type of the root.
  const hidesRoot = dialect !== undefined && "$ref" in schema;
  const shown = use === "parameters" || hidesRoot ? TOOL_PARAMETERS : PLAIN;
  const enforced = strict ? dialect : undefined;
  const sent =
    enforced === undefined
      ? {
          schema: compileSchema(strict ? closeObjects(schema) : schema, shown, field, loss),
          enforced: strict,
        }
      : enforceSchema(schema, { enforced, shown }, field, loss);
  return { ...sent, schema: keepSpelling(sent.schema, schema, text) };
}

/**
 * Returns the schema of an answer in the form that is sent, wrapped if it is not an object and the server lets the
 * model write objects only: as OpenAI does with a schema, and servers without schemas in their JSON mode.
 * @param strict Whether the server is to enforce it.
 * @param field Path of the schema in the request.
 */
export function toAnswerSchema(
  text: string,
  strict: boolean,
  field: string,
  context: RequestContext,
): AnswerSchema {
  const { profile, traits, loss } = context;
  const takesSchema = profile.supportsJsonSchema && traits.jsonSchema;
  const otherwise = profile.supportsJsonObject ? PLAIN : undefined;
  const enforced = takesSchema ? ENFORCED[profile.strictSchemas] : otherwise;
  const wrapped =
    enforced && wrapAnswer(parseObjectField(text, field), strict, { enforced, shown: PLAIN }, field, loss);
  return wrapped ?? toSchema(text, "response", strict, field, context);
}

const ENFORCED: Readonly<Record<ServerProfile["strictSchemas"], SchemaDialect | undefined>> = {
  openai: OPENAI_STRICT,
  mistral: MISTRAL_STRICT,
  any: undefined,
};

/** Keywords alongside which a list of all properties may be incomplete. */
const COMPOSING = ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"];

/**
 * Forbids other properties in objects that have to have all their properties. Servers that enforce any schema do not
 * need it; those that pass the schema on to OpenAI get a refusal without it.
 */
function closeObjects(schema: JsonObject): JsonObject {
  const closed = mapValues(schema);
  const { properties, required, additionalProperties } = schema;
  const names = Object.keys(asObject(properties) ?? {});
  const needed = new Set(Array.isArray(required) ? required : []);
  const hasAll = names.length > 0 && names.every((name) => needed.has(name));
  const isOpen = additionalProperties === undefined && !COMPOSING.some((name) => name in schema);
  return hasAll && isOpen ? { ...closed, additionalProperties: false } : closed;
}

/** Closes the schemas within a schema. The values of these keywords are data. */
function mapValues(schema: JsonObject): JsonObject {
  const data = ["const", "default", "enum", "examples"];
  const entries = Object.entries(schema).map(([name, value]) => [
    name,
    data.includes(name) ? value : closeWithin(value),
  ]);
  return Object.fromEntries(entries);
}

function closeWithin(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((each) => closeWithin(each) ?? null);
  const schema = asObject(value);
  return schema === undefined ? value : closeObjects(schema as JsonObject);
}

/** A schema that was not changed keeps its spelling. */
function keepSpelling(sent: JsonObject, schema: JsonObject, text: string): JsonObject {
  return sent === schema || JSON.stringify(sent) === JSON.stringify(schema) ? sourceObject(text) : sent;
}
