/** Response format -> `response_format` (provider documentation: "Structured model outputs"). */

import { textOf } from "../../core/message.ts";
import { ResponseFormat_Type as Format, type ResponseFormat } from "../../gen/outrigger/v1/request_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { stringifyJson } from "../../kit/json/json-source.ts";
import type { RequestContext } from "./context.ts";
import { leadingMessages } from "./leading.ts";
import { schemaOf } from "./schemas.ts";

/** How the shape of the answer is asked for. */
export interface AnswerShape {
  /** For the body. */
  readonly settings: JsonObject;
  /** Goes behind the instructions where the settings do not say it all; else undefined. */
  readonly instruction: string | undefined;
}

/**
 * The shape that the caller wants: in the server's own settings where it has them, else as JSON
 * with the schema in words. The words are the same for the same schema in every turn.
 */
export function answerShape(context: RequestContext): AnswerShape {
  const { responseFormat: format } = context.request;
  switch (format?.type) {
    case Format.JSON:
      return jsonShape(context);
    case Format.JSON_SCHEMA:
      return schemaShape(format, context);
    default:
      return { settings: {}, instruction: undefined };
  }
}

/**
 * Any JSON. Servers refuse it unless the word stands in the prompt, or write white space without
 * end. Only the instructions are searched for it, since they are the same in every turn.
 */
function jsonShape({ profile, request, loss }: RequestContext): AnswerShape {
  const saysJson = leadingMessages(request.messages).some((message) => /json/i.test(textOf(message)));
  if (profile.supportsJsonObject)
    return { settings: JSON_OBJECT, instruction: saysJson ? undefined : JSON_SENTENCE };
  const message = "the server has no JSON mode; JSON was asked for in words";
  loss.lose("response_format", "adjusted_setting", message);
  return { settings: {}, instruction: JSON_SENTENCE };
}

function schemaShape(format: ResponseFormat, context: RequestContext): AnswerShape {
  const { profile, traits, loss } = context;
  const { schemaJson, strict } = format;
  if (profile.supportsJsonSchema && traits.jsonSchema)
    return { settings: { response_format: jsonSchema(format, context) }, instruction: undefined };
  // Checks the schema too.
  const { schema } = schemaOf(schemaJson, "answer", false, SCHEMA_FIELD, context);
  const how = profile.supportsJsonObject
    ? "JSON was asked for, with the schema in words"
    : "it was asked for in words";
  const held = strict ? " and is not enforced" : "";
  loss.lose("response_format", "adjusted_setting", `the server takes no schema of the answer; ${how}${held}`);
  return {
    settings: profile.supportsJsonObject ? JSON_OBJECT : {},
    instruction: `${SCHEMA_SENTENCE}\n${stringifyJson(schema)}`,
  };
}

const SCHEMA_FIELD = "response_format.schema_json";
const JSON_OBJECT: JsonObject = { response_format: { type: "json_object" } };
const JSON_SENTENCE = "Answer with one JSON object and nothing else.";
const SCHEMA_SENTENCE = "Answer with JSON that fits the following JSON Schema, and with nothing else:";

function jsonSchema({ name, schemaJson, strict }: ResponseFormat, context: RequestContext): JsonObject {
  const { schema, enforced } = schemaOf(schemaJson, "answer", strict, SCHEMA_FIELD, context);
  const settings = { name: name || "response", schema, ...(strict && enforced ? { strict: true } : {}) };
  return { type: "json_schema", json_schema: settings };
}
