/**
 * How much a model reasons -> `thinking` and `output_config.effort`, and how much it may write
 * at all (provider documentation: "Thinking", "Effort").
 */

import { getModelInfo } from "../../catalog/catalog.ts";
import type { ModelTraits } from "../../catalog/model-traits.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { effortFor } from "../../kit/adapter/effort.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import { asInt32, asObject, type JsonObject, mergeObjects, textIn } from "../../kit/json/json.ts";
import { WIRE_NAME, type WireMessage } from "./wire.ts";

/** What a request says of reasoning. */
export interface Reasoning {
  /** `thinking`; undefined where the model's default stands. */
  readonly thinking: JsonObject | undefined;
  /** `output_config.effort`; undefined where the model's default stands. */
  readonly effort: string | undefined;
}

/** Tokens of thinking for an effort, where the model takes a budget. */
const BUDGETS: ReadonlyMap<string, number> = new Map([
  ["minimal", 1024],
  ["low", 2048],
  ["medium", 8192],
  ["high", 16_384],
  ["xhigh", 24_576],
  ["max", 32_000],
]);

/**
 * What to say of reasoning for `reasoning_effort`. A model that thinks is asked to show a
 * summary, since newer ones show nothing otherwise.
 */
export function requestedReasoning(
  { reasoningEffort: wanted }: Request,
  traits: ModelTraits,
  loss: LossReport,
): Reasoning {
  if (wanted === "") return NOTHING_SAID;
  if (wanted === "none" && traits.reasoningOff === "between_tools") {
    const message = "the model cannot stop thinking; it was asked to think only between tool calls";
    loss.lose("reasoning_effort", "adjusted_setting", message);
    return { thinking: { type: "between_tools" }, effort: undefined };
  }
  // Whoever wants some reasoning is not served by none, however near that is.
  const allowed = wanted === "none" ? traits.reasoningEfforts : traits.reasoningEfforts?.filter(isSome);
  const effort = effortFor(wanted, allowed, loss);
  if (effort === undefined) return NOTHING_SAID;
  return { thinking: thinkingFor(effort, traits, loss), effort: outputEffort(effort, traits) };
}

const NOTHING_SAID: Reasoning = { thinking: undefined, effort: undefined };

function isSome(effort: string): boolean {
  return effort !== "none";
}

function outputEffort(effort: string, traits: ModelTraits): string | undefined {
  return traits.outputEffort && effort !== "none" ? effort : undefined;
}

function thinkingFor(effort: string, traits: ModelTraits, loss: LossReport): JsonObject | undefined {
  if (effort === "none") return { type: "disabled" };
  if (traits.reasoningControl === "adaptive") return { type: "adaptive", display: "summarized" };
  const budget = BUDGETS.get(effort);
  if (budget === undefined) {
    const message = "the model takes a budget of tokens, and there is none for this effort; it was left out";
    loss.lose("reasoning_effort", "unsupported_setting", message);
    return undefined;
  }
  const { minThinkingBudget = 0, maxThinkingBudget = budget } = traits;
  return {
    type: "enabled",
    budget_tokens: Math.max(minThinkingBudget, Math.min(budget, maxThinkingBudget)),
  };
}

/** The `thinking` that goes out once the caller's own is laid over it: one with a `type` stands alone. */
export function effectiveThinking(own: JsonObject | undefined, options: JsonObject): JsonObject | undefined {
  const wanted = asObject(options.thinking);
  if (wanted === undefined) return options.thinking === null ? undefined : own;
  return wanted.type === undefined ? mergeObjects(own ?? {}, wanted) : wanted;
}

/** Whether a request thinks with a budget of its own, which forbids forced tool calls. */
export function hasBudget(thinking: JsonObject | undefined): boolean {
  return thinking?.type === "enabled";
}

/** Whether the model thinks, as asked or by itself. */
export function thinks(thinking: JsonObject | undefined, traits: ModelTraits): boolean {
  if (thinking !== undefined) return thinking.type !== "disabled";
  if (traits.reasoningControl === "unknown") return false;
  return (traits.defaultEffort ?? traits.reasoningControl) !== "none";
}

/**
 * Whether tool calls of the assistant's present turn were made without thinking, by another
 * provider or with thinking off: a request with a budget may not go on from there (provider
 * documentation: "Extended thinking with tool use").
 */
export function continuesWithoutThinking(messages: readonly WireMessage[]): boolean {
  const turn = messages.slice(messages.findLastIndex(beginsTurn) + 1);
  const said = turn.filter(({ role }) => role === "assistant");
  return said.length > 0 && !said.some(({ content }) => textIn(content[0]?.type).endsWith("thinking"));
}

function beginsTurn({ role, content }: WireMessage): boolean {
  return role === "user" && !content.some(({ type }) => type === "tool_result");
}

const DEFAULT_MAX_TOKENS = 16_384;
const DEFAULT_MAX_TOKENS_WITH_THINKING = 32_768;
/** What all models take, those that are not known included. */
const SAFE_MAX_TOKENS = 4096;

/**
 * `max_tokens`, which the API wants and which counts thinking too: what the caller says, else
 * a default that fits the model. Raised where it leaves no room beside the budget for thinking.
 */
export function maxTokensOf(
  request: Request,
  thinking: JsonObject | undefined,
  traits: ModelTraits,
  loss: LossReport,
): number {
  const most = getModelInfo(request.model, WIRE_NAME)?.maxOutputTokens;
  const wanted = request.maxTokens ?? defaultMaxTokens(most, thinks(thinking, traits), traits);
  const budget = hasBudget(thinking) ? (asInt32(thinking?.budget_tokens) ?? 0) : 0;
  if (wanted > budget) return wanted;
  const raised = Math.min(budget + wanted, most ?? Number.POSITIVE_INFINITY);
  if (request.maxTokens !== undefined) {
    const message = `thinking counts too; with a budget of ${budget} for it, ${raised} tokens were asked for`;
    loss.lose("max_tokens", "adjusted_setting", message);
  }
  return raised;
}

function defaultMaxTokens(most: number | undefined, thinking: boolean, traits: ModelTraits): number {
  // An unknown model of a family that is known to be new takes more than the oldest ones.
  const limit = most ?? (traits.reasoningControl === "adaptive" ? Number.POSITIVE_INFINITY : SAFE_MAX_TOKENS);
  return Math.min(limit, thinking ? DEFAULT_MAX_TOKENS_WITH_THINKING : DEFAULT_MAX_TOKENS);
}
