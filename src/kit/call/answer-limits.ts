/** Limits on the size of an answer: a provider that never stops, or is not one, must not exhaust the process. */

import type { CallOptions } from "../../core/adapter.ts";
import { StreamError } from "../../core/errors.ts";
import { getMaxAnswerBytes } from "../../core/memory-account.ts";

/** Limits of one answer, streamed or whole. Exceeding one ends the call and closes the provider's connection. */
export interface AnswerLimits {
  /** Bytes of the answer, without its content encoding. Defaults to a sixteenth of the heap, at most 64 MiB. */
  readonly maxBytes: number;
  /** UTF-16 code units of one event of a stream, lines that never end included. Defaults to 32 Mi. */
  readonly maxEventChars: number;
  /** Events of a stream. Defaults to 500,000, four times the tokens of the longest answers. */
  readonly maxEvents: number;
  /** Parts of the message, tool calls included, and its citations. Defaults to 10,000 of each. */
  readonly maxParts: number;
  /**
   * JSON values of a whole answer: parsed, a value of three bytes takes many times that. A stream may have four times
   * as many, since each event repeats the fields around its content. Defaults to 500,000.
   */
  readonly maxJsonValues: number;
}

/** The default limits. */
export const DEFAULT_ANSWER_LIMITS: AnswerLimits = {
  maxBytes: getMaxAnswerBytes(),
  maxEventChars: 32 * 1024 * 1024,
  maxEvents: 500_000,
  maxParts: 10_000,
  maxJsonValues: 500_000,
};

const SETTINGS: Readonly<Record<keyof AnswerLimits, readonly [setting: string, unit: string]>> = {
  maxBytes: ["max_answer_bytes", "bytes"],
  maxEventChars: ["max_answer_event_bytes", "characters in one event"],
  maxEvents: ["max_answer_events", "events"],
  maxParts: ["max_answer_parts", "parts"],
  maxJsonValues: ["max_answer_json_values", "JSON values"],
};

/** Creates the error of an answer that exceeds a limit. A retry would fail in the same way. */
export function answerTooLarge(limit: keyof AnswerLimits, max: number): StreamError {
  const [setting, unit] = SETTINGS[limit];
  return new StreamError(`the provider's answer has more than ${max} ${unit}, the limit ${setting}`, {
    retryable: false,
  });
}

/**
 * Checks a number of parts before they are read: reading a hundred thousand takes a good part of a second.
 * @throws StreamError if there are too many.
 */
export function checkPartCount(count: number, { maxParts }: AnswerLimits = DEFAULT_ANSWER_LIMITS): void {
  if (count > maxParts) throw answerTooLarge("maxParts", maxParts);
}

/**
 * The memory of one answer, which grows with the answer. It belongs to the call, and is released early if the answer
 * fails.
 */
export class AnswerMemory {
  readonly #options: Pick<CallOptions, "memory" | "signal">;
  #bytes = 0;

  constructor(options: Pick<CallOptions, "memory" | "signal">) {
    this.#options = options;
  }

  /**
   * Takes memory so that the answer has that many bytes. Returns a promise only if it has to wait.
   * @throws RateLimitError, at once or by the promise.
   */
  grow(bytes: number): Promise<void> | undefined {
    const { memory, signal } = this.#options;
    const more = bytes - this.#bytes;
    if (memory === undefined || more <= 0) return undefined;
    const waiting = memory.reserve(more, signal);
    if (waiting === undefined) this.#bytes = bytes;
    return waiting?.then(() => {
      this.#bytes = bytes;
    });
  }

  /** Releases the memory of an answer that is not delivered. */
  release(): void {
    this.#options.memory?.give(this.#bytes);
    this.#bytes = 0;
  }
}
