/** Response format -> `responseMimeType` and `responseJsonSchema` (provider documentation: "Structured outputs"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { ResponseFormat_Type as Format, type Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import { parseObjectField } from "../../kit/json/json.ts";
import { compileSchema } from "../../kit/json-schema/compile-schema.ts";
import type { GenerationConfig } from "../../wire/gemini/request.ts";
import { GEMINI_JSON_SCHEMA } from "../schema-dialects.ts";

/** How a response format is requested. */
export interface ResponseFormatSettings {
  /** For `generationConfig`. */
  readonly config: Pick<GenerationConfig, "responseMimeType" | "responseJsonSchema">;
  /** Sent after the system instruction if the model has no setting for the format; else undefined. */
  readonly instruction: string | undefined;
}

/** Returns the settings for a response format; an instruction if the model has no setting. */
export function responseFormatSettings(
  { responseFormat: format, tools }: Request,
  traits: ModelTraits,
  loss: LossReport,
): ResponseFormatSettings {
  if (format?.type !== Format.JSON && format?.type !== Format.JSON_SCHEMA) return UNSET;
  const schema = format.type === Format.JSON ? undefined : parseObjectField(format.schemaJson, SCHEMA_FIELD);
  if (!traits.jsonSchema || (tools.length > 0 && !traits.jsonSchemaWithTools)) {
    const reason = traits.jsonSchema
      ? "the model does not accept a response format together with tools"
      : "the model does not accept a response format";
    loss.lose("response_format", "adjusted_setting", `${reason}; it was requested in the instructions`);
    return {
      config: {},
      instruction:
        schema === undefined ? JSON_INSTRUCTION : `${SCHEMA_INSTRUCTION}\n${JSON.stringify(schema)}`,
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
const UNSET: ResponseFormatSettings = { config: {}, instruction: undefined };
const JSON_INSTRUCTION = "Answer with one JSON object and nothing else.";
const SCHEMA_INSTRUCTION = "Answer with JSON that fits the following JSON Schema, and with nothing else:";
