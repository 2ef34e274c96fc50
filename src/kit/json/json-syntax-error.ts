/**
 * Text that is not JSON. The message names the expectation and the position, and repeats at most one character of the
 * text.
 */
export class JsonSyntaxError extends Error {
  /** Describes what was expected at the position. */
  readonly expected: string;
  /** Describes what was found: one character, or the end of the text. */
  readonly found: string;
  /** Position in UTF-16 units from the beginning of the text. */
  readonly position: number;
  /** Whether the text merely ended too soon, so that more text could make it valid JSON. */
  readonly isIncomplete: boolean;

  constructor(expected: string, found: string, position: number, isIncomplete = false) {
    super(`expected ${expected} at position ${position}, found ${found}`);
    this.name = "JsonSyntaxError";
    this.expected = expected;
    this.found = found;
    this.position = position;
    this.isIncomplete = isIncomplete;
  }
}

/** Creates the error for a character that is not allowed at its position. */
export function unexpectedCharacter(text: string, at: number, expected: string): JsonSyntaxError {
  return new JsonSyntaxError(expected, JSON.stringify(text.charAt(at)), at);
}
