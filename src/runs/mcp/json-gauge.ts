import { StreamError } from "../../core/errors.ts";
import type { McpLimits } from "./settings.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const LEFT_BRACE = 0x7b;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Measures an answer while it passes by, before anyone parses it: its bytes and, as `countJsonValues` does, its JSON
 * values. It may be JSON or events with JSON in their lines.
 */
export class JsonGauge {
  readonly #limits: Pick<McpLimits, "maxAnswerBytes" | "maxAnswerValues">;
  #bytes = 0;
  #values = 0;
  #isInString = false;
  #isEscaped = false;

  constructor(limits: Pick<McpLimits, "maxAnswerBytes" | "maxAnswerValues">) {
    this.#limits = limits;
  }

  /** Measures the next bytes. Throws StreamError, not retryable, where the answer is over a limit. */
  push(chunk: Uint8Array): void {
    const { maxAnswerBytes, maxAnswerValues } = this.#limits;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > maxAnswerBytes) throw tooLarge(`${maxAnswerBytes} bytes`);
    for (const byte of chunk) this.#count(byte);
    if (this.#values > maxAnswerValues) throw tooLarge(`${maxAnswerValues} JSON values`);
  }

  #count(byte: number): void {
    // No JSON string spans lines: what was left open was no JSON.
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) this.#isInString = this.#isEscaped = false;
    else if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === QUOTE) this.#isInString = !this.#isInString;
    else if (this.#isInString) this.#isEscaped = byte === BACKSLASH;
    else if (byte === COMMA || byte === LEFT_BRACKET || byte === LEFT_BRACE) this.#values += 1;
  }
}

function tooLarge(limit: string): StreamError {
  return new StreamError(`the answer of the MCP server has more than ${limit}`, { retryable: false });
}
