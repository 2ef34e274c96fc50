import type { ModelOptions } from "../model-options.ts";
import type { InstanceSource } from "./instance-source.ts";
import type { Prompt } from "./prompt.ts";
import { createSeededRandom, type SeededRandom } from "./seeded-random.ts";

/** The input of a script. */
export interface ScriptInput {
  readonly prompt: Prompt;
  readonly options: ModelOptions;
  /** Gives the same numbers for the same prompt. */
  readonly random: SeededRandom;
}

/** Words for generated strings, used when the question has none. */
const fallbackWords = ["harbour", "lantern", "meridian"] as const;

/** Creates the input of a script for a prompt. */
export function createScriptInput(prompt: Prompt, options: ModelOptions): ScriptInput {
  return { prompt, options, random: createSeededRandom(prompt.segments.join("\n")) };
}

/**
 * Returns the source of generated values: names that the question mentions (“Paris”), otherwise its long words, in
 * turn, so that a question about Paris calls `get_weather` with Paris.
 */
export function getInstanceSource(input: ScriptInput): InstanceSource {
  const text = input.prompt.question.slice(0, 2000);
  const names = [...text.matchAll(/(?<=[\p{L}\d,;:] )\p{Lu}[\p{L}\d]+/gu)].map(([word]) => word);
  const longWords = [...text.matchAll(/[\p{L}\d]{5,24}/gu)].map(([word]) => word);
  const words = [names, longWords].find((choice) => choice.length > 0) ?? fallbackWords;
  let next = 0;
  return { random: input.random, nextWord: () => words[next++ % words.length] ?? fallbackWords[0] };
}
