/** Our response format -> `output_config.format` (provider documentation: "Structured outputs"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { ResponseFormat_Type as Format, type Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import { type JsonObject, parseObjectField } from "../../kit/json/json.ts";
import { ANTHROPIC_OUTPUT, PLAIN } from "../../kit/json-schema/dialects.ts";
import { enforceSchema, type SchemaForms } from "../../kit/json-schema/enforce-schema.ts";
import type { SchemaBudget } from "../../kit/json-schema/limits.ts";
import { textBlocks } from "./user-content.ts";
import type { Block } from "./wire.ts";

/** How the model is brought to answer in a shape. */
export interface AnswerFormat {
  /** `output_config.format`: the provider holds the model to it. */
  readonly format: JsonObject | undefined;
  /** Blocks for the end of the system text, where the provider has no setting. */
  readonly instructions: readonly Block[];
}

/**
 * The shape of the answer. The API has schemas for newer models, as far as they can be enforced,
 * and no mode for just any JSON; where it has nothing, an instruction asks for it, the same in
 * every turn.
 * @param budget What the enforced schemas of the request use up.
 */
export function answerFormat(
  { responseFormat: format }: Request,
  traits: ModelTraits,
  loss: LossReport,
  budget: SchemaBudget,
): AnswerFormat {
  switch (format?.type) {
    case Format.JSON:
      loss.lose(
        "response_format",
        "adjusted_setting",
        "the API has no JSON mode; an instruction asks for it",
      );
      return instruction(JSON_INSTRUCTION);
    case Format.JSON_SCHEMA:
      return schemaFormat(format.schemaJson, traits, loss, budget);
    default:
      return { format: undefined, instructions: [] };
  }
}

const SCHEMA_FIELD = "response_format.schema_json";

const ANSWER: SchemaForms = { enforced: ANTHROPIC_OUTPUT, shown: PLAIN };

function schemaFormat(
  schemaJson: string,
  traits: ModelTraits,
  loss: LossReport,
  budget: SchemaBudget,
): AnswerFormat {
  const given = parseObjectField(schemaJson, SCHEMA_FIELD);
  const shown = instruction(`${SCHEMA_INSTRUCTION}\n${schemaJson}`);
  if (!traits.jsonSchema) {
    loss.lose("response_format", "adjusted_setting", "the model takes no schema; an instruction asks for it");
    return shown;
  }
  const { schema, enforced } = enforceSchema(given, ANSWER, SCHEMA_FIELD, loss, budget);
  return enforced ? { format: { type: "json_schema", schema }, instructions: [] } : shown;
}

function instruction(text: string): AnswerFormat {
  return { format: undefined, instructions: textBlocks(text) };
}

const JSON_INSTRUCTION =
  "Answer with one JSON object and nothing else: no text before or after it and no code fence.";

const SCHEMA_INSTRUCTION =
  "Answer with one JSON value that fits the JSON Schema below and nothing else: no text before or after it and no code fence.";
