/**
 * How much a model reasons -> `thinking` and `output_config.effort`, and how much it may write
 * in total: `max_tokens` (provider documentation: "Thinking", "Effort").
 */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { effortFor } from "../../kit/adapter/effort.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import {
  asInt32,
  asJson,
  asObject,
  type JsonObject,
  mergeObjects,
  objectIn,
  textIn,
  without,
} from "../../kit/json/json.ts";
import type { MessageCreateParams, ThinkingConfig } from "../../wire/anthropic-messages/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { RequestContext } from "./context.ts";
import type { RequestMessage } from "./input.ts";

/** How a request sets reasoning. */
export interface ReasoningSettings {
  /** `thinking`; undefined for the model's default. */
  readonly thinking: ThinkingConfig | undefined;
  /** `output_config.effort`; undefined for the model's default. */
  readonly effort: string | undefined;
}

/** Tokens of thinking for an effort, if the model takes a budget. */
const BUDGETS: ReadonlyMap<string, number> = new Map([
  ["minimal", 1024],
  ["low", 2048],
  ["medium", 8192],
  ["high", 16_384],
  ["xhigh", 24_576],
  ["max", 32_000],
]);

/** Settings of reasoning, with the options that are merged into the body after them. */
export interface ReasoningWithOptions extends ReasoningSettings {
  /** The caller's options, without a budget that cannot be used. */
  readonly options: JsonObject;
}

/** Returns the settings for `reasoning_effort`, given the messages in the form that is sent. */
export function reasoningSettings(
  context: RequestContext,
  messages: readonly RequestMessage[],
): ReasoningWithOptions {
  const { request, traits, loss } = context;
  const { body: options } = context.options;
  const settings = withinMaxTokens(settingsFor(request, traits, loss), context);
  const thinking = effectiveThinking(settings.thinking, options);
  if (!hasBudget(thinking) || !continuesWithoutThinking(messages)) return { ...settings, options };
  loss.lose(
    "reasoning_effort",
    "adjusted_setting",
    "the tool calls of this turn were made without thinking, and thinking cannot begin within a turn; the budget was left out",
  );
  const type = traits.reasoningControl === "adaptive" ? "adaptive" : "disabled";
  return { ...settings, thinking: { type }, options: without(options, "thinking") };
}

function settingsFor(
  { reasoningEffort: wanted }: Request,
  traits: ModelTraits,
  loss: LossReport,
): ReasoningSettings {
  if (wanted === "") return MODEL_DEFAULT;
  if (wanted === "none" && traits.reasoningOff === "between_tools") {
    const message = "the model cannot stop thinking; it was set to think only between tool calls";
    loss.lose("reasoning_effort", "adjusted_setting", message);
    return { thinking: { type: "between_tools" }, effort: undefined };
  }
  const effort = effortFor(wanted, traits.reasoningEfforts, loss);
  if (effort === undefined) return MODEL_DEFAULT;
  return { thinking: thinkingFor(effort, traits, loss), effort: outputEffort(effort, traits) };
}

const MODEL_DEFAULT: ReasoningSettings = { thinking: undefined, effort: undefined };

function outputEffort(effort: string, traits: ModelTraits): string | undefined {
  return traits.outputEffort && effort !== "none" ? effort : undefined;
}

/** Newer models show no thinking unless a summary is requested. */
function thinkingFor(effort: string, traits: ModelTraits, loss: LossReport): ThinkingConfig | undefined {
  if (effort === "none") return { type: "disabled" };
  if (traits.reasoningControl === "adaptive") return { type: "adaptive", display: "summarized" };
  const budget = BUDGETS.get(effort);
  if (budget === undefined) {
    const message = "the model needs a token budget, and none is defined for this effort; it was left out";
    loss.lose("reasoning_effort", "unsupported_setting", message);
    return undefined;
  }
  const { minThinkingBudget = 0, maxThinkingBudget = budget } = traits;
  return {
    type: "enabled",
    budget_tokens: Math.max(minThinkingBudget, Math.min(budget, maxThinkingBudget)),
  };
}

/** The smallest budget of models that the catalog does not know. */
const MIN_BUDGET = 1024;
/** Tokens that are kept for the answer if a budget is lowered; of a small `max_tokens`, a quarter. */
const ANSWER_TOKENS = 1024;

/**
 * Lowers a default budget to the part of the caller's `max_tokens`, which includes thinking, that remains alongside an
 * answer. Turns thinking off if that is below the model's minimum. A budget that the caller set is not changed.
 */
function withinMaxTokens(
  settings: ReasoningSettings,
  { request: { maxTokens }, traits, options, loss }: RequestContext,
): ReasoningSettings {
  const { thinking } = settings;
  const isDefault = objectIn<ThinkingConfig>(options.body.thinking).type === undefined;
  if (thinking?.type !== "enabled" || maxTokens === undefined || !isDefault) return settings;
  const largest = maxTokens - Math.min(ANSWER_TOKENS, Math.ceil(maxTokens / 4));
  if (thinking.budget_tokens <= largest) return settings;
  const { minThinkingBudget: smallest = MIN_BUDGET } = traits;
  const [outcome, config]: [string, ThinkingConfig] =
    largest < smallest
      ? [`less than the model's minimum of ${smallest}; thinking was turned off`, { type: "disabled" }]
      : [`less than the effort's ${thinking.budget_tokens}`, { ...thinking, budget_tokens: largest }];
  const message = `max_tokens includes thinking and leaves it a budget of ${largest} tokens, ${outcome}`;
  loss.lose("reasoning_effort", "adjusted_setting", message);
  return { ...settings, thinking: config };
}

/**
 * Returns the `thinking` of the final body: the caller's option replaces the default if it has a `type`, else is merged
 * into it.
 */
export function effectiveThinking(
  base: ThinkingConfig | undefined,
  { thinking: option }: Untrusted<MessageCreateParams>,
): Untrusted<ThinkingConfig> | undefined {
  const wanted = asObject(option);
  if (wanted === undefined) return option === null ? undefined : base;
  return wanted.type === undefined ? mergeObjects(asJson(base ?? {}), wanted) : wanted;
}

/** Reports whether a request has a thinking budget, which rules out forced tool calls. */
export function hasBudget(thinking: Untrusted<ThinkingConfig> | undefined): boolean {
  return thinking?.type === "enabled";
}

/** Reports whether the model thinks, as requested or by default. */
export function hasThinking(thinking: Untrusted<ThinkingConfig> | undefined, traits: ModelTraits): boolean {
  if (thinking !== undefined) return thinking.type !== "disabled";
  if (traits.reasoningControl === "unknown") return false;
  return (traits.defaultEffort ?? traits.reasoningControl) !== "none";
}

/**
 * Reports whether the tool calls of the assistant's current turn were made without thinking, by another
 * provider or with thinking off: a request with a budget cannot continue such a turn (provider
 * documentation: "Extended thinking with tool use").
 */
function continuesWithoutThinking(messages: readonly RequestMessage[]): boolean {
  const turn = messages.slice(messages.findLastIndex(beginsTurn) + 1);
  const answers = turn.filter(({ role }) => role === "assistant");
  return answers.length > 0 && !answers.some(({ content }) => textIn(content[0]?.type).endsWith("thinking"));
}

function beginsTurn({ role, content }: RequestMessage): boolean {
  return role === "user" && !content.some(({ type }) => type === "tool_result");
}

const DEFAULT_MAX_TOKENS = 16_384;
const DEFAULT_MAX_TOKENS_WITH_THINKING = 32_768;
/** Maximum that every model accepts, including unknown ones. */
const SAFE_MAX_TOKENS = 4096;

/**
 * Returns `max_tokens`, which the API requires and which includes thinking: the caller's value, else a default that
 * fits the model and is above the thinking budget.
 * @throws InvalidRequestError if the caller sets both and the budget is not below the limit.
 */
export function getMaxTokens(
  { request, traits, models }: RequestContext,
  thinking: Untrusted<ThinkingConfig> | undefined,
): number {
  const maximum = models.getModelInfo(request.model)?.maxOutputTokens;
  const wanted = request.maxTokens ?? defaultMaxTokens(maximum, hasThinking(thinking, traits), traits);
  const budget = hasBudget(thinking) ? (asInt32(thinking?.budget_tokens) ?? 0) : 0;
  if (wanted > budget) return wanted;
  if (request.maxTokens !== undefined)
    throw invalidField("max_tokens", `expected more than the thinking budget of ${budget}, found ${wanted}`);
  return Math.min(budget + wanted, maximum ?? Number.POSITIVE_INFINITY);
}

function defaultMaxTokens(maximum: number | undefined, thinking: boolean, traits: ModelTraits): number {
  // An unknown model that thinks adaptively is a recent one, which accepts more than the oldest models.
  const limit =
    maximum ?? (traits.reasoningControl === "adaptive" ? Number.POSITIVE_INFINITY : SAFE_MAX_TOKENS);
  return Math.min(limit, thinking ? DEFAULT_MAX_TOKENS_WITH_THINKING : DEFAULT_MAX_TOKENS);
}
