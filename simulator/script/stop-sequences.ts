import { shortenText } from "./limit-parts.ts";
import type { Part } from "./turn.ts";

/** An answer after stop sequences have been applied. */
interface Stopped {
  readonly parts: readonly Part[];
  /** The sequence at which the answer ends; undefined if it contains none. */
  readonly stopSequence: string | undefined;
}

/** Ends an answer before the first stop sequence in its texts. A text that becomes empty is removed. */
export function stopAtSequences(parts: readonly Part[], sequences: readonly string[]): Stopped {
  for (const [index, part] of parts.entries()) {
    const found = part.kind === "text" ? findFirst(part.text, sequences) : undefined;
    if (part.kind !== "text" || found === undefined) continue;
    const rest = found.at === 0 ? [] : [shortenText(part, found.at)];
    return { parts: [...parts.slice(0, index), ...rest], stopSequence: found.sequence };
  }
  return { parts, stopSequence: undefined };
}

function findFirst(
  text: string,
  sequences: readonly string[],
): { readonly at: number; readonly sequence: string } | undefined {
  const found = sequences
    .map((sequence) => ({ at: text.indexOf(sequence), sequence }))
    .filter(({ at }) => at !== -1);
  return found.sort((left, right) => left.at - right.at)[0];
}
