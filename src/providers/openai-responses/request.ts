/** Our Request -> their body (provider documentation: "Create a model response"). */

import { acceptsSampling } from "../../catalog/model-traits.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { type RequestBody, readBodyOptions } from "../../kit/adapter/request-context.ts";
import { LossReport } from "../../kit/call/loss-report.ts";
import { isEmpty, type JsonObject, mergeObjects } from "../../kit/json/json.ts";
import type { CreateRequest, InputMessage, InputText } from "../../wire/openai-responses/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import {
  PROVIDER_NAME,
  type ProviderOptions,
  type RequestContext,
  type RequestSettings,
  type Settings,
  ToolCallIds,
} from "./context.ts";
import { type Conversation, toConversation } from "./input.ts";
import { reasoningSettings } from "./reasoning.ts";
import { responseFormatSettings } from "./response-format.ts";
import { toolSettings } from "./tools.ts";

/** Path of every request. */
export const RESPONSES_PATH = "/responses";

/** Entry of `include` that asks for reasoning in a form that can be sent back. */
export const ENCRYPTED_REASONING = "reasoning.encrypted_content" satisfies NonNullable<
  CreateRequest["include"]
>[number];

/**
 * Translates a request. Returns a promise only if its messages hold more than texts.
 * @throws InvalidRequestError, at once or by the promise, naming the part that the API has no form for; under
 *   LOSS_POLICY_REFUSE also parts that would be changed or left out.
 */
export function toRequestBody(
  request: Request,
  streaming: boolean,
  settings: RequestSettings,
): Promise<RequestBody> | RequestBody {
  const loss = new LossReport();
  const traits = settings.models.traitsOf(request.model);
  const options = isEmpty(request.providerOptionsJson) ? NO_OPTIONS : readOptions(request, settings.provider);
  const store = options.store ?? settings.store;
  // Most conversations have no tool calls.
  let toolCallIds: ToolCallIds | undefined;
  const getToolCallIds = () => {
    toolCallIds ??= new ToolCallIds(loss);
    return toolCallIds;
  };
  const context = { ...settings, request, traits, loss, store, getToolCallIds };
  const format = request.responseFormat && responseFormatSettings(request.responseFormat, context);
  const conversation = toConversation(context);
  if (!(conversation instanceof Promise))
    return createBody(conversation, format, options, streaming, context);
  return conversation.then((translated) => createBody(translated, format, options, streaming, context));
}

function createBody(
  { instructions, input, fields }: Conversation,
  format: ReturnType<typeof responseFormatSettings> | undefined,
  options: ProviderOptions,
  streaming: boolean,
  context: RequestContext & { readonly store: boolean },
): RequestBody {
  const { request, traits, loss, store } = context;
  const { tools, toolChoice, reasoningEffort, metadata, stopSequences } = request;
  if (format?.instruction !== undefined) {
    // First, so that its place does not change while the conversation grows.
    const content = [{ type: "input_text", text: format.instruction }] satisfies InputText[];
    input.unshift({ type: "message", role: "developer", content } satisfies Untrusted<InputMessage>);
    fields.unshift(undefined);
  }
  const body: JsonObject = {
    model: request.model,
    instructions,
    input,
    ...(tools.length > 0 || toolChoice !== undefined ? toolSettings(context, options) : undefined),
    ...format?.settings,
    ...samplingSettings(context),
    ...(reasoningEffort === "" ? undefined : reasoningSettings(context)),
    ...(isEmpty(metadata) ? undefined : metadataSettings(context)),
    store,
    ...(store || traits.reasoningControl === "none" ? undefined : ENCRYPTED),
    ...(streaming ? STREAMING : undefined),
  };
  if (stopSequences.length > 0) loss.lose("stop_sequences", "unsupported_setting", NO_STOP_SEQUENCES);
  loss.enforce(request.lossPolicy);
  const merged = isEmpty(options.body) ? body : withOptions(body, options);
  // Options may ask for another format.
  const wrappedMember = options.body.text === undefined ? format?.wrappedMember : undefined;
  return { body: merged, warnings: loss.warnings, elementFields: fields, wrappedMember };
}

const NO_STOP_SEQUENCES = "the Responses API has no stop sequences; they were left out";

const NO_OPTIONS: ProviderOptions = { body: {}, store: undefined, tools: undefined };

/** @throws InvalidRequestError naming the option that is wrong. */
function readOptions(request: Request, provider: string): ProviderOptions {
  const { options: body } = readBodyOptions(request, provider, PROVIDER_NAME);
  const { store, tools }: Untrusted<CreateRequest> = body;
  return { body, store: typeof store === "boolean" ? store : undefined, tools };
}

/** Lists that the options add to instead of replacing. */
const APPENDED: readonly (keyof CreateRequest)[] = ["tools", "include"];

function withOptions(body: JsonObject, { body: options }: ProviderOptions): JsonObject {
  const merged = mergeObjects(body, options, APPENDED);
  const { include }: Untrusted<CreateRequest> = merged;
  // The caller may list entries that the adapter also adds.
  return Array.isArray(include) ? { ...merged, include: [...new Set(include)] } : merged;
}

/**
 * The provider would keep every response for a month; a sidecar keeps the state itself, so it asks for the reasoning in
 * encrypted form instead. A model that does not reason refuses that.
 */
const ENCRYPTED = { include: [ENCRYPTED_REASONING] } satisfies CreateRequest;

/** Turned off: random padding against traffic analysis costs bandwidth and is useless behind a sidecar. */
const STREAMING = { stream: true, stream_options: { include_obfuscation: false } } satisfies CreateRequest;

function samplingSettings({ request, traits, loss }: RequestContext): JsonObject {
  const { temperature, topP, maxTokens } = request;
  const isGiven = temperature !== undefined || topP !== undefined;
  if (!isGiven || acceptsSampling(traits, request.reasoningEffort))
    return { temperature, top_p: topP, max_output_tokens: maxTokens } satisfies Settings<CreateRequest>;
  if (temperature !== undefined) loss.lose("temperature", "unsupported_setting", NO_SAMPLING);
  if (topP !== undefined) loss.lose("top_p", "unsupported_setting", NO_SAMPLING);
  return { max_output_tokens: maxTokens } satisfies Settings<CreateRequest>;
}

const NO_SAMPLING = "the model does not accept it in such a request; it was left out";

// Provider documentation: "Create a model response", `metadata`.
const MAX_PAIRS = 16;
const MAX_KEY_CHARS = 64;
const MAX_VALUE_CHARS = 512;

function metadataSettings({ request, loss }: RequestContext): JsonObject {
  const entries = Object.entries(request.metadata);
  const fitting = entries.filter(
    ([key, value]) => key.length <= MAX_KEY_CHARS && value.length <= MAX_VALUE_CHARS,
  );
  const kept = fitting.slice(0, MAX_PAIRS);
  if (kept.length < entries.length) {
    const limits = `${MAX_PAIRS} pairs, keys of ${MAX_KEY_CHARS} and values of ${MAX_VALUE_CHARS} characters`;
    const message = `the API takes ${limits}; ${entries.length - kept.length} pairs were left out`;
    loss.lose("metadata", "unsupported_setting", message);
  }
  if (kept.length === 0) return {};
  return { metadata: Object.fromEntries(kept) } satisfies CreateRequest;
}
