/** Our Request -> their body (provider documentation: "Create a model response"). */

import {
  ResponseFormat_Type as Format,
  ToolChoice_Mode as Mode,
  type Request,
} from "../../gen/outrigger/v1/request_pb.ts";
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { FunctionTool, Tool } from "../../gen/outrigger/v1/tool_pb.ts";
import { traitsOf } from "../../kit/catalog.ts";
import { effortFor } from "../../kit/effort.ts";
import { type JsonObject, mergeObjects, parseObjectField } from "../../kit/json.ts";
import { LossReport } from "../../kit/loss-report.ts";
import { type ModelTraits, takesSampling } from "../../kit/model-traits.ts";
import { invalidField } from "../../spec/errors.ts";
import { textOf } from "../../spec/message.ts";
import { type Input, toInput } from "./input.ts";
import type { MediaSource } from "./media.ts";
import { WIRE_NAME } from "./wire.ts";

/** What the translation of a request needs to know of the provider entry. */
export interface RequestSettings {
  /** Name under which the provider is registered. */
  readonly provider: string;
  /** Whether the provider is asked to keep the response. */
  readonly store: boolean;
  /** Turns the source of an image or document into a URL, a data URL or a file id. */
  readonly media: MediaSource;
}

/** A request in the provider's words. */
export interface RequestBody {
  readonly body: JsonObject;
  /** What was changed or left out. */
  readonly warnings: Warning[];
}

/**
 * Translates a request.
 * @throws InvalidRequestError naming what the API has no form for; for a strict request also
 * what would otherwise be changed or left out.
 */
export async function toRequestBody(
  request: Request,
  streaming: boolean,
  settings: RequestSettings,
): Promise<RequestBody> {
  const loss = new LossReport();
  const traits = traitsOf(WIRE_NAME, request.model);
  const options = providerOptions(request, settings.provider);
  const store = typeof options.store === "boolean" ? options.store : settings.store;
  const input = await toInput({ ...settings, request, loss, store });
  const body: JsonObject = {
    model: request.model,
    ...conversation(request, input),
    ...tools(request, settings.provider, loss),
    ...responseFormat(request),
    ...sampling(request, traits, loss),
    ...reasoning(request, traits, loss),
    ...metadata(request, loss),
    ...retention(store, traits),
    ...(streaming ? STREAMING : {}),
  };
  if (request.stopSequences.length > 0) {
    loss.lose(
      "stop_sequences",
      "unsupported_setting",
      "the Responses API has no stop sequences; they were left out",
    );
  }
  if (request.strict) loss.refuse();
  return { body: mergeObjects(body, options, APPENDED_OPTIONS), warnings: loss.warnings };
}

/** Random padding against traffic analysis costs bandwidth and is of no use behind a sidecar. */
const STREAMING: JsonObject = { stream: true, stream_options: { include_obfuscation: false } };

/** Lists that provider options add to instead of replacing. */
const APPENDED_OPTIONS = ["tools", "include"];

/** The caller's own words for this provider, by its registered name or by the name of its API. */
function providerOptions({ providerOptionsJson }: Request, provider: string): JsonObject {
  const name = providerOptionsJson[provider] === undefined ? WIRE_NAME : provider;
  const text = providerOptionsJson[name];
  if (text === undefined) return {};
  const field = `provider_options_json["${name}"]`;
  const options = parseObjectField(text, field);
  // Whether an answer streams is decided by the method that was called.
  if (options.stream !== undefined)
    throw invalidField(`${field}.stream`, "expected no `stream` here: call Stream or Complete instead");
  return options;
}

function conversation(request: Request, { instructions, input }: Input): JsonObject {
  const text =
    request.responseFormat?.type === Format.JSON ? withJsonWord(request, instructions) : instructions;
  return { ...(text === undefined ? {} : { instructions: text }), input };
}

/** The API refuses `json_object` unless the word stands somewhere in the input. */
function withJsonWord({ messages }: Request, instructions: string | undefined): string | undefined {
  if (messages.some((message) => /json/i.test(textOf(message)))) return instructions;
  return instructions === undefined ? JSON_SENTENCE : `${instructions}\n\n${JSON_SENTENCE}`;
}

const JSON_SENTENCE = "Answer with a JSON object.";

function tools(request: Request, provider: string, loss: LossReport): JsonObject {
  const list = request.tools.flatMap((tool, index) => toolOf(tool, `tools[${index}]`, provider, loss));
  return {
    ...(list.length === 0 ? {} : { tools: list }),
    ...toolChoice(request),
  };
}

function toolOf({ tool }: Tool, field: string, provider: string, loss: LossReport): JsonObject[] {
  if (tool.case === "function") return [functionTool(tool.value, `${field}.function`)];
  if (tool.case !== "hosted") throw invalidField(field, "expected `function` or `hosted`, found neither");
  const { provider: owner, configJson } = tool.value;
  if (owner === provider || owner === WIRE_NAME)
    return [parseObjectField(configJson, `${field}.hosted.config_json`)];
  loss.lose(field, "unsupported_setting", `the hosted tool belongs to provider "${owner}"; it was left out`);
  return [];
}

function functionTool(
  { name, description, parametersJson, strict }: FunctionTool,
  field: string,
): JsonObject {
  const parameters =
    parametersJson === "" ? NO_PARAMETERS : parseObjectField(parametersJson, `${field}.parameters_json`);
  // Where `strict` is absent the API rewrites the schema to be strict, so it is always said.
  return { type: "function", name, ...(description === "" ? {} : { description }), parameters, strict };
}

const NO_PARAMETERS: JsonObject = { type: "object", properties: {} };

function toolChoice({ toolChoice: choice, tools: list }: Request): JsonObject {
  if (choice === undefined) return {};
  const parallel = choice.parallel === undefined ? {} : { parallel_tool_calls: choice.parallel };
  switch (choice.mode) {
    case Mode.NONE:
      return { tool_choice: "none", ...parallel };
    case Mode.REQUIRED:
      return { tool_choice: "required", ...parallel };
    case Mode.NAMED:
      return { tool_choice: { type: "function", name: choice.toolName }, ...parallel };
    default:
      return list.length === 0 ? parallel : { tool_choice: "auto", ...parallel };
  }
}

function responseFormat({ responseFormat: format }: Request): JsonObject {
  switch (format?.type) {
    case Format.JSON:
      return { text: { format: { type: "json_object" } } };
    case Format.JSON_SCHEMA: {
      const schema = parseObjectField(format.schemaJson, "response_format.schema_json");
      return {
        text: {
          format: { type: "json_schema", name: format.name || "response", schema, strict: format.strict },
        },
      };
    }
    default:
      return {};
  }
}

function sampling(request: Request, traits: ModelTraits, loss: LossReport): JsonObject {
  const { temperature, topP, maxTokens } = request;
  const limit = maxTokens === undefined ? {} : { max_output_tokens: maxTokens };
  const takes = takesSampling(traits, request.reasoningEffort);
  if (takes)
    return {
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { top_p: topP }),
      ...limit,
    };
  if (temperature !== undefined) loss.lose("temperature", "unsupported_setting", NO_SAMPLING);
  if (topP !== undefined) loss.lose("top_p", "unsupported_setting", NO_SAMPLING);
  return limit;
}

const NO_SAMPLING = "the model does not take it in such a request; it was left out";

function reasoning({ reasoningEffort }: Request, traits: ModelTraits, loss: LossReport): JsonObject {
  const effort = effortFor(reasoningEffort, traits.reasoningEfforts, loss);
  return effort === undefined ? {} : { reasoning: { effort } };
}

// Provider documentation: "metadata".
const MAX_PAIRS = 16;
const MAX_KEY_CHARS = 64;
const MAX_VALUE_CHARS = 512;

function metadata({ metadata: pairs }: Request, loss: LossReport): JsonObject {
  const entries = Object.entries(pairs);
  const fitting = entries.filter(
    ([key, value]) => key.length <= MAX_KEY_CHARS && value.length <= MAX_VALUE_CHARS,
  );
  const kept = fitting.slice(0, MAX_PAIRS);
  if (kept.length < entries.length) {
    const limits = `${MAX_PAIRS} pairs, keys of ${MAX_KEY_CHARS} and values of ${MAX_VALUE_CHARS} characters`;
    loss.lose(
      "metadata",
      "unsupported_setting",
      `the API takes ${limits}; ${entries.length - kept.length} pairs were left out`,
    );
  }
  return kept.length === 0 ? {} : { metadata: Object.fromEntries(kept) };
}

/**
 * The provider would keep every response for a month; a sidecar keeps the state itself, so it
 * asks for the reasoning in encrypted form instead. A model that does not reason refuses that.
 */
function retention(store: boolean, traits: ModelTraits): JsonObject {
  const canReason = traits.reasoningControl !== "none";
  return store || !canReason ? { store } : { store, include: ["reasoning.encrypted_content"] };
}
