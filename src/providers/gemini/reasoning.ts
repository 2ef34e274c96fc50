/** Reasoning effort -> `thinkingConfig` (provider documentation: "Thinking"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { effortFor } from "../../kit/adapter/effort.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import type { JsonObject } from "../../kit/json/json.ts";

/** The part of `generationConfig` that says how hard the model thinks; empty where the caller leaves it to the model. */
export function thinking(wanted: string, traits: ModelTraits, loss: LossReport): JsonObject {
  if (wanted === "") return {};
  switch (traits.reasoningControl) {
    case "none":
    case "fixed":
      // There is nothing to ask for; what was asked for is reported.
      effortFor(wanted, [], loss);
      return {};
    case "budget":
      return budget(effortFor(wanted, traits.reasoningEfforts, loss), traits, loss);
    default:
      return level(effortFor(wanted, traits.reasoningEfforts, loss));
  }
}

function level(effort: string | undefined): JsonObject {
  if (effort === undefined) return {};
  // There is no such level; models that can go without thinking take a budget of nothing.
  if (effort === "none") return { thinkingConfig: { thinkingBudget: 0 } };
  return { thinkingConfig: { thinkingLevel: effort, includeThoughts: true } };
}

function budget(effort: string | undefined, traits: ModelTraits, loss: LossReport): JsonObject {
  if (effort === undefined) return {};
  if (effort === "none") return { thinkingConfig: { thinkingBudget: 0 } };
  const tokens = BUDGETS.get(effort);
  if (tokens === undefined) {
    loss.lose("reasoning_effort", "unsupported_setting", "the model has no such effort; it was left out");
    return {};
  }
  const { minThinkingBudget: least = 0, maxThinkingBudget: most = tokens } = traits;
  const thinkingBudget = Math.max(least, Math.min(tokens, most));
  return { thinkingConfig: { thinkingBudget, includeThoughts: true } };
}

/** Tokens for the efforts, as Google's own OpenAI-compatible endpoint has them. */
const BUDGETS: ReadonlyMap<string, number> = new Map([
  ["minimal", 1024],
  ["low", 1024],
  ["medium", 8192],
  ["high", 24_576],
]);
