import type { ModelOptions } from "../model-options.ts";
import type { Prompt } from "./prompt.ts";
import type { InstanceSource } from "./schema-instance.ts";
import { createSeededRandom, type SeededRandom } from "./seeded-random.ts";

/** What a script writes from. */
export interface Scene {
  readonly prompt: Prompt;
  readonly options: ModelOptions;
  /** Draws the same for the same prompt. */
  readonly random: SeededRandom;
}

/** Words that a generated string is made of, when the question has none. */
const spareWords = ["harbour", "lantern", "meridian"] as const;

/** Sets the scene for a prompt. */
export function setScene(prompt: Prompt, options: ModelOptions): Scene {
  return { prompt, options, random: createSeededRandom(prompt.segments.join("\n")) };
}

/**
 * What generated values are drawn from: names that the question mentions (“Paris”), else its long words, one after the
 * other, so that a question about Paris calls `get_weather` with Paris.
 */
export function instanceSourceOf(scene: Scene): InstanceSource {
  const text = scene.prompt.question.slice(0, 2000);
  const names = [...text.matchAll(/(?<=[\p{L}\d,;:] )\p{Lu}[\p{L}\d]+/gu)].map(([word]) => word);
  const longWords = [...text.matchAll(/[\p{L}\d]{5,24}/gu)].map(([word]) => word);
  const words = [names, longWords].find((choice) => choice.length > 0) ?? spareWords;
  let next = 0;
  return { random: scene.random, nextWord: () => words[next++ % words.length] ?? spareWords[0] };
}
