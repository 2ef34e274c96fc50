/** The body of `generateContent` and `streamGenerateContent` -> a request of the contract. */
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
import { mistake, quote } from "../openai/fields.ts";
import { RequestNotes } from "../openai/request-notes.ts";
import type { RelayedHeaders } from "../relay/relayed-call.ts";
import { type ReadForm, readForm } from "../stateless/read-form.ts";
import { ReadingContext } from "../stateless/reading-context.ts";
import { relaxToolChoice } from "../stateless/relax-tool-choice.ts";
import { toBodyPath } from "../stateless/request-paths.ts";
import { ProtoFields } from "./fields.ts";
import { ENUM_TYPE, readProviderSettings } from "./provider-settings.ts";
import { isGemini } from "./provider-state.ts";
import { readMessages } from "./read-messages.ts";
import { type ReadTools, readTools } from "./read-tools.ts";
import { toJsonSchema } from "./schema.ts";

/** A request. */
export interface ReadGeminiRequest extends ReadRequest {
  /** Name of the provider if it speaks the Gemini API itself; empty otherwise. */
  readonly gemini: string;
}

/** Inputs for reading a request, besides its body. */
export interface RequestReading {
  readonly models: Pick<ModelDirectory, "resolve">;
  /** The model in the path. */
  readonly model: string;
  readonly isStreamed: boolean;
  /** Whether a provider that speaks this API may get the body unchanged. Default false: it is counted only. */
  readonly mayRelay?: boolean;
}

/** Headers of the API, which clients do not need. */
const HEADERS: RelayedHeaders = { request: [], answer: [] };

/** Longest name of a model. */
const MAX_MODEL_CHARS = 512;

/**
 * Reads a request.
 * @throws InvalidRequestError that names the first invalid field.
 */
export function readRequest(body: Uint8Array, reading: RequestReading): ReadGeminiRequest {
  return readFields(ProtoFields.parse(body), reading);
}

/** Reads the body of `countTokens`: `contents` alone, or a whole request. */
export function readCountRequest(
  body: Uint8Array,
  reading: Omit<RequestReading, "isStreamed">,
): ReadGeminiRequest {
  const fields = ProtoFields.parse(body);
  return readFields(fields.object("generateContentRequest") ?? fields, { ...reading, isStreamed: false });
}

function readFields(
  fields: ProtoFields,
  { models, model, isStreamed, mayRelay = false }: RequestReading,
): ReadGeminiRequest {
  if (model.length > MAX_MODEL_CHARS)
    throw mistake(
      "model",
      "invalid_value",
      `expected at most ${MAX_MODEL_CHARS} characters, found ${model.length}`,
    );
  const target = models.resolve(model);
  const notes = new RequestNotes();
  const context = new ReadingContext(target, notes);
  const read = () => readGeneration(fields, target, context);
  return {
    ...(mayRelay ? readForm({ api: "gemini", headers: HEADERS, fields, target, context }, read) : read()),
    gemini: isGemini(context) ? target.served.provider : "",
    isStreamed,
    warnings: notes.warnings,
  };
}

function readGeneration(
  fields: ProtoFields,
  target: ModelTarget,
  context: ReadingContext,
): Omit<ReadForm, "form"> {
  const read = readMessages(fields, context);
  const tools = readTools(fields, context);
  const config =
    fields.object("generationConfig") ?? new ProtoFields({}, fields.at("generationConfig"), () => "{}");
  const { optionsJson, reasoningEffort } = readProviderSettings(fields, config, context);
  const request = createRequest({
    model: target.model,
    provider: target.provider,
    messages: read.map(({ message }) => message),
    tools: [...tools.tools],
    stopSequences: [...(config.strings("stopSequences", { max: MAX_STOPS }) ?? [])],
    reasoningEffort,
    providerOptionsJson: { ...optionsJson },
  });
  setOptional(request, config, tools, context);
  relaxToolChoice(request, target.served);
  const names = FIELDS.map(([name, path]) => [name, toPath(path, fields, config)] as const);
  return {
    request,
    toBodyPath: (field) => toBodyPath(field, { messages: read, tools: tools.paths, fields: names }),
  };
}

/** Maximum number of stop sequences. Providers allow fewer, which their adapters check. */
const MAX_STOPS = 64;

/** Sets what differs from its default if it is absent. */
function setOptional(
  request: Request,
  config: ProtoFields,
  { choice }: ReadTools,
  context: ReadingContext,
): void {
  const format = readFormat(config, context);
  const temperature = config.number("temperature", { min: 0, max: 2 });
  const topP = config.number("topP", { min: 0, max: 1 });
  const maxTokens = config.integer("maxOutputTokens", { min: 1 });
  if (choice !== undefined) request.toolChoice = choice;
  if (format !== undefined) request.responseFormat = format;
  if (temperature !== undefined) request.temperature = temperature;
  if (topP !== undefined) request.topP = topP;
  if (maxTokens !== undefined) request.maxTokens = maxTokens;
}

/** Reads the format of the answer: JSON, with a schema in either dialect. */
function readFormat(config: ProtoFields, context: ReadingContext): ResponseFormat | undefined {
  const type = config.string("responseMimeType", { max: 256 }) ?? "";
  if (type === ENUM_TYPE) return isGemini(context) ? undefined : refuseType(config, type);
  const schemaJson = readSchema(config);
  if (type !== "application/json")
    return type === "" || type === "text/plain" ? undefined : refuseType(config, type);
  if (schemaJson === undefined) return create(ResponseFormatSchema, { type: ResponseFormat_Type.JSON });
  const format = { type: ResponseFormat_Type.JSON_SCHEMA, name: "answer", schemaJson, strict: true };
  return create(ResponseFormatSchema, format);
}

function readSchema(config: ProtoFields): string | undefined {
  const schema = config.object("responseJsonSchema");
  const dialect = config.object("responseSchema");
  return schema?.text() ?? (dialect && JSON.stringify(toJsonSchema(dialect.value)));
}

function refuseType(config: ProtoFields, type: string): never {
  const expected = `expected "application/json" or "text/plain", found ${quote(type)}`;
  throw mistake(config.at("responseMimeType"), "unsupported_value", expected);
}

/** Fields of the contract that have another name here. */
const FIELDS: readonly (readonly [string, string])[] = [
  ["max_tokens", "generationConfig.maxOutputTokens"],
  ["temperature", "generationConfig.temperature"],
  ["top_p", "generationConfig.topP"],
  ["stop_sequences", "generationConfig.stopSequences"],
  ["response_format", "generationConfig.responseSchema"],
  ["reasoning_effort", "generationConfig.thinkingConfig"],
  ["tool_choice", "toolConfig"],
  ["provider", "model"],
];

/** Returns a path with the names of the body. */
function toPath(path: string, fields: ProtoFields, config: ProtoFields): string {
  const [first = "", name] = path.split(".");
  if (name === undefined) return fields.at(first);
  const isOther = name === "responseSchema" && config.has("responseJsonSchema");
  return config.at(isOther ? "responseJsonSchema" : name);
}
