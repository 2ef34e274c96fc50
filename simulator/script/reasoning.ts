import type { Effort } from "./prompt.ts";
import type { ScriptInput } from "./script-input.ts";
import { countTokens } from "./tokens.ts";
import type { ReasoningPart } from "./turn.ts";

/** Minimum number of reasoning tokens, by effort. */
const tokensByEffort: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 16,
  low: 64,
  medium: 192,
  high: 448,
  xhigh: 896,
  max: 1408,
};

const thoughts = [
  "**Reading the request**\n\nI look at the question, at its attachments, and at the tools that are available.",
  "**Weighing the options**\n\nI could answer at once, or call a tool. The simpler option is usually the better one, naïve as that sounds.",
  "**Checking the figures**\n\nA second look never hurts: 6 × 7 is still 42, and the tide still turns twice a day. 🌙",
  "**Choosing the words**\n\nThe answer should be plain, complete and easy to parse.",
] as const;

/** Writes the reasoning for a prompt. Returns nothing if the prompt asks for none. */
export function writeReasoning(input: ScriptInput): ReasoningPart[] {
  const least = tokensByEffort[input.prompt.effort];
  if (least === 0) return [];
  const count = input.options.parts ?? 2;
  const offset = input.random.below(thoughts.length);
  const paragraphs = Array.from(
    { length: count },
    (_, index) => thoughts[(offset + index) % thoughts.length] ?? thoughts[0],
  );
  const shown = paragraphs.reduce((sum, paragraph) => sum + countTokens(paragraph), 0);
  const redacted = input.options.redacted === true;
  return [{ kind: "reasoning", paragraphs, redacted, tokens: Math.max(least, shown) }];
}
