/** Our Request -> the body of theirs (provider documentation: "Create chat completion"). */
import { acceptsSampling } from "../../catalog/model-traits.ts";
import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import {
  type RequestBody,
  readBodyOptions,
  readToolChoicePolicy,
} from "../../kit/adapter/request-context.ts";
import { ToolCallIdMapper, type ToolCallIdRule } from "../../kit/adapter/tool-call-id-mapper.ts";
import { LossReport } from "../../kit/call/loss-report.ts";
import { asJson, mergeObjects, without } from "../../kit/json/json.ts";
import type { ChatRequest } from "../../wire/openai-chat/request.ts";
import { PROVIDER_NAME, type ProviderOptions, type RequestContext, type RequestSettings } from "./context.ts";
import { toConversation } from "./input.ts";
import { withInstruction } from "./instructions.ts";
import type { ServerProfile } from "./profile.ts";
import { reasoningSettings } from "./reasoning.ts";
import { responseFormatSettings } from "./response-format.ts";
import { toolSettings } from "./tools.ts";

/**
 * Translates a request.
 * @throws InvalidRequestError naming the part that the server has no form for; under LOSS_POLICY_REFUSE also parts that
 *   would otherwise be changed or left out. UnsupportedToolChoiceError if the server does not support the tool choice.
 */
export async function toRequestBody(
  request: Request,
  streaming: boolean,
  settings: RequestSettings,
): Promise<RequestBody> {
  const { provider, profile } = settings;
  const loss = new LossReport();
  const traits = settings.models.traitsOf(request.model);
  const callIds = new ToolCallIdMapper(CALL_ID_RULES[profile.toolCallIdPattern], loss);
  const customAsFunctions = new Set(profile.supportsCustomTools ? [] : listCustomTools(request));
  const context: RequestContext = { ...settings, request, traits, loss, callIds, customAsFunctions };
  const options = readOptions(request, provider);
  const format = responseFormatSettings(context);
  const messages = await toConversation(context);
  const { instruction } = format;
  const body: ChatRequest = {
    model: request.model,
    messages: instruction === undefined ? messages : withInstruction(messages, instruction),
    ...toolSettings(context, options),
    ...format.settings,
    ...sampling(context),
    ...reasoningSettings(context),
    ...retention(context, options),
    ...(streaming ? streamSettings(context) : {}),
  };
  loss.enforce(request.lossPolicy);
  const merged = mergeObjects(asJson(body), asJson(options.body), APPENDED_OPTIONS);
  // Options may ask for another format.
  const wrappedMember = options.body.response_format === undefined ? format.wrappedMember : undefined;
  return { body: merged, warnings: loss.warnings, wrappedMember };
}

function listCustomTools({ tools }: Request): string[] {
  return tools.flatMap(({ tool }) => (tool.case === "custom" ? [tool.value.name] : []));
}

/** @throws InvalidRequestError naming the option that is wrong. */
function readOptions(request: Request, provider: string): ProviderOptions {
  const found = readBodyOptions(request, provider, PROVIDER_NAME);
  const body = without(found.options, "unsupported_tool_choice");
  return { body, relaxesToolChoice: readToolChoicePolicy(found) };
}

/** Lists that provider options add to instead of replacing. */
const APPENDED_OPTIONS = ["tools", "include"];

function streamSettings({ profile }: RequestContext): Partial<ChatRequest> {
  return { stream: true, ...(profile.supportsUsageInStreaming ? USAGE_IN_STREAM : {}) };
}

const USAGE_IN_STREAM: Partial<ChatRequest> = { stream_options: { include_usage: true } };

function sampling(context: RequestContext): Partial<ChatRequest> {
  const { request, profile, traits, loss } = context;
  const { temperature, topP, maxTokens } = request;
  const limit = maxTokens === undefined ? {} : { [profile.maxTokensField]: maxTokens };
  if (acceptsSampling(traits, request.reasoningEffort)) {
    return {
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { top_p: topP }),
      ...stops(context),
      ...limit,
    };
  }
  if (temperature !== undefined) loss.lose("temperature", "unsupported_setting", NO_SAMPLING);
  if (topP !== undefined) loss.lose("top_p", "unsupported_setting", NO_SAMPLING);
  // Models that reason refuse `stop` like the sampling settings.
  if (request.stopSequences.length > 0) loss.lose("stop_sequences", "unsupported_setting", NO_SAMPLING);
  return limit;
}

const NO_SAMPLING = "the model does not accept it in such a request; it was left out";

function stops({ request, profile }: RequestContext): Partial<ChatRequest> {
  const { stopSequences } = request;
  const { maxStopSequences } = profile;
  if (stopSequences.length > maxStopSequences) {
    throw invalidField(
      "stop_sequences",
      `expected at most ${maxStopSequences}, found ${stopSequences.length}`,
    );
  }
  return stopSequences.length === 0 ? {} : { stop: [...stopSequences] };
}

/**
 * Returns `store` and `metadata`. Nothing is stored unless the caller's options ask for it. Servers that store answers
 * accept metadata only with stored ones.
 */
function retention(
  { request, profile, loss }: RequestContext,
  options: ProviderOptions,
): Partial<ChatRequest> {
  const store = profile.supportsStore ? { store: options.body.store === true } : {};
  const pairs = Object.entries(request.metadata);
  if (pairs.length === 0) return store;
  if (!profile.supportsMetadata) {
    loss.lose("metadata", "unsupported_setting", "the server does not accept metadata; it was left out");
    return store;
  }
  if (store.store === false) {
    const message =
      "the server accepts metadata only for answers that it stores (option `store`); it was left out";
    loss.lose("metadata", "unsupported_setting", message);
    return store;
  }
  return { ...store, metadata: metadata(pairs, profile.supportsStore, loss) };
}

// Provider documentation: "metadata".
const MAX_PAIRS = 16;
const MAX_KEY_CHARS = 64;
const MAX_VALUE_CHARS = 512;

function metadata(pairs: [string, string][], isLimited: boolean, loss: LossReport): Record<string, string> {
  const fits = ([key, value]: [string, string]) =>
    key.length <= MAX_KEY_CHARS && value.length <= MAX_VALUE_CHARS;
  const kept = isLimited ? pairs.filter(fits).slice(0, MAX_PAIRS) : pairs;
  if (kept.length < pairs.length) {
    const limits = `${MAX_PAIRS} pairs, keys of ${MAX_KEY_CHARS} and values of ${MAX_VALUE_CHARS} characters`;
    const message = `the server takes ${limits}; ${pairs.length - kept.length} pairs were left out`;
    loss.lose("metadata", "unsupported_setting", message);
  }
  return Object.fromEntries(kept);
}

/** Reports whether the server takes an id of a tool call as it is. */
export function acceptsToolCallId(id: string, { toolCallIdPattern }: ServerProfile): boolean {
  return CALL_ID_RULES[toolCallIdPattern].pattern.test(id);
}

/** Rules for tool call ids, by the value in the profile. */
const CALL_ID_RULES: Readonly<Record<ServerProfile["toolCallIdPattern"], ToolCallIdRule>> = {
  any: { pattern: /./s, prefix: "call_", length: 24 },
  forty_characters: { pattern: /^.{1,40}$/s, prefix: "call_", length: 24 },
  nine_alphanumerics: { pattern: /^[a-zA-Z0-9]{9}$/, prefix: "", length: 9 },
};
