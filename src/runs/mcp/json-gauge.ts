import { StreamError } from "../../core/errors.ts";
import type { McpLimits } from "./settings.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Messages of one answer: events of a stream, or the members of a batch. Servers report progress so; a message costs
 * the client package about 20 microseconds, whatever is in it.
 */
const MAX_MESSAGES = 5000;

/**
 * Measures an answer while it passes by, before anyone parses it: its bytes, its messages and, as `countJsonValues`
 * does, its JSON values. It may be JSON or events with JSON in their lines.
 */
export class JsonGauge {
  readonly #limits: Pick<McpLimits, "maxAnswerBytes" | "maxAnswerValues">;
  #bytes = 0;
  #values = 0;
  #messages = 0;
  #depth = 0;
  #isBatch = false;
  #isLineEmpty = true;
  #isAfterReturn = false;
  #isInString = false;
  #isEscaped = false;

  constructor(limits: Pick<McpLimits, "maxAnswerBytes" | "maxAnswerValues">) {
    this.#limits = limits;
  }

  /** Measures the next bytes. Throws StreamError, not retryable, if the answer is over a limit. */
  push(chunk: Uint8Array): void {
    const { maxAnswerBytes, maxAnswerValues } = this.#limits;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > maxAnswerBytes) throw tooLarge(`${maxAnswerBytes} bytes`);
    for (const byte of chunk) this.#count(byte);
    if (this.#values > maxAnswerValues) throw tooLarge(`${maxAnswerValues} JSON values`);
    if (this.#messages > MAX_MESSAGES) throw tooLarge(`${MAX_MESSAGES} messages`);
  }

  #count(byte: number): void {
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) return this.#endLine(byte);
    this.#isLineEmpty = this.#isAfterReturn = false;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === QUOTE) this.#isInString = !this.#isInString;
    else if (this.#isInString) this.#isEscaped = byte === BACKSLASH;
    else this.#countStructure(byte);
  }

  /** An empty line ends an event. */
  #endLine(byte: number): void {
    // No JSON string spans lines: what was left open was no JSON.
    this.#isInString = this.#isEscaped = false;
    const isSecondHalf = byte === LINE_FEED && this.#isAfterReturn;
    this.#isAfterReturn = byte === CARRIAGE_RETURN;
    if (isSecondHalf) return;
    if (this.#isLineEmpty) this.#messages += 1;
    this.#isLineEmpty = true;
  }

  #countStructure(byte: number): void {
    if (byte === COMMA) {
      this.#values += 1;
      if (this.#isBatch && this.#depth === 1) this.#messages += 1;
    } else if (byte === LEFT_BRACKET || byte === LEFT_BRACE) {
      this.#values += 1;
      if (this.#depth === 0) this.#isBatch = byte === LEFT_BRACKET;
      this.#depth += 1;
    } else if (byte === RIGHT_BRACKET || byte === RIGHT_BRACE) this.#depth = Math.max(0, this.#depth - 1);
  }
}

function tooLarge(limit: string): StreamError {
  return new StreamError(`the answer of the MCP server has more than ${limit}`, { retryable: false });
}
