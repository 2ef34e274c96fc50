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
import { createRequest } from "../answers/create-request.ts";
import type { ModelDirectory, ModelTarget } from "../models/model-directory.ts";
import { type Fields, mistake, parseBody } from "../openai/fields.ts";
import { RequestNotes } from "../openai/request-notes.ts";
import { OPENAI_HEADERS } from "../relay/openai-headers.ts";
import { type ReadForm, readForm } from "../stateless/read-form.ts";
import { ReadingContext } from "../stateless/reading-context.ts";
import { relaxToolChoice } from "../stateless/relax-tool-choice.ts";
import { toBodyPath } from "../stateless/request-paths.ts";
import { readProviderSettings } from "./provider-settings.ts";
import { readMessages } from "./read-messages.ts";
import { type ReadTools, readTools } from "./read-tools.ts";

/** A request. */
export interface ReadChatRequest extends ReadRequest {
  /** Whether the last chunk of a stream has the usage. */
  readonly includesUsage: boolean;
}

/**
 * Reads a request.
 * @throws InvalidRequestError that names the first invalid field.
 */
export function readRequest(body: Uint8Array, models: Pick<ModelDirectory, "resolve">): ReadChatRequest {
  const fields = parseBody(body);
  const target = models.resolve(fields.string("model", { min: 1, max: 512 }) ?? "");
  const notes = new RequestNotes();
  const context = new ReadingContext(target, notes);
  const read = () => readFields(fields, target, context);
  return {
    ...readForm({ api: "openai-chat", headers: OPENAI_HEADERS, fields, target, context }, read, () =>
      findSeveralAnswers(fields),
    ),
    isStreamed: fields.boolean("stream") ?? false,
    includesUsage: fields.object("stream_options")?.boolean("include_usage") ?? false,
    warnings: notes.warnings,
  };
}

/** The contract has one answer to a request. */
function findSeveralAnswers(fields: Fields): SDKError | undefined {
  const count = fields.integer("n", { min: 1, max: 128 }) ?? 1;
  const expected = `expected 1, found ${count}; send several requests`;
  return count === 1 ? undefined : mistake("n", "unsupported_value", expected);
}

function readFields(
  fields: Fields,
  { provider, model }: ModelTarget,
  context: ReadingContext,
): Omit<ReadForm, "form"> {
  const { messages, paths } = readMessages(fields, context);
  const tools = readTools(fields, context);
  const request = createRequest({
    model,
    provider,
    messages: [...messages],
    tools: [...tools.tools],
    stopSequences: [...readStop(fields)],
    reasoningEffort: fields.string("reasoning_effort", { max: 64 }) ?? "",
    providerOptionsJson: { ...readProviderSettings(fields, context) },
  });
  setOptional(request, fields, tools);
  relaxToolChoice(request, context.served);
  const names = [...FIELDS, ["max_tokens", getLimitField(fields)] as const];
  return {
    request,
    toBodyPath: (field) => toBodyPath(field, { messages: paths, tools: tools.paths, fields: names }),
  };
}

/** Sets what differs from its default if it is absent. */
function setOptional(request: Request, fields: Fields, { choice }: ReadTools): void {
  const format = readFormat(fields.object("response_format"));
  const temperature = fields.number("temperature", { min: 0, max: 2 });
  const topP = fields.number("top_p", { min: 0, max: 1 });
  const maxTokens = fields.integer(getLimitField(fields), { min: 1 });
  if (choice !== undefined) request.toolChoice = choice;
  if (format !== undefined) request.responseFormat = format;
  if (temperature !== undefined) request.temperature = temperature;
  if (topP !== undefined) request.topP = topP;
  if (maxTokens !== undefined) request.maxTokens = maxTokens;
}

/** `max_tokens` is the older name, which most clients still use. */
function getLimitField(fields: Fields): "max_completion_tokens" | "max_tokens" {
  return fields.has("max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
}

/** Maximum number of stop sequences. Providers allow fewer, which their adapters check. */
const MAX_STOPS = 64;

function readStop(fields: Fields): readonly string[] {
  if (typeof fields.get("stop") === "string") return [fields.requireString("stop", { min: 1 })];
  return fields.strings("stop", { max: MAX_STOPS }) ?? [];
}

const FORMATS = ["text", "json_object", "json_schema"] as const;

function readFormat(format: Fields | undefined): ResponseFormat | undefined {
  switch (format?.word("type", FORMATS)) {
    case "json_object":
      return create(ResponseFormatSchema, { type: ResponseFormat_Type.JSON });
    case "json_schema":
      return readSchemaFormat(format);
    default:
      return undefined;
  }
}

function readSchemaFormat(format: Fields | undefined): ResponseFormat | undefined {
  const named =
    format?.object("json_schema") ?? format?.missing("json_schema", "an object with name and schema");
  if (named === undefined) return undefined;
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
