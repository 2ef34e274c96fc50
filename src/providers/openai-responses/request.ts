/** Our Request -> their body (provider documentation: "Create a model response"). */

import { traitsOf } from "../../catalog/catalog.ts";
import { type ModelTraits, takesSampling } from "../../catalog/model-traits.ts";
import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { effortFor } from "../../kit/adapter/effort.ts";
import { LossReport } from "../../kit/adapter/loss-report.ts";
import { type JsonObject, mergeObjects, parseObjectField } from "../../kit/json/json.ts";
import { type Input, toInput } from "./input.ts";
import type { MediaSource } from "./media.ts";
import { answerFormat } from "./response-format.ts";
import { toolSettings } from "./tools.ts";
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
  /** For `stringifyJson`: parts of it are kept as they are spelled. */
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
  const format = answerFormat(request, traits, loss);
  const input = await toInput({ ...settings, request, loss, store });
  const body: JsonObject = {
    model: request.model,
    ...conversation(input, format.sentence),
    ...toolSettings(request, settings.provider, options, loss),
    ...format.settings,
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
  loss.enforce(request.lossPolicy);
  return { body: withOptions(body, options), warnings: loss.warnings };
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

function withOptions(body: JsonObject, options: JsonObject): JsonObject {
  const merged = mergeObjects(body, options, APPENDED_OPTIONS);
  // The caller may ask for what we ask for already.
  return Array.isArray(merged.include) ? { ...merged, include: [...new Set(merged.include)] } : merged;
}

/** The sentence goes first, where it stays while the conversation grows. */
function conversation({ instructions, input }: Input, sentence: string | undefined): JsonObject {
  const opening = sentence === undefined ? [] : [developerMessage(sentence)];
  return { ...(instructions === undefined ? {} : { instructions }), input: [...opening, ...input] };
}

function developerMessage(text: string): JsonObject {
  return { type: "message", role: "developer", content: [{ type: "input_text", text }] };
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
