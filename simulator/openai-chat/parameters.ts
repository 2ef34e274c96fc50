import type { ChatRequest } from "../../src/wire/openai-chat/request.ts";
import type { ModelOptions } from "../model-options.ts";
import {
  anything,
  array,
  boolean,
  type Check,
  decimal,
  type Fields,
  integer,
  literal,
  nullable,
  object,
  openObject,
  required,
  string,
  variants,
} from "../openai/check.ts";
import { efforts, formatName, metadata, serviceTiers } from "../openai/parameters.ts";
import { invalidRequest } from "../openai/problem.ts";
import { chatMessage } from "./message-checks.ts";
import { tool, toolChoice } from "./tool-checks.ts";

/** Maximum number of answers to one request. OpenAI allows 128. */
const maxChoices = 8;

const responseFormat = variants("type", {
  text: object({ type: anything }),
  json_object: object({ type: anything }),
  json_schema: object({
    type: anything,
    json_schema: required(
      object({
        name: formatName,
        schema: openObject(),
        description: string(),
        strict: nullable(boolean),
      }),
    ),
  }),
});

const stop: Check = (value, path) => {
  if (typeof value !== "string") array(string(), { maximum: 4 })(value, path);
};

const parameters: Fields = {
  model: required(string({ minimum: 1 })),
  audio: anything,
  frequency_penalty: nullable(decimal(-2, 2)),
  function_call: anything,
  functions: anything,
  logit_bias: nullable(openObject()),
  logprobs: nullable(boolean),
  max_completion_tokens: nullable(integer(1)),
  max_tokens: nullable(integer(1)),
  metadata: nullable(metadata),
  modalities: nullable(array(literal(["text", "audio"]))),
  moderation: anything,
  n: nullable(integer(1, maxChoices)),
  parallel_tool_calls: boolean,
  prediction: nullable(openObject()),
  presence_penalty: nullable(decimal(-2, 2)),
  prompt_cache_key: nullable(string({ maximum: 1024 })),
  prompt_cache_options: anything,
  prompt_cache_retention: nullable(literal(["in_memory", "24h"])),
  reasoning_effort: nullable(literal(efforts)),
  response_format: responseFormat,
  safety_identifier: nullable(string({ maximum: 128 })),
  seed: nullable(integer()),
  service_tier: nullable(literal(serviceTiers)),
  stop: nullable(stop),
  store: nullable(boolean),
  stream: nullable(boolean),
  stream_options: nullable(object({ include_usage: boolean, include_obfuscation: boolean })),
  temperature: nullable(decimal(0, 2)),
  tool_choice: toolChoice,
  tools: array(tool, { minimum: 1, maximum: 128 }),
  top_logprobs: nullable(integer(0, 20)),
  top_p: nullable(decimal(0, 1)),
  user: string(),
  verbosity: nullable(literal(["low", "medium", "high"])),
  web_search_options: openObject(),
};

/**
 * Checks the body of `POST /v1/chat/completions`, as a server with these quirks does: types, ranges, and that no
 * parameter is unknown. Throws the problem that OpenAI would report first.
 */
export function checkChatRequest(value: unknown, options: ModelOptions): ChatRequest {
  const fields: Fields = {
    ...parameters,
    messages: required(array(chatMessage(options), { minimum: 1 })),
  };
  const check = options.lenient === true ? openObject(fields) : object(fields);
  check(value, "");
  const request = value as ChatRequest;
  refuseUnsimulated(request);
  checkCombinations(request);
  return request;
}

/** Refuses features of OpenAI that are not simulated: audio answers, and functions in the form that preceded tools. */
function refuseUnsimulated(request: ChatRequest): void {
  const unsupported = UNSIMULATED.find((name) => (request[name] ?? null) !== null);
  const name = unsupported ?? ((request.modalities ?? []).includes("audio") ? "modalities" : undefined);
  if (name === undefined) return;
  const message = `The simulator does not support '${name}'.`;
  throw invalidRequest(message, name, "unsupported_by_simulator");
}

const UNSIMULATED = ["audio", "functions", "function_call"] as const;

function checkCombinations(request: ChatRequest): void {
  const isSet = (name: keyof ChatRequest): boolean => (request[name] ?? null) !== null;
  if (isSet("max_tokens") && isSet("max_completion_tokens")) {
    const message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
    throw invalidRequest(message, "max_tokens", "invalid_parameter_combination");
  }
  if (isSet("stream_options") && request.stream !== true) {
    const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
    throw invalidRequest(message, "stream_options", null);
  }
  if (isSet("top_logprobs") && request.logprobs !== true) {
    const message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.";
    throw invalidRequest(message, "top_logprobs", null);
  }
}

/** Sampling parameters of OpenAI's reasoning models, with the only value that they accept. */
const fixedWhileReasoning = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 };

/**
 * Refuses the parameters that OpenAI's reasoning models refuse: sampling parameters, stop sequences and the old name of
 * the limit.
 */
export function refuseForReasoning(request: ChatRequest): void {
  const given: Readonly<Record<string, unknown>> = { ...request };
  for (const [name, advice] of [
    ["max_tokens", " Use 'max_completion_tokens' instead."],
    ["stop", ""],
    ["logprobs", ""],
  ] as const) {
    if ((given[name] ?? false) === false) continue;
    const message = `Unsupported parameter: '${name}' is not supported with this model.${advice}`;
    throw invalidRequest(message, name, "unsupported_parameter");
  }
  for (const [name, only] of Object.entries(fixedWhileReasoning)) {
    if ((given[name] ?? only) === only) continue;
    const message = `Unsupported value: '${name}' does not support ${String(given[name])} with this model. Only the default (${only}) value is supported.`;
    throw invalidRequest(message, name, "unsupported_value");
  }
}
