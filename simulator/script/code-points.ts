/** Counts the code points of a text up to a position in UTF-16 units. */
export function countCodePoints(text: string, end = text.length): number {
  let count = 0;
  for (const _ of text.slice(0, end)) count += 1;
  return count;
}
