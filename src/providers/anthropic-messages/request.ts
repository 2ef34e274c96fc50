/** Our Request -> their body (provider documentation: "Create a message"). */

import { traitsOf } from "../../catalog/catalog.ts";
import type { ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { LossReport } from "../../kit/adapter/loss-report.ts";
import { asObject, type JsonObject, mergeObjects, objectsIn, without } from "../../kit/json/json.ts";
import { SchemaBudget } from "../../kit/json-schema/limits.ts";
import { withBreakpoints } from "./cache.ts";
import type { MediaSource } from "./context.ts";
import { toConversation } from "./input.ts";
import { type ProviderOptions, readOptions } from "./options.ts";
import {
  continuesWithoutThinking,
  effectiveThinking,
  hasBudget,
  maxTokensOf,
  requestedReasoning,
  thinks,
} from "./reasoning.ts";
import { type AnswerFormat, answerFormat } from "./response-format.ts";
import { toolSettings, toolsOf } from "./tools.ts";
import { WIRE_NAME, type WireMessage } from "./wire.ts";

/** What the translation of a request needs to know of the provider entry. */
export interface RequestSettings {
  /** Name under which the provider is registered. */
  readonly provider: string;
  /** Version of the API, a date: what it takes differs. */
  readonly apiVersion: string;
  /** Turns the source of an image or document into a URL, bytes or a file id. */
  readonly media: MediaSource;
}

/** A request in the provider's words. */
export interface RequestBody {
  /** For `stringifyJson`: parts of it are kept as they were spelled. */
  readonly body: JsonObject;
  /** Names for the header `anthropic-beta`. */
  readonly betas: readonly string[];
  /** What was changed or left out. */
  readonly warnings: Warning[];
}

/** What all steps of the translation share. */
interface Translation extends RequestSettings {
  readonly request: Request;
  readonly traits: ModelTraits;
  readonly options: ProviderOptions;
  readonly loss: LossReport;
  /** What the enforced schemas of the request use up. */
  readonly budget: SchemaBudget;
}

/**
 * Translates a request. The conversation stands last in the body, so that the bytes of a turn
 * begin with those of the turn before.
 * @throws InvalidRequestError naming what the API has no form for, UnsupportedToolChoiceError;
 * for a strict request also InvalidRequestError for what would otherwise be changed or left out.
 */
export async function toRequestBody(
  request: Request,
  streaming: boolean,
  settings: RequestSettings,
): Promise<RequestBody> {
  const loss = new LossReport();
  const traits = traitsOf(WIRE_NAME, request.model);
  const options = readOptions(request, settings.provider);
  const budget = new SchemaBudget();
  const own = await ownBody({ ...settings, request, traits, options, loss, budget }, streaming);
  loss.enforce(request.lossPolicy);
  const merged = mergeObjects(withoutReplaced(own, options.body), options.body, APPENDED_OPTIONS);
  if (objectsIn(merged.messages).length === 0)
    throw invalidField(
      "messages",
      "expected at least one message with content beside the instructions at the beginning",
    );
  const body = options.autoCache ? withBreakpoints(merged) : merged;
  const { messages } = body;
  return {
    body: { ...without(body, "messages"), messages },
    betas: options.betas,
    warnings: loss.warnings,
  };
}

/** Lists that provider options add to instead of replacing. */
const APPENDED_OPTIONS = ["tools", "include"];

/** Settings that are one of several kinds: half of ours and half of the caller's would be neither. */
function withoutReplaced(own: JsonObject, options: JsonObject): JsonObject {
  const replaced = ["thinking", "tool_choice"].filter((key) => asObject(options[key])?.type !== undefined);
  return without(own, ...replaced);
}

async function ownBody(translation: Translation, streaming: boolean): Promise<JsonObject> {
  const { request, traits, options, loss, budget } = translation;
  const { documentCitations } = options;
  const { messages, system, container } = await toConversation({ ...translation, documentCitations });
  const { thinking, effort } = reasoningFor(translation, messages);
  const inForce = effectiveThinking(thinking, options.body);
  const format = answerFormat(request, traits, loss, budget);
  return {
    model: request.model,
    max_tokens: maxTokensOf(request, inForce, traits, loss),
    ...(streaming ? { stream: true } : {}),
    ...(thinking === undefined ? {} : { thinking }),
    ...outputConfig(effort, format),
    ...sampling(translation, thinks(inForce, traits)),
    ...stopSequences(request, loss),
    ...metadata(request, loss),
    ...(container === undefined ? {} : { container }),
    ...toolsFor(translation, hasBudget(inForce)),
    ...(system.length + format.instructions.length === 0
      ? {}
      : { system: [...system, ...format.instructions] }),
    messages,
  };
}

function reasoningFor({ request, traits, loss }: Translation, messages: readonly WireMessage[]) {
  const reasoning = requestedReasoning(request, traits, loss);
  if (!hasBudget(reasoning.thinking) || !continuesWithoutThinking(messages)) return reasoning;
  loss.lose(
    "reasoning_effort",
    "adjusted_setting",
    "the tool calls of this turn were made without thinking, which the model cannot take up in between; it stays off",
  );
  return { ...reasoning, thinking: { type: "disabled" } };
}

function outputConfig(effort: string | undefined, { format }: AnswerFormat): JsonObject {
  if (effort === undefined && format === undefined) return {};
  return {
    output_config: {
      ...(effort === undefined ? {} : { effort }),
      ...(format === undefined ? {} : { format }),
    },
  };
}

function toolsFor(translation: Translation, withBudget: boolean): JsonObject {
  const { request, options } = translation;
  return toolSettings(request, {
    ...translation,
    tools: toolsOf(request, translation),
    addsTools: objectsIn(options.body.tools).length > 0,
    hasBudget: withBudget,
    freesToolChoice: options.freesToolChoice,
  });
}

// Provider documentation: "API versions".
const VERSION_WITHOUT_SAMPLING = "2026-10-21";

function sampling({ request, traits, apiVersion, loss }: Translation, thinking: boolean): JsonObject {
  const { temperature, topP } = request;
  const isTaken =
    apiVersion < VERSION_WITHOUT_SAMPLING &&
    (traits.sampling === "always" || (traits.sampling === "without_reasoning" && !thinking));
  if (isTaken) return takenSampling(request, traits, loss);
  // 1 is what the model does anyway.
  if (temperature !== undefined && temperature !== 1)
    loss.lose("temperature", "unsupported_setting", NO_SAMPLING);
  if (topP !== undefined && topP !== 1) loss.lose("top_p", "unsupported_setting", NO_SAMPLING);
  return {};
}

const NO_SAMPLING = "the model does not take it in such a request; it was left out";

function takenSampling({ temperature, topP }: Request, traits: ModelTraits, loss: LossReport): JsonObject {
  const isExclusive = traits.exclusiveSampling && temperature !== undefined && topP !== undefined;
  if (isExclusive)
    loss.lose("top_p", "unsupported_setting", "the model takes it only without temperature; it was left out");
  if (temperature !== undefined && temperature > 1)
    loss.lose("temperature", "adjusted_setting", "the API takes 0 to 1; 1 was asked for");
  return {
    ...(temperature === undefined ? {} : { temperature: Math.min(temperature, 1) }),
    ...(topP === undefined || isExclusive ? {} : { top_p: topP }),
  };
}

function stopSequences({ stopSequences: sequences }: Request, loss: LossReport): JsonObject {
  const taken = sequences.filter((sequence) => sequence.trim() !== "");
  if (taken.length < sequences.length) {
    const message = "the API takes no stop sequence that is only white space; it was left out";
    loss.lose("stop_sequences", "unsupported_setting", message);
  }
  return taken.length === 0 ? {} : { stop_sequences: taken };
}

function metadata({ metadata: pairs }: Request, loss: LossReport): JsonObject {
  const { user_id: userId, ...rest } = pairs;
  if (Object.keys(rest).length > 0)
    loss.lose("metadata", "unsupported_setting", "the API takes user_id only; the rest was left out");
  return userId === undefined ? {} : { metadata: { user_id: userId } };
}
