/** The body of `POST /v1/messages` -> a request of the contract. */
import { create } from "@bufbuild/protobuf";
import type { InvalidRequestError } from "../../core/errors.ts";
import {
  type ResponseFormat,
  ResponseFormat_Type,
  ResponseFormatSchema,
} from "../../gen/outrigger/v1/request_pb.ts";
import { asObject } from "../../kit/json/json.ts";
import type { ReadRequest } from "../answers/answer-request.ts";
import type { ModelResolver } from "../models/model-directory.ts";
import { type Fields, parseBody } from "../openai/fields.ts";
import type { RelayedHeaders } from "../relay/relayed-call.ts";
import { readForm } from "../stateless/read-form.ts";
import { ReadingContext } from "../stateless/reading-context.ts";
import { type BodyContent, toRequest } from "../stateless/to-request.ts";
import { threadUnsupported } from "./errors.ts";
import { readProviderSettings } from "./provider-settings.ts";
import { isAnthropic } from "./provider-state.ts";
import { readMessages } from "./read-messages.ts";
import { readTools } from "./read-tools.ts";

/** A request. */
export interface ReadMessagesRequest extends ReadRequest {
  /** Name of the provider if it speaks the Messages API itself; empty otherwise. */
  readonly anthropic: string;
}

/** Inputs for reading a request, in addition to its body. */
export interface RequestReading {
  readonly models: ModelResolver;
  /** Value of the header `anthropic-beta`. */
  readonly betas: string | undefined;
  /** Whether the tokens of the request are only counted, so that `max_tokens` is not required. */
  readonly isCount?: boolean;
}

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
  const context = new ReadingContext(models.resolve(fields.string("model", { min: 1, max: 512 }) ?? ""));
  const reading = {
    api: "anthropic-messages",
    headers: HEADERS,
    fields,
    context,
    mayRelay: !isCount,
  } as const;
  const read = () => toRequest(readFields(fields, context, { betas, isCount }), context);
  return {
    ...readForm(reading, read, () => findThreadError(fields, context)),
    anthropic: isAnthropic(context) ? context.served.provider : "",
    isStreamed: fields.boolean("stream") ?? false,
    warnings: context.notes.warnings,
  };
}

function readFields(
  fields: Fields,
  context: ReadingContext,
  { betas, isCount }: Pick<RequestReading, "betas" | "isCount">,
): BodyContent {
  return {
    messages: readMessages(fields, context),
    ...readTools(fields, context),
    settings: {
      ...readProviderSettings(fields, betas, context),
      metadata: readMetadata(fields, context),
      stopSequences: [...(fields.strings("stop_sequences", { max: MAX_STOPS }) ?? [])],
      responseFormat: readFormat(fields),
      temperature: fields.number("temperature", { min: 0, max: 1 }),
      topP: fields.number("top_p", { min: 0, max: 1 }),
      maxTokens: readLimit(fields, isCount),
    },
    fieldNames: FIELDS,
  };
}

/**
 * Returns the error for a `thread` that cannot be honoured. Only Anthropic keeps conversations, and a request that
 * continues one lacks the messages that another provider would need. A request that begins one is complete.
 */
function findThreadError(fields: Fields, context: ReadingContext): InvalidRequestError | undefined {
  const thread = fields.get("thread");
  if (thread === undefined || thread === null) return undefined;
  return isAnthropic(context) && asObject(thread)?.type === "create" ? undefined : threadUnsupported();
}

/** Only Anthropic gets the id of the end user, in whatever form its clients write it. */
function readMetadata(fields: Fields, context: ReadingContext): Record<string, string> {
  const userId = fields.object("metadata")?.string("user_id");
  return userId === undefined || !isAnthropic(context) ? {} : { user_id: userId };
}

function readLimit(fields: Fields, isCount = false): number | undefined {
  const limit = fields.integer("max_tokens", { min: 1 });
  return limit === undefined && !isCount ? fields.missing("max_tokens", "a whole number") : limit;
}

/** Maximum number of stop sequences. Providers allow fewer, which their adapters check. */
const MAX_STOPS = 8192;

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
  ["response_format.schema_json", "output_config.format.schema"],
  ["response_format", "output_config.format"],
  ["reasoning_effort", "output_config.effort"],
  ["tool_choice.parallel", "tool_choice.disable_parallel_tool_use"],
  ["tool_choice", "tool_choice"],
  ["provider", "model"],
];
