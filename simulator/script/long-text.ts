import type { SeededRandom } from "./seeded-random.ts";

/** Words of one token each. */
const words = [
  "tide",
  "rope",
  "wave",
  "north",
  "star",
  "café",
  "hull",
  "keel",
  "über",
  "mast",
  "salt",
  "wind",
  "reef",
  "sail",
  "naïve",
  "moon",
  "chart",
  "gull",
  "κύμα",
  "море",
] as const;

/** Words in a sentence, and sentences in a paragraph. */
const rhythm = { words: 11, sentences: 6 };

/** Writes a text of exactly this many tokens: paragraphs of sentences with an occasional emoji. */
export function writeLongText(tokens: number, random: SeededRandom): string {
  const paragraph = (rhythm.words + 1) * rhythm.sentences + 2;
  let text = "";
  for (let token = 0; token < tokens; token += 1) {
    const place = token % paragraph;
    if (place === paragraph - 1) text += "\n\n";
    else if (place === paragraph - 2) text += "🌊";
    else if (place % (rhythm.words + 1) === rhythm.words) text += ".";
    else text += `${place === 0 ? "" : " "}${random.pick(words)}`;
  }
  return text;
}
