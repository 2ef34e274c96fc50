/** Our response format -> `output_config.format` (provider documentation: "Structured outputs"). */

import { ResponseFormat_Type as Format } from "../../gen/outrigger/v1/request_pb.ts";
import { parseObjectField } from "../../kit/json/json.ts";
import { enforceSchema, type SchemaForms } from "../../kit/json-schema/enforce-schema.ts";
import type { OutputFormat, TextBlockParam } from "../../wire/anthropic-messages/request.ts";
import { ANTHROPIC_OUTPUT, PLAIN } from "../schema-dialects.ts";
import type { RequestContext } from "./context.ts";
import { textBlocks } from "./user-content.ts";

/** How a request asks for an answer in a certain format. */
export interface ResponseFormatSettings {
  /** `output_config.format`, which the provider enforces. */
  readonly format: OutputFormat | undefined;
  /** Blocks for the end of the system prompt, if the provider has no setting. */
  readonly instructions: readonly TextBlockParam[];
}

/**
 * Returns the settings for `response_format`. The API has schemas for newer models, as far as they can be enforced, and
 * no mode for JSON without a schema. If it has no setting, an instruction asks for the format, with the same text in
 * every turn.
 */
export function responseFormatSettings(context: RequestContext): ResponseFormatSettings {
  const { responseFormat: format } = context.request;
  switch (format?.type) {
    case Format.JSON:
      context.loss.lose(
        "response_format",
        "adjusted_setting",
        "the API has no JSON mode; an instruction requests JSON",
      );
      return instruction(JSON_INSTRUCTION);
    case Format.JSON_SCHEMA:
      return schemaFormat(format.schemaJson, context);
    default:
      return { format: undefined, instructions: [] };
  }
}

const SCHEMA_FIELD = "response_format.schema_json";

const ANSWER_SCHEMA: SchemaForms = { enforced: ANTHROPIC_OUTPUT, shown: PLAIN };

function schemaFormat(schemaJson: string, { traits, loss, budget }: RequestContext): ResponseFormatSettings {
  const given = parseObjectField(schemaJson, SCHEMA_FIELD);
  const instructed = instruction(`${SCHEMA_INSTRUCTION}\n${schemaJson}`);
  if (!traits.jsonSchema) {
    loss.lose(
      "response_format",
      "adjusted_setting",
      "the model does not accept a schema; an instruction contains it",
    );
    return instructed;
  }
  const { schema, enforced } = enforceSchema(given, ANSWER_SCHEMA, SCHEMA_FIELD, loss, budget);
  return enforced ? { format: { type: "json_schema", schema }, instructions: [] } : instructed;
}

function instruction(text: string): ResponseFormatSettings {
  return { format: undefined, instructions: textBlocks(text) };
}

const JSON_INSTRUCTION =
  "Answer with one JSON object and nothing else: no text before or after it and no code fence.";

const SCHEMA_INSTRUCTION =
  "Answer with one JSON value that fits the JSON Schema below and nothing else: no text before or after it and no code fence.";
