/** Text that is not JSON. The message says what was expected where, and repeats at most one character of the text. */
export class JsonSyntaxError extends Error {
  /** What was expected there. */
  readonly expected: string;
  /** What was found: one character, or the end of the text. */
  readonly found: string;
  /** Where, in UTF-16 units from the beginning of the text. */
  readonly position: number;
  /** Whether the text only ended too soon: all of it can be the beginning of JSON. */
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

/** The error for a character of a text that cannot be there. */
export function unexpectedCharacter(text: string, at: number, expected: string): JsonSyntaxError {
  return new JsonSyntaxError(expected, JSON.stringify(text.charAt(at)), at);
}
