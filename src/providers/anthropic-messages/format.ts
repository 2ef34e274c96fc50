/** Our response format -> `output_config.format` (provider documentation: "Structured outputs"). */
import { ResponseFormat_Type as Format, type Request } from "../../gen/outrigger/v1/request_pb.ts";
import { type JsonObject, parseObjectField } from "../../kit/json.ts";
import type { LossReport } from "../../kit/loss-report.ts";
import type { ModelTraits } from "../../kit/model-traits.ts";
import { textBlocks } from "./content.ts";
import { outputSchema } from "./schema.ts";
import type { Block } from "./wire.ts";

/** How the model is brought to answer in a shape. */
export interface AnswerFormat {
  /** `output_config.format`: the provider holds the model to it. */
  readonly format: JsonObject | undefined;
  /** Blocks for the end of the system text, where the provider has no setting. */
  readonly instructions: readonly Block[];
}

/**
 * The shape of the answer. The API has schemas for newer models and no mode for just any JSON;
 * where it has nothing, an instruction asks for it, the same in every turn.
 */
export function answerFormat(
  { responseFormat: format }: Request,
  traits: ModelTraits,
  loss: LossReport,
): AnswerFormat {
  switch (format?.type) {
    case Format.JSON:
      loss.lose(
        "response_format",
        "adjusted_setting",
        "the API has no JSON mode; an instruction asks for it",
      );
      return { format: undefined, instructions: textBlocks(JSON_INSTRUCTION) };
    case Format.JSON_SCHEMA:
      return schemaFormat(format.schemaJson, traits, loss);
    default:
      return { format: undefined, instructions: [] };
  }
}

const SCHEMA_FIELD = "response_format.schema_json";

function schemaFormat(schemaJson: string, traits: ModelTraits, loss: LossReport): AnswerFormat {
  const schema = parseObjectField(schemaJson, SCHEMA_FIELD);
  if (traits.jsonSchema) {
    const compiled = outputSchema(schema, SCHEMA_FIELD, loss);
    return { format: { type: "json_schema", schema: compiled }, instructions: [] };
  }
  loss.lose(
    "response_format",
    "adjusted_setting",
    "the model has no JSON schemas; an instruction asks for it",
  );
  return { format: undefined, instructions: textBlocks(`${SCHEMA_INSTRUCTION}\n${schemaJson}`) };
}

const JSON_INSTRUCTION =
  "Answer with one JSON object and nothing else: no text before or after it and no code fence.";

const SCHEMA_INSTRUCTION =
  "Answer with one JSON value that fits the JSON Schema below and nothing else: no text before or after it and no code fence.";
