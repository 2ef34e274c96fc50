/** The body of `POST /v1/chat/completions` -> a request of the contract. */
import { create } from "@bufbuild/protobuf";
import type { SDKError } from "../../core/errors.ts";
import {
  type Request,
  type ResponseFormat,
  ResponseFormat_Type,
  ResponseFormatSchema,
} from "../../gen/outrigger/v1/request_pb.ts";
import type { ReadRequest } from "../answers/answer-request.ts";
import type { ModelResolver } from "../models/model-directory.ts";
import { type Fields, invalidParameter, parseBody } from "../openai/fields.ts";
import { OPENAI_HEADERS } from "../relay/openai-headers.ts";
import { readForm } from "../stateless/read-form.ts";
import { ReadingContext } from "../stateless/reading-context.ts";
import { type BodyContent, toRequest } from "../stateless/to-request.ts";
import { readProviderSettings } from "./provider-settings.ts";
import { readMessages } from "./read-messages.ts";
import { readTools } from "./read-tools.ts";

/** A request. */
export interface ReadChatRequest extends ReadRequest {
  /** Whether the last chunk of a stream has the usage. */
  readonly includesUsage: boolean;
  /** Names of the custom tools, whose calls are written as such even if they are functions for the provider. */
  readonly customTools: ReadonlySet<string>;
}

/**
 * Reads a request.
 * @throws InvalidRequestError that names the first invalid field.
 */
export function readRequest(body: Uint8Array, models: ModelResolver): ReadChatRequest {
  const fields = parseBody(body);
  const context = new ReadingContext(models.resolve(fields.string("model", { min: 1, max: 512 }) ?? ""));
  const reading = { api: "openai-chat", headers: OPENAI_HEADERS, fields, context } as const;
  const read = () => toRequest(readFields(fields, context), context);
  const form = readForm(reading, read, () => findSeveralAnswers(fields));
  return {
    ...form,
    customTools: getCustomTools(form.request),
    isStreamed: fields.boolean("stream") ?? false,
    includesUsage: fields.object("stream_options")?.boolean("include_usage") ?? false,
    warnings: context.notes.warnings,
  };
}

function getCustomTools({ tools }: Request): ReadonlySet<string> {
  return new Set(tools.flatMap(({ tool }) => (tool.case === "custom" ? [tool.value.name] : [])));
}

/** The contract has one answer to a request. */
function findSeveralAnswers(fields: Fields): SDKError | undefined {
  const count = fields.integer("n", { min: 1, max: 128 }) ?? 1;
  const expected = `expected 1, found ${count}; send several requests`;
  return count === 1 ? undefined : invalidParameter("n", "unsupported_value", expected);
}

function readFields(fields: Fields, context: ReadingContext): BodyContent {
  // `max_tokens` is the older name, which most clients still use.
  const limit = fields.has("max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
  return {
    messages: readMessages(fields, context),
    ...readTools(fields, context),
    settings: {
      stopSequences: [...readStop(fields)],
      reasoningEffort: fields.string("reasoning_effort", { max: 64 }) ?? "",
      providerOptionsJson: readProviderSettings(fields, context),
      responseFormat: readFormat(fields.object("response_format")),
      temperature: fields.number("temperature", { min: 0, max: 2 }),
      topP: fields.number("top_p", { min: 0, max: 1 }),
      maxTokens: fields.integer(limit, { min: 1 }),
    },
    fieldNames: [...FIELDS, ["max_tokens", limit]],
  };
}

/** Maximum number of stop sequences. Providers allow fewer, which their adapters check. */
const MAX_STOPS = 64;

function readStop(fields: Fields): readonly string[] {
  if (typeof fields.get("stop") === "string") return [fields.requireString("stop", { min: 1 })];
  return fields.strings("stop", { max: MAX_STOPS }) ?? [];
}

const FORMATS = ["text", "json_object", "json_schema"] as const;

function readFormat(format: Fields | undefined): ResponseFormat | undefined {
  if (format === undefined) return undefined;
  switch (format.word("type", FORMATS)) {
    case "json_object":
      return create(ResponseFormatSchema, { type: ResponseFormat_Type.JSON });
    case "json_schema":
      return readSchemaFormat(format);
    default:
      return undefined;
  }
}

function readSchemaFormat(format: Fields): ResponseFormat {
  const named =
    format.object("json_schema") ?? format.missing("json_schema", "an object with name and schema");
  const schema = named.object("schema") ?? named.missing("schema", "a JSON Schema");
  return create(ResponseFormatSchema, {
    type: ResponseFormat_Type.JSON_SCHEMA,
    name: named.requireString("name", { min: 1, max: 64 }),
    schemaJson: schema.text(),
    strict: named.boolean("strict") ?? false,
  });
}

/** Fields of the contract that have another name here. */
const FIELDS: readonly (readonly [string, string])[] = [
  ["stop_sequences", "stop"],
  ["response_format.schema_json", "response_format.json_schema.schema"],
  ["response_format.name", "response_format.json_schema.name"],
  ["tool_choice.parallel", "parallel_tool_calls"],
  ["tool_choice", "tool_choice"],
  ["provider", "model"],
];
