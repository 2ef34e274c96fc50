import { createParser, type EventSourceParser, type ParseError } from "eventsource-parser";
import { StreamError } from "../spec/errors.ts";

/** One server-sent event. */
export interface SseEvent {
  /** The `event:` field; empty where there was none. */
  readonly type: string;
  /** The `data:` lines, joined by line feeds. */
  readonly data: string;
}

/** Largest event that is taken, in characters. An image inside an event is the reason for the size. */
export const DEFAULT_MAX_EVENT_CHARS = 64 * 1024 * 1024;

/**
 * Cuts bytes into server-sent events by the rules of the HTML standard (§9.2.6): CR, LF and
 * CRLF, several data lines, comments, a byte order mark. Bytes may be split anywhere.
 */
export class SseDecoder {
  readonly #text = new TextDecoder();
  readonly #parser: EventSourceParser;

  constructor(onEvent: (event: SseEvent) => void, maxEventChars: number = DEFAULT_MAX_EVENT_CHARS) {
    this.#parser = createParser({
      onEvent: ({ event = "", data }) => onEvent({ type: event, data }),
      onError: failOnOverflow,
      maxBufferSize: maxEventChars,
    });
  }

  /** Takes the next bytes. Throws StreamError where an event is larger than the limit, and what `onEvent` throws. */
  push(chunk: Uint8Array): void {
    this.#parser.feed(this.#text.decode(chunk, { stream: true }));
  }

  /**
   * Called once after the last byte. A last event without its closing blank line is delivered
   * too, although the standard would drop it: some servers leave the blank line out. An event
   * that was cut in its middle is no JSON, and whoever parses it finds out.
   */
  end(): void {
    this.#parser.feed(`${this.#text.decode()}\n\n`);
  }
}

function failOnOverflow(error: ParseError): void {
  // The other kinds (unknown fields, bad retry values) are to be ignored by the standard.
  if (error.type === "max-buffer-size-exceeded") {
    throw new StreamError("an event of the provider's stream is larger than the limit", { retryable: false });
  }
}
