/** Response format -> `responseMimeType` and `responseJsonSchema` (provider documentation: "Structured outputs"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { ResponseFormat_Type as Format, type Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import { type JsonObject, parseObjectField } from "../../kit/json/json.ts";
import { compileSchema } from "../../kit/json-schema/compile-schema.ts";
import { GEMINI_JSON_SCHEMA } from "../../kit/json-schema/dialects.ts";

/** How the shape of the answer is asked for. */
export interface AnswerShape {
  /** For `generationConfig`. */
  readonly config: JsonObject;
  /** Goes behind the instructions where the model has no setting for it; else undefined. */
  readonly instruction: string | undefined;
}

/** The shape that the caller wants, in settings where the model has them, else in words. */
export function answerShape(
  { responseFormat: format, tools }: Request,
  traits: ModelTraits,
  loss: LossReport,
): AnswerShape {
  if (format?.type !== Format.JSON && format?.type !== Format.JSON_SCHEMA) return FREE;
  const schema = format.type === Format.JSON ? undefined : parseObjectField(format.schemaJson, SCHEMA_FIELD);
  if (!traits.jsonSchema || (tools.length > 0 && !traits.jsonSchemaWithTools)) {
    const why = traits.jsonSchema
      ? "the model takes no response format together with tools"
      : "the model takes no response format";
    loss.lose("response_format", "adjusted_setting", `${why}; it was asked for in words`);
    return {
      config: {},
      instruction: schema === undefined ? JSON_SENTENCE : `${SCHEMA_SENTENCE}\n${JSON.stringify(schema)}`,
    };
  }
  const responseJsonSchema =
    schema === undefined ? undefined : compileSchema(schema, GEMINI_JSON_SCHEMA, SCHEMA_FIELD, loss);
  return {
    config: {
      responseMimeType: "application/json",
      ...(responseJsonSchema === undefined ? {} : { responseJsonSchema }),
    },
    instruction: undefined,
  };
}

const SCHEMA_FIELD = "response_format.schema_json";
const FREE: AnswerShape = { config: {}, instruction: undefined };
const JSON_SENTENCE = "Answer with one JSON object and nothing else.";
const SCHEMA_SENTENCE = "Answer with JSON that fits the following JSON Schema, and with nothing else:";
