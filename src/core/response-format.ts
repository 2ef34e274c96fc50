/** Constructors of response formats, and a parser for answers that follow one. */
import { create } from "@bufbuild/protobuf";
import type { Message } from "../gen/outrigger/v1/message_pb.ts";
import {
  type ResponseFormat,
  ResponseFormat_Type,
  ResponseFormatSchema,
} from "../gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason, type Response } from "../gen/outrigger/v1/response_pb.ts";
import { NoObjectGeneratedError } from "./errors.ts";
import { textOf } from "./message.ts";
import { type JsonValue, type ParseResult, parseJson } from "./parse-json.ts";
import { type JsonSchema, type StandardSchema, toSchemaText } from "./schema.ts";

/** Options of a JSON schema. */
export interface JsonSchemaOptions {
  /** Asks the provider to guarantee that the answer matches the schema. Default false: the schema guides the model. */
  readonly strict?: boolean | undefined;
}

/**
 * Asks for JSON that matches a schema.
 *
 * ```ts
 * const Person = z.object({ name: z.string(), age: z.number() });
 * const request = { model, messages, responseFormat: jsonSchema("person", Person, { strict: true }) };
 * const person = jsonOf(await client.complete(request), Person);
 * ```
 * @param name At most 64 letters, digits, `_` and `-`.
 */
export function jsonSchema(
  name: string,
  schema: JsonSchema,
  { strict = false }: JsonSchemaOptions = {},
): ResponseFormat {
  const type = ResponseFormat_Type.JSON_SCHEMA;
  return create(ResponseFormatSchema, { type, name, schemaJson: toSchemaText(schema), strict });
}

/** Asks for a JSON object of any shape. */
export function jsonObject(): ResponseFormat {
  return create(ResponseFormatSchema, { type: ResponseFormat_Type.JSON });
}

/**
 * Parses the JSON of an answer. An answer that was cut off or is not JSON gives an error, never a partial object.
 * @param schema Checks the value, and gives it its type. Without a schema the value is any JSON.
 */
export function jsonOf(source: Message | Response): ParseResult<JsonValue, NoObjectGeneratedError>;
export function jsonOf<Output>(
  source: Message | Response,
  schema: StandardSchema<Output>,
): ParseResult<Output, NoObjectGeneratedError>;
export function jsonOf(
  source: Message | Response,
  schema?: StandardSchema,
): ParseResult<unknown, NoObjectGeneratedError> {
  const cut = isCut(source) ? " (the answer was cut off at its token limit)" : "";
  const fail = (problem: string, cause?: unknown) =>
    new NoObjectGeneratedError(`the answer is ${problem}${cut}`, { cause });
  return parseJson(textOf(source), fail, schema);
}

function isCut(source: Message | Response): boolean {
  return "finishReason" in source && source.finishReason?.reason === FinishReason_Reason.LENGTH;
}
