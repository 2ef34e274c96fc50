/**
 * Shortens a text to at most `maxBytes` bytes of UTF-8, at a character boundary, with `…` at the end. Lone surrogates
 * become U+FFFD, so that the result can be encoded.
 * @param maxBytes At least 3, the size of the ellipsis.
 */
export function boundedText(text: string, maxBytes: number): string {
  // A code unit takes at least one byte, so a longer text is shortened in any case.
  const whole = text.slice(0, maxBytes + 1).toWellFormed();
  if (text.length <= maxBytes && Buffer.byteLength(whole) <= maxBytes) return whole;
  return `${takePrefix(whole, maxBytes - Buffer.byteLength(ELLIPSIS))}${ELLIPSIS}`;
}

const ELLIPSIS = "…";

function takePrefix(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}
