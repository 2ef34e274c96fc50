/** Response format -> `response_format` (provider documentation: "Structured model outputs"). */

import { textOf } from "../../core/message.ts";
import { ResponseFormat_Type as Format, type ResponseFormat } from "../../gen/outrigger/v1/request_pb.ts";
import { stringifyJson } from "../../kit/json/json-source.ts";
import type { ChatRequest } from "../../wire/openai-chat/request.ts";
import type { RequestContext } from "./context.ts";
import { leadingInstructions } from "./instructions.ts";
import { toAnswerSchema } from "./schemas.ts";

/** Settings that ask for the form of an answer. */
export interface ResponseFormatSettings {
  /** For the body. */
  readonly settings: Pick<ChatRequest, "response_format">;
  /** Follows the caller's instructions if the settings alone do not ask for the form; else undefined. */
  readonly instruction: string | undefined;
  /** Name of the member that has the value in the object that the model writes instead. Absent: there is none. */
  readonly wrappedMember?: string | undefined;
}

/**
 * Asks for the form that the caller wants: in the server's settings if it has them, else in an instruction. The
 * instruction is the same for the same schema in every turn.
 */
export function responseFormatSettings(context: RequestContext): ResponseFormatSettings {
  const { responseFormat: format } = context.request;
  switch (format?.type) {
    case Format.JSON:
      return jsonSettings(context);
    case Format.JSON_SCHEMA:
      return schemaSettings(format, context);
    default:
      return { settings: {}, instruction: undefined };
  }
}

/**
 * Any JSON. Unless the prompt contains the word, servers refuse the request or write white space without end. Only the
 * instructions are searched for it, since they are the same in every turn.
 */
function jsonSettings({ profile, request, loss }: RequestContext): ResponseFormatSettings {
  const saysJson = leadingInstructions(request.messages).some((message) => /json/i.test(textOf(message)));
  if (profile.supportsJsonObject)
    return { settings: JSON_OBJECT, instruction: saysJson ? undefined : JSON_SENTENCE };
  const message = "the server has no JSON mode; JSON was requested in an instruction";
  loss.lose("response_format", "adjusted_setting", message);
  return { settings: {}, instruction: JSON_SENTENCE };
}

function schemaSettings(format: ResponseFormat, context: RequestContext): ResponseFormatSettings {
  const { profile, traits, loss } = context;
  const { name, schemaJson, strict } = format;
  if (profile.supportsJsonSchema && traits.jsonSchema) {
    const { schema, enforced, wrappedMember } = toAnswerSchema(schemaJson, strict, SCHEMA_FIELD, context);
    const settings = { name: name || "response", schema, ...(strict && enforced ? { strict: true } : {}) };
    const response_format = { type: "json_schema", json_schema: settings } as const;
    return { settings: { response_format }, instruction: undefined, wrappedMember };
  }
  // Checks the schema too.
  const { schema, wrappedMember } = toAnswerSchema(schemaJson, false, SCHEMA_FIELD, context);
  const how = profile.supportsJsonObject
    ? "JSON was requested, with the schema in an instruction"
    : "it was requested in an instruction";
  const unenforced = strict ? " and is not enforced" : "";
  loss.lose(
    "response_format",
    "adjusted_setting",
    `the server does not accept a schema for the answer; ${how}${unenforced}`,
  );
  return {
    settings: profile.supportsJsonObject ? JSON_OBJECT : {},
    instruction: `${SCHEMA_SENTENCE}\n${stringifyJson(schema)}`,
    wrappedMember,
  };
}

const SCHEMA_FIELD = "response_format.schema_json";
const JSON_OBJECT: Pick<ChatRequest, "response_format"> = { response_format: { type: "json_object" } };
const JSON_SENTENCE = "Answer with one JSON object and nothing else.";
const SCHEMA_SENTENCE = "Answer with JSON that fits the following JSON Schema, and with nothing else:";
