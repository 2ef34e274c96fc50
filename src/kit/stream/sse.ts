import { createParser, type EventSourceParser, type ParseError } from "eventsource-parser";
import { StreamError } from "../../spec/errors.ts";

/** One server-sent event. */
export interface SseEvent {
  /** The `event:` field; empty where there was none. */
  readonly type: string;
  /** The `data:` lines, joined by line feeds. */
  readonly data: string;
}

/** Largest event that is taken, in characters. An image inside an event is the reason for the size. */
const DEFAULT_MAX_EVENT_CHARS = 64 * 1024 * 1024;

/** Characters of stray text that are kept. */
export const MAX_STRAY_CHARS = 64 * 1024;

/**
 * Cuts bytes into server-sent events by the rules of the HTML standard (§9.2.6): CR, LF and
 * CRLF, several data lines, comments, a byte order mark. Bytes may be split anywhere.
 */
export class SseDecoder {
  readonly #text = new TextDecoder();
  readonly #parser: EventSourceParser;
  #atLineStart = true;
  #stray = "";

  constructor(onEvent: (event: SseEvent) => void, maxEventChars: number = DEFAULT_MAX_EVENT_CHARS) {
    this.#parser = createParser({
      onEvent: ({ event = "", data }) => onEvent({ type: event, data }),
      onError: failOnOverflow,
      maxBufferSize: maxEventChars,
    });
  }

  /** Takes the next bytes. Throws StreamError where an event is larger than the limit, and what `onEvent` throws. */
  push(chunk: Uint8Array): void {
    this.#feed(this.#text.decode(chunk, { stream: true }));
  }

  /**
   * What came from the first line on that begins with a brace or bracket: no event, but JSON
   * that a server wrote into the stream as it is, as some do with an error. Empty where there
   * was none; at most `MAX_STRAY_CHARS`.
   */
  get stray(): string {
    return this.#stray;
  }

  /**
   * Called once after the last byte. A last event without its closing blank line is delivered
   * too, although the standard would drop it: some servers leave the blank line out. An event
   * that was cut in its middle is no JSON, and whoever parses it finds out.
   */
  end(): void {
    this.#feed(this.#text.decode());
    this.#parser.feed("\n\n");
  }

  #feed(text: string): void {
    this.#keepStray(text);
    this.#parser.feed(text);
  }

  #keepStray(text: string): void {
    if (text === "") return;
    const from = this.#stray === "" ? strayStart(text, this.#atLineStart) : 0;
    if (from >= 0 && this.#stray.length < MAX_STRAY_CHARS)
      this.#stray += text.slice(from, from + MAX_STRAY_CHARS - this.#stray.length);
    this.#atLineStart = text.endsWith("\n") || text.endsWith("\r");
  }
}

/** Where the first line begins that starts with a brace or bracket, as no field of an event does; below 0 where none does. */
function strayStart(text: string, atLineStart: boolean): number {
  if (atLineStart && /^[[{]/.test(text)) return 0;
  const lineEnd = text.search(/[\r\n][[{]/);
  return lineEnd < 0 ? -1 : lineEnd + 1;
}

function failOnOverflow(error: ParseError): void {
  // The other kinds (unknown fields, bad retry values) are to be ignored by the standard.
  if (error.type === "max-buffer-size-exceeded") {
    throw new StreamError("an event of the provider's stream is larger than the limit", { retryable: false });
  }
}
