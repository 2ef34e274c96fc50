/** Our response format -> `text.format` (provider documentation: "Structured model outputs"). */

import { textOf } from "../../core/message.ts";
import { Role } from "../../gen/outrigger/v1/message_pb.ts";
import {
  ResponseFormat_Type as Format,
  type Request,
  type ResponseFormat,
} from "../../gen/outrigger/v1/request_pb.ts";
import { asJson, type JsonObject, parseObjectField } from "../../kit/json/json.ts";
import type { TextFormat } from "../../wire/openai-responses/request.ts";
import type { RequestContext } from "./context.ts";
import { responseSchema } from "./schemas.ts";

/** Settings that make the model answer in a format. */
export interface ResponseFormatSettings {
  /** `text`, if the API enforces the format. */
  readonly settings: JsonObject;
  /** A sentence for the beginning of the input; undefined if none is needed. */
  readonly instruction: string | undefined;
  /** Name of the member that has the value in the object that the model writes instead. Absent: there is none. */
  readonly wrappedMember?: string | undefined;
}

/** Returns the settings for the format of the answer. If the model has no setting, an instruction asks for it. */
export function responseFormatSettings(
  format: ResponseFormat,
  context: RequestContext,
): ResponseFormatSettings {
  switch (format.type) {
    case Format.JSON:
      return jsonFormat(context);
    case Format.JSON_SCHEMA:
      return schemaFormat(format, context);
    default:
      return { settings: {}, instruction: undefined };
  }
}

/** The API refuses `json_object` unless the input contains the word JSON; `instructions` do not count. */
function jsonFormat({ request, loss }: RequestContext): ResponseFormatSettings {
  const settings = textSettings({ type: "json_object" });
  if (asksForJson(request)) return { settings, instruction: undefined };
  const message = "the API requires the word JSON in the input; a sentence with it was added";
  loss.note("response_format", "converted_content", message);
  return { settings, instruction: JSON_INSTRUCTION };
}

/**
 * Reports whether the user asks for JSON before the model's first message. Later turns do not count: their content must
 * not change how the input begins.
 */
function asksForJson({ messages }: Request): boolean {
  const first = messages.findIndex(({ role }) => role === Role.ASSISTANT);
  const opening = first < 0 ? messages : messages.slice(0, first);
  return opening.some((message) => message.role === Role.USER && /json/i.test(textOf(message)));
}

function schemaFormat(
  { schemaJson, name, strict }: ResponseFormat,
  { traits, loss }: RequestContext,
): ResponseFormatSettings {
  if (traits.jsonSchema) {
    const { schema, enforced, wrappedMember } = responseSchema(schemaJson, strict, SCHEMA_FIELD, loss);
    const settings = textSettings({
      type: "json_schema",
      name: name || "response",
      schema,
      strict: enforced,
    });
    return { settings, instruction: undefined, wrappedMember };
  }
  parseObjectField(schemaJson, SCHEMA_FIELD);
  const message = "the model has no JSON schemas; a sentence in the input describes the schema instead";
  loss.lose("response_format", "adjusted_setting", message);
  return { settings: {}, instruction: `${SCHEMA_INSTRUCTION}\n${schemaJson}` };
}

const SCHEMA_FIELD = "response_format.schema_json";

const JSON_INSTRUCTION = "Answer with a JSON object.";

const SCHEMA_INSTRUCTION =
  "Answer with one JSON value that fits the JSON Schema below and nothing else: no text before or after it and no code fence.";

function textSettings(format: TextFormat): JsonObject {
  return { text: { format: asJson(format) } };
}
