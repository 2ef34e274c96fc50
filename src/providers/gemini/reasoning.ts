/** Reasoning effort -> `thinkingConfig` (provider documentation: "Thinking"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { effortFor } from "../../kit/adapter/effort.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { GenerationConfig } from "../../wire/gemini/request.ts";

/** The `thinkingConfig` of `generationConfig`; empty if the model decides. */
export type ReasoningSettings = Pick<GenerationConfig, "thinkingConfig">;

/** Returns the settings for a reasoning effort. @param requested `Request.reasoning_effort`. */
export function reasoningSettings(
  requested: string,
  traits: ModelTraits,
  loss: LossReport,
): ReasoningSettings {
  switch (traits.reasoningControl) {
    case "none":
    case "fixed":
      // The model has no setting; `effortFor` reports that the effort is left out.
      effortFor(requested, [], loss);
      return {};
    case "budget":
      return budgetSettings(effortFor(requested, traits.reasoningEfforts, loss), traits, loss);
    default:
      return levelSettings(effortFor(requested, traits.reasoningEfforts, loss));
  }
}

function levelSettings(effort: string | undefined): ReasoningSettings {
  if (effort === undefined) return {};
  // No level turns reasoning off; models that support turning it off take a budget of zero.
  if (effort === "none") return { thinkingConfig: { thinkingBudget: 0 } };
  return { thinkingConfig: { thinkingLevel: effort, includeThoughts: true } };
}

function budgetSettings(
  effort: string | undefined,
  traits: ModelTraits,
  loss: LossReport,
): ReasoningSettings {
  if (effort === undefined) return {};
  if (effort === "none") return { thinkingConfig: { thinkingBudget: 0 } };
  const tokens = BUDGETS.get(effort);
  if (tokens === undefined) {
    loss.lose("reasoning_effort", "unsupported_setting", "the model has no such effort; it was left out");
    return {};
  }
  const { minThinkingBudget: min = 0, maxThinkingBudget: max = tokens } = traits;
  const thinkingBudget = Math.max(min, Math.min(tokens, max));
  return { thinkingConfig: { thinkingBudget, includeThoughts: true } };
}

/** Tokens for each effort, the same numbers as in Google's OpenAI-compatible endpoint. */
const BUDGETS: ReadonlyMap<string, number> = new Map([
  ["minimal", 1024],
  ["low", 1024],
  ["medium", 8192],
  ["high", 24_576],
]);
