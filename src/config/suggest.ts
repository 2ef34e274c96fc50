/**
 * Returns the known word closest to a mistyped one: at most two edits away, and fewer edits than half of its letters.
 * Undefined if no word is that close.
 */
export function closestWord(word: string, known: readonly string[]): string | undefined {
  let closest: string | undefined;
  let fewest = Math.min(2, Math.floor((word.length - 1) / 2));
  for (const candidate of known) {
    if (Math.abs(word.length - candidate.length) > fewest) continue;
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (edits > fewest || (edits === fewest && closest !== undefined)) continue;
    closest = candidate;
    fewest = edits;
  }
  return closest;
}

/**
 * Returns `; did you mean "listen"?` if a known word is close, or has the word among its parts ("openai" in
 * "openai-chat"). Otherwise returns an empty text.
 */
export function didYouMean(word: string, known: readonly string[]): string {
  const closest = closestWord(word, known);
  const meant = closest === undefined ? findCompounds(word, known) : [closest];
  if (meant.length === 0 || meant.length > MAX_SUGGESTED) return "";
  return `; did you mean ${meant.map((candidate) => `"${candidate}"`).join(" or ")}?`;
}

/** More candidates do not help. */
const MAX_SUGGESTED = 3;

function findCompounds(word: string, known: readonly string[]): string[] {
  if (!/^[\w.-]{1,64}$/.test(word)) return [];
  const parts = getParts(word);
  return known.filter((candidate) => {
    const others = getParts(candidate);
    return parts.every((part) => others.includes(part)) || others.every((part) => parts.includes(part));
  });
}

function getParts(word: string): string[] {
  return word.toLowerCase().split(/[^a-z0-9]+/);
}

/** Returns the number of insertions, deletions, replacements and swaps of neighbours between two words. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (last[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        replaced,
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        swapped && row > 1 && column > 1 ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}
