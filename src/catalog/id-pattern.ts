/**
 * Whether a text matches a pattern as a whole: `*` is any text, `#` is one digit, anything else is literal. Not a regular
 * expression: one that is used once costs more to compile than to match.
 */
export function fitsPattern(pattern: string, text: string): boolean {
  return fitsFrom(pattern, 0, text, 0);
}

function fitsFrom(pattern: string, patternStart: number, text: string, textStart: number): boolean {
  let at = textStart;
  for (let index = patternStart; index < pattern.length; index += 1, at += 1) {
    const wanted = pattern[index];
    if (wanted === "*") return fitsSomewhere(pattern, index + 1, text, at);
    const found = text[at];
    if (wanted === "#" ? !isDigit(found) : wanted !== found) return false;
  }
  return at === text.length;
}

function fitsSomewhere(pattern: string, patternStart: number, text: string, textStart: number): boolean {
  if (patternStart === pattern.length) return true;
  for (let at = textStart; at <= text.length; at += 1) {
    if (fitsFrom(pattern, patternStart, text, at)) return true;
  }
  return false;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}
