/** The body of `generateContent` and `streamGenerateContent` -> a request of the contract. */
import { create } from "@bufbuild/protobuf";
import {
  type ResponseFormat,
  ResponseFormat_Type,
  ResponseFormatSchema,
} from "../../gen/outrigger/v1/request_pb.ts";
import type { ReadRequest } from "../answers/answer-request.ts";
import type { ModelResolver } from "../models/model-directory.ts";
import { invalidParameter, quote } from "../openai/fields.ts";
import type { RelayedHeaders } from "../relay/relayed-call.ts";
import { readForm } from "../stateless/read-form.ts";
import { ReadingContext } from "../stateless/reading-context.ts";
import { type BodyContent, toRequest } from "../stateless/to-request.ts";
import { ProtoFields } from "./fields.ts";
import { ENUM_TYPE, readProviderSettings, wantsThoughts } from "./provider-settings.ts";
import { isGemini } from "./provider-state.ts";
import { readMessages } from "./read-messages.ts";
import { readTools } from "./read-tools.ts";
import { toJsonSchema } from "./schema.ts";

/** A request. */
export interface ReadGeminiRequest extends ReadRequest {
  /** Name of the provider if it speaks the Gemini API itself; empty otherwise. */
  readonly gemini: string;
  /** Whether the caller asks for the text of thoughts. Their state is in the answer in any case. */
  readonly includeThoughts: boolean;
}

/** Inputs for reading a request, in addition to its body. */
export interface RequestReading {
  readonly models: ModelResolver;
  /** The model in the path. */
  readonly model: string;
  readonly isStreamed: boolean;
  /** Whether a provider with the same API may get the body unchanged. Default false, since tokens are only counted. */
  readonly mayRelay?: boolean;
}

/** Headers to relay: clients of this API need none. */
const HEADERS: RelayedHeaders = { request: [], answer: [] };

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
    throw invalidParameter(
      "model",
      "invalid_value",
      `expected at most ${MAX_MODEL_CHARS} characters, found ${model.length}`,
    );
  const context = new ReadingContext(models.resolve(model));
  const reading = { api: "gemini", headers: HEADERS, fields, context, mayRelay } as const;
  return {
    ...readForm(reading, () => toRequest(readGeneration(fields, context), context)),
    gemini: isGemini(context) ? context.served.provider : "",
    includeThoughts: wantsThoughts(fields),
    isStreamed,
    warnings: context.notes.warnings,
  };
}

function readGeneration(fields: ProtoFields, context: ReadingContext): BodyContent {
  const messages = readMessages(fields, context);
  const tools = readTools(fields, context);
  const config =
    fields.object("generationConfig") ?? new ProtoFields({}, fields.at("generationConfig"), () => "{}");
  return {
    messages,
    ...tools,
    settings: {
      ...readProviderSettings(fields, config, context),
      stopSequences: [...(config.strings("stopSequences", { max: MAX_STOPS }) ?? [])],
      responseFormat: readFormat(config, context),
      temperature: config.number("temperature", { min: 0, max: 2 }),
      topP: config.number("topP", { min: 0, max: 1 }),
      maxTokens: config.integer("maxOutputTokens", { min: 1 }),
    },
    fieldNames: FIELDS.map(([name, path]) => [name, toPath(path, fields, config)]),
  };
}

/** Maximum number of stop sequences. Providers allow fewer, which their adapters check. */
const MAX_STOPS = 64;

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
  throw invalidParameter(config.at("responseMimeType"), "unsupported_value", expected);
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
