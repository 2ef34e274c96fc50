const QUOTE = 0x22;
const COMMA = 0x2c;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;

/**
 * Estimates the number of values in a JSON text before it is parsed, by counting lists, objects and commas, at most two
 * for a value. Text that is not JSON gives an arbitrary number. Stops once there are more than `max`.
 */
export function countJsonValues(text: string, max: number): number {
  let count = 0;
  for (let at = 0; at < text.length && count <= max; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at) - 1;
    else if (code === COMMA || code === LEFT_BRACKET || code === LEFT_BRACE) count += 1;
  }
  return count;
}

/** Whether a JSON text nests more levels than these. Text that is not JSON gives an arbitrary answer. */
export function nestsDeeper(text: string, maxLevels: number): boolean {
  // Each level takes two characters.
  if (text.length <= 2 * maxLevels) return false;
  let levels = 0;
  for (let at = 0; at < text.length && levels <= maxLevels; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at) - 1;
    else if (code === LEFT_BRACKET || code === LEFT_BRACE) levels += 1;
    else if (code === RIGHT_BRACKET || code === RIGHT_BRACE) levels -= 1;
  }
  return levels > maxLevels;
}

/** Returns the index behind the string that begins at an index; behind the text if the string does not end. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end + 1;
}

/** Whether an odd number of backslashes stands before a character. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}
