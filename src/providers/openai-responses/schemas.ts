/** JSON Schemas of tools and response formats, in the API's dialects ("Supported schemas" in its documentation). */

import type { LossReport } from "../../kit/call/loss-report.ts";
import { type JsonObject, parseObjectField } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import { compileSchema } from "../../kit/json-schema/compile-schema.ts";
import { enforceSchema, type SentSchema } from "../../kit/json-schema/enforce-schema.ts";
import { type AnswerSchema, wrapAnswer } from "../../kit/json-schema/wrap-answer.ts";
import { OPENAI_STRICT, PLAIN, TOOL_PARAMETERS } from "../schema-dialects.ts";

/**
 * Returns the parameters of a tool. @param strict Whether the API has to enforce them. @param field Path of the schema.
 */
export function parametersSchema(text: string, strict: boolean, field: string, loss: LossReport): SentSchema {
  return toSchema(text, strict, TOOL_PARAMETERS, field, loss);
}

/**
 * Returns the schema of the answer, wrapped if it is not an object.
 * @param strict Whether the API has to enforce it.
 * @param field Path of the schema.
 */
export function responseSchema(text: string, strict: boolean, field: string, loss: LossReport): AnswerSchema {
  const forms = { enforced: OPENAI_STRICT, shown: PLAIN };
  const schema = parseObjectField(text, field);
  const wrapped = wrapAnswer(schema, strict, forms, field, loss);
  // The API does not look behind a reference for the type of the root.
  return wrapped ?? toSchema(text, strict, "$ref" in schema ? TOOL_PARAMETERS : PLAIN, field, loss);
}

function toSchema(
  text: string,
  strict: boolean,
  shown: typeof PLAIN,
  field: string,
  loss: LossReport,
): SentSchema {
  const schema = parseObjectField(text, field);
  const sent = strict
    ? enforceSchema(schema, { enforced: OPENAI_STRICT, shown }, field, loss)
    : { schema: compileSchema(schema, shown, field, loss), enforced: false };
  return { ...sent, schema: asSpelled(sent.schema, schema, text) };
}

/** Returns an unchanged schema in the caller's spelling. */
function asSpelled(sent: JsonObject, schema: JsonObject, text: string): JsonObject {
  return sent === schema || JSON.stringify(sent) === JSON.stringify(schema) ? sourceObject(text) : sent;
}
