/** The body of `POST /v1/messages` -> a request of the contract. */
import { create } from "@bufbuild/protobuf";
import {
  type Request,
  type ResponseFormat,
  ResponseFormat_Type,
  ResponseFormatSchema,
} from "../../gen/outrigger/v1/request_pb.ts";
import type { ReadRequest } from "../answers/answer-request.ts";
import { createRequest } from "../answers/create-request.ts";
import type { ModelDirectory, ModelTarget } from "../models/model-directory.ts";
import { type Fields, parseBody } from "../openai/fields.ts";
import { RequestNotes } from "../openai/request-notes.ts";
import type { RelayedHeaders } from "../relay/relayed-call.ts";
import { type ReadForm, readForm } from "../stateless/read-form.ts";
import { ReadingContext } from "../stateless/reading-context.ts";
import { relaxToolChoice } from "../stateless/relax-tool-choice.ts";
import { toBodyPath } from "../stateless/request-paths.ts";
import { readProviderSettings } from "./provider-settings.ts";
import { isAnthropic } from "./provider-state.ts";
import { readMessages } from "./read-messages.ts";
import { type ReadTools, readTools } from "./read-tools.ts";

/** A request. */
export interface ReadMessagesRequest extends ReadRequest {
  /** Name of the provider if it speaks the Messages API itself; empty otherwise. */
  readonly anthropic: string;
}

/** Inputs for reading a request, besides its body. */
export interface RequestReading {
  readonly models: Pick<ModelDirectory, "resolve">;
  /** Value of the header `anthropic-beta`. */
  readonly betas: string | undefined;
  /** Whether the answer is counted only, so that it needs no limit. */
  readonly isCount?: boolean;
}

/** Headers of Anthropic's API. */
const HEADERS: RelayedHeaders = {
  request: ["anthropic-beta", "anthropic-version", "idempotency-key", "x-client-request-id"],
  answer: ["request-id", "anthropic-ratelimit-*"],
};

/**
 * Reads a request.
 * @throws InvalidRequestError that names the first invalid field.
 */
export function readRequest(
  body: Uint8Array,
  { models, betas, isCount = false }: RequestReading,
): ReadMessagesRequest {
  const fields = parseBody(body);
  const target = models.resolve(fields.string("model", { min: 1, max: 512 }) ?? "");
  const notes = new RequestNotes();
  const context = new ReadingContext(target, notes);
  const read = () => readFields(fields, target, context, { betas, isCount });
  return {
    ...(isCount
      ? read()
      : readForm({ api: "anthropic-messages", headers: HEADERS, fields, target, context }, read)),
    anthropic: isAnthropic(context) ? target.served.provider : "",
    isStreamed: fields.boolean("stream") ?? false,
    warnings: notes.warnings,
  };
}

function readFields(
  fields: Fields,
  { provider, model }: ModelTarget,
  context: ReadingContext,
  { betas, isCount }: Pick<RequestReading, "betas"> & { readonly isCount: boolean },
): Omit<ReadForm, "form"> {
  const read = readMessages(fields, context);
  const tools = readTools(fields, context);
  const { optionsJson, reasoningEffort } = readProviderSettings(fields, betas, context);
  const userId = fields.object("metadata")?.string("user_id");
  const request = createRequest({
    model,
    provider,
    messages: read.map(({ message }) => message),
    tools: [...tools.tools],
    stopSequences: [...(fields.strings("stop_sequences", { max: MAX_STOPS }) ?? [])],
    reasoningEffort,
    // An id of the end user, in whatever form Anthropic's clients write it.
    metadata: userId === undefined || !isAnthropic(context) ? {} : { user_id: userId },
    providerOptionsJson: { ...optionsJson },
  });
  setOptional(request, fields, tools, isCount);
  relaxToolChoice(request, context.served);
  return {
    request,
    toBodyPath: (field) => toBodyPath(field, { messages: read, tools: tools.paths, fields: FIELDS }),
  };
}

/** Maximum number of stop sequences. Providers allow fewer, which their adapters check. */
const MAX_STOPS = 8192;

/** Sets what differs from its default if it is absent. */
function setOptional(request: Request, fields: Fields, { choice }: ReadTools, isCount: boolean): void {
  const format = readFormat(fields);
  const temperature = fields.number("temperature", { min: 0, max: 1 });
  const topP = fields.number("top_p", { min: 0, max: 1 });
  const maxTokens = fields.integer("max_tokens", { min: 1 });
  if (maxTokens === undefined && !isCount) fields.missing("max_tokens", "a whole number");
  if (choice !== undefined) request.toolChoice = choice;
  if (format !== undefined) request.responseFormat = format;
  if (temperature !== undefined) request.temperature = temperature;
  if (topP !== undefined) request.topP = topP;
  if (maxTokens !== undefined) request.maxTokens = maxTokens;
}

/** Reads `output_config.format`, and `output_format`, its name while it was in beta. */
function readFormat(fields: Fields): ResponseFormat | undefined {
  const format = fields.object("output_config")?.object("format") ?? fields.object("output_format");
  if (format?.word("type", ["json_schema"]) === undefined) return undefined;
  const schema = format.object("schema") ?? format.missing("schema", "a JSON Schema");
  const type = ResponseFormat_Type.JSON_SCHEMA;
  return create(ResponseFormatSchema, { type, name: "answer", schemaJson: schema.text(), strict: true });
}

/** Fields of the contract that have another name here. */
const FIELDS: readonly (readonly [string, string])[] = [
  ["response_format", "output_config.format"],
  ["reasoning_effort", "output_config.effort"],
  ["tool_choice.parallel", "tool_choice.disable_parallel_tool_use"],
  ["tool_choice", "tool_choice"],
  ["provider", "model"],
];
