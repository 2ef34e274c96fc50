import type { Effort } from "./prompt.ts";
import type { Scene } from "./scene.ts";
import { countTokens } from "./tokens.ts";
import type { ReasoningPart } from "./turn.ts";

/** Tokens that thinking costs at least, by effort. */
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
  "**Reading the request**\n\nThe words come first. I look at what was asked, what came with it, and which tools are within reach.",
  "**Weighing the ways**\n\nOne could answer at once, or ask a tool. The shorter way is usually the better one, naïve as that sounds.",
  "**Checking the figures**\n\nA second look never hurts: 6 × 7 is still 42, and the tide still turns twice a day. 🌙",
  "**Choosing the words**\n\nThe answer should be plain, complete and kind to whoever parses it.",
] as const;

/** Thinks about a prompt. Returns nothing when the prompt asks for no thinking. */
export function thinkAbout(scene: Scene): ReasoningPart[] {
  const least = tokensByEffort[scene.prompt.effort];
  if (least === 0) return [];
  const count = scene.options.parts ?? 2;
  const offset = scene.random.below(thoughts.length);
  const paragraphs = Array.from(
    { length: count },
    (_, index) => thoughts[(offset + index) % thoughts.length] ?? thoughts[0],
  );
  const shown = paragraphs.reduce((sum, paragraph) => sum + countTokens(paragraph), 0);
  const redacted = scene.options.redacted === true;
  return [{ kind: "reasoning", paragraphs, redacted, tokens: Math.max(least, shown) }];
}
