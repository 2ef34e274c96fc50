/** Our response format -> `text.format` (provider documentation: "Structured model outputs"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { textOf } from "../../core/message.ts";
import { Role } from "../../gen/outrigger/v1/message_pb.ts";
import { ResponseFormat_Type as Format, type Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import { type JsonObject, parseObjectField } from "../../kit/json/json.ts";
import { answerSchema } from "./schemas.ts";

/** How the model is brought to answer in a shape. */
export interface AnswerFormat {
  /** `text`, where the API holds the model to the shape. */
  readonly settings: JsonObject;
  /** A sentence for the beginning of the input; undefined where none is needed. */
  readonly sentence: string | undefined;
}

/** The shape of the answer. Where the model has no setting for it, a sentence asks for it. */
export function answerFormat(request: Request, traits: ModelTraits, loss: LossReport): AnswerFormat {
  const { responseFormat: format } = request;
  switch (format?.type) {
    case Format.JSON:
      return jsonFormat(request, loss);
    case Format.JSON_SCHEMA:
      return schemaFormat(format.schemaJson, format.name, format.strict, traits, loss);
    default:
      return { settings: {}, sentence: undefined };
  }
}

/** The API refuses `json_object` unless the word stands in the input; `instructions` do not count. */
function jsonFormat(request: Request, loss: LossReport): AnswerFormat {
  const settings = { text: { format: { type: "json_object" } } };
  if (asksForJson(request)) return { settings, sentence: undefined };
  const message = "the API wants the word JSON in the input; a sentence with it was added";
  loss.note("response_format", "converted_content", message);
  return { settings, sentence: JSON_SENTENCE };
}

/**
 * Whether the conversation asks for JSON before the model has said anything. Later turns do not
 * count: what they say must not change how the input begins.
 */
function asksForJson({ messages }: Request): boolean {
  const first = messages.findIndex(({ role }) => role === Role.ASSISTANT);
  const opening = first < 0 ? messages : messages.slice(0, first);
  return opening.some((message) => message.role === Role.USER && /json/i.test(textOf(message)));
}

function schemaFormat(
  schemaJson: string,
  name: string,
  strict: boolean,
  traits: ModelTraits,
  loss: LossReport,
): AnswerFormat {
  if (traits.jsonSchema) {
    const { schema, enforced } = answerSchema(schemaJson, strict, SCHEMA_FIELD, loss);
    const format = { type: "json_schema", name: name || "response", schema, strict: enforced };
    return { settings: { text: { format } }, sentence: undefined };
  }
  parseObjectField(schemaJson, SCHEMA_FIELD);
  const message = "the model has no JSON schemas; a sentence asks for it";
  loss.lose("response_format", "adjusted_setting", message);
  return { settings: {}, sentence: `${SCHEMA_SENTENCE}\n${schemaJson}` };
}

const SCHEMA_FIELD = "response_format.schema_json";

const JSON_SENTENCE = "Answer with a JSON object.";

const SCHEMA_SENTENCE =
  "Answer with one JSON value that fits the JSON Schema below and nothing else: no text before or after it and no code fence.";
