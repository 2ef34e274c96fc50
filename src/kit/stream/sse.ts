import { createParser, type EventSourceParser } from "eventsource-parser";
import { StreamError } from "../../core/errors.ts";
import { answerTooLarge, DEFAULT_ANSWER_LIMITS } from "../call/answer-limits.ts";

/** One server-sent event. */
export interface SseEvent {
  /** The `event:` field; empty if there is none. */
  readonly type: string;
  /** The `data:` lines, joined by line feeds. */
  readonly data: string;
}

/** Takes the events at an index that need not be decoded to text. Returns the index after them. */
export type TakeDeltas = (bytes: Buffer, start: number) => number;

const BYTE_ORDER_MARK = "\ufeff";
const WHOLE_TEXT = new TextDecoder("utf-8", { ignoreBOM: true });
const BLANK_LINE = Buffer.from("\n\n");
const FIRST_NON_ASCII = 0x80;
const LF = 0x0a;
const CR = 0x0d;

/** Up to this number of bytes are decoded to text together, since they hold few events. */
const SMALL_BYTES = 1024;

const LARGE_EVENT_CHARS = 1024 * 1024;

/** The cost of a line of an event in addition to its characters, in characters. */
const LINE_CHARS = 64;

/**
 * Lines of a stream that may have unknown fields. Each costs about two microseconds: a read of 64 KiB can hold 32,000.
 */
const MAX_UNKNOWN_FIELDS = 500_000;

/** Maximum length of `stray`. */
export const MAX_STRAY_CHARS = 64 * 1024;

/**
 * Decodes bytes into server-sent events by the rules of the HTML standard ("Server-sent events", "Parsing an event
 * stream"). Bytes may be split anywhere.
 */
export class SseDecoder {
  /**
   * Decodes chunks that end within a character. Created when there is one, like the parser: most streams need neither.
   */
  #text: InstanceType<typeof TextDecoder> | undefined;
  /** Whether `#text` may hold the first bytes of a character. */
  #isInCharacter = false;
  #parser: EventSourceParser | undefined;
  readonly #onEvent: (event: SseEvent) => void;
  readonly #takeDeltas: TakeDeltas | undefined;
  /** Whether the parser has begun no event, so that the next character begins one. */
  #isBetween = true;
  /** Whether the next character begins a line. */
  #isLineStart = true;
  #stray = "";
  #hasBegun = false;
  readonly #maxEventChars: number;
  /** Number of characters since the last event, plus a cost for their lines. */
  pendingChars = 0;
  #pendingLines = 0;
  #unknownFields = 0;
  /** The limit of stack traces outside of the parser. */
  #stackTraceLimit = 0;

  /** @param takeDeltas Takes events from their bytes. Default: none. */
  constructor(
    onEvent: (event: SseEvent) => void,
    maxEventChars = DEFAULT_ANSWER_LIMITS.maxEventChars,
    takeDeltas?: TakeDeltas,
  ) {
    this.#maxEventChars = maxEventChars;
    this.#onEvent = onEvent;
    this.#takeDeltas = takeDeltas;
  }

  /** Takes the next bytes. Throws StreamError if an event exceeds the limit, and the errors of `onEvent`. */
  push(chunk: Uint8Array): void {
    if (this.#takeDeltas === undefined) return this.#take(chunk);
    const bytes = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let pieceBytes = 1;
    for (let at = 0; at < bytes.length; ) {
      // The first event may have a byte order mark before it.
      const isAtEvent = this.#hasBegun && this.#isBetween && !this.#isInCharacter && this.#stray === "";
      const start = isAtEvent ? this.#takeDeltas(bytes, at) : at;
      if (start === bytes.length) return;
      // Few other events come between deltas. If there are more, decoding each one separately would take more time than
      // decoding them together.
      pieceBytes = start > at ? 1 : 2 * pieceBytes;
      const isLast = bytes.length - start <= SMALL_BYTES;
      const end = isLast ? -1 : bytes.indexOf(BLANK_LINE, start + pieceBytes);
      at = end < 0 ? bytes.length : end + BLANK_LINE.length;
      this.#take(start === 0 && at === bytes.length ? bytes : bytes.subarray(start, at));
    }
  }

  /** A chunk of whole characters, the usual case, is decoded without state: Node does that several times faster. */
  #decode(chunk: Uint8Array): string {
    const last = chunk[chunk.length - 1];
    if (last === undefined) return "";
    const endsInAscii = last < FIRST_NON_ASCII;
    if (endsInAscii && !this.#isInCharacter) return WHOLE_TEXT.decode(chunk);
    this.#isInCharacter = !endsInAscii;
    this.#text ??= new TextDecoder("utf-8", { ignoreBOM: true });
    return this.#text.decode(chunk, { stream: true });
  }

  /**
   * Text from the first line that begins with a brace or bracket: not an event but JSON that a server wrote directly
   * into the stream, as some do with an error. Empty if there is none; at most `MAX_STRAY_CHARS`.
   */
  get stray(): string {
    return this.#stray;
  }

  /**
   * Called once after the last byte. A last event without its closing blank line is delivered too, although the
   * standard would drop it: some servers omit the blank line. A cut event is not valid JSON, which its parser detects.
   */
  end(): void {
    const text = this.#text?.decode() ?? "";
    if (text !== "") this.#parse(text);
    this.#feed("\n\n");
  }

  #take(chunk: Uint8Array): void {
    const text = this.#decode(chunk);
    if (text === "") return;
    const begin = this.#isBetween && this.#stray === "" ? this.#takePlain(text) : 0;
    if (begin < text.length) this.#parse(begin === 0 ? text : text.slice(begin));
  }

  /** Takes events in their usual form, which needs no parser. Returns the index after them. */
  #takePlain(text: string): number {
    // Only the parser reads other line ends.
    if (text.includes("\r")) return 0;
    for (let at = 0; ; ) {
      const end = text.indexOf("\n\n", at);
      const event = end < 0 || end - at > this.#maxEventChars ? undefined : toPlainEvent(text, at, end);
      if (event === undefined) return at;
      at = end + 2;
      this.pendingChars = 0;
      this.#pendingLines = 0;
      this.#isLineStart = true;
      this.#hasBegun = true;
      this.#onEvent(event);
    }
  }

  #parse(text: string): void {
    // The parser itself skips a byte order mark.
    const isMarked = !this.#hasBegun && text.startsWith(BYTE_ORDER_MARK);
    this.#parser ??= this.#createParser();
    this.#hasBegun = true;
    this.#keepStray(isMarked ? text.slice(1) : text);
    this.#countLines(text);
    this.#feed(text);
    this.#isBetween = text.endsWith("\n\n");
  }

  /** The parser creates an error for each unknown field; its stack would take ten times as long as the rest. */
  #feed(text: string): void {
    this.#stackTraceLimit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    try {
      this.#parser?.feed(text);
    } finally {
      Error.stackTraceLimit = this.#stackTraceLimit;
    }
  }

  #createParser(): EventSourceParser {
    const parser = createParser({
      maxBufferSize: this.#maxEventChars,
      onEvent: ({ event = "", data }) => {
        this.pendingChars = 0;
        this.#pendingLines = 0;
        Error.stackTraceLimit = this.#stackTraceLimit;
        this.#onEvent({ type: event, data });
        Error.stackTraceLimit = 0;
      },
      onError: ({ type, field, value = "" }) => {
        if (type === "max-buffer-size-exceeded") throw answerTooLarge("maxEventChars", this.#maxEventChars);
        this.#unknownFields += 1;
        if (this.#unknownFields > MAX_UNKNOWN_FIELDS)
          throw new StreamError(`the provider's stream has more than ${MAX_UNKNOWN_FIELDS} unknown fields`, {
            retryable: false,
          });
        // llama.cpp wrote failures into a field of this name, and then the end marker, until its build 6500.
        if (field === "error" && value.startsWith("{")) this.#onEvent({ type: field, data: value });
      },
    });
    // A byte order mark can only come first.
    if (this.#hasBegun) parser.feed("\n");
    return parser;
  }

  /**
   * Counts the lines of an incomplete event, since each takes additional memory. The lines of events of usual size do
   * not count.
   */
  #countLines(text: string): void {
    this.pendingChars += text.length;
    if (this.pendingChars < LARGE_EVENT_CHARS) return;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.#pendingLines += 1;
    if (this.#pendingLines * LINE_CHARS > this.#maxEventChars)
      throw answerTooLarge("maxEventChars", this.#maxEventChars);
  }

  #keepStray(text: string): void {
    if (text === "") return;
    const start = this.#stray === "" ? strayStart(text, this.#isLineStart) : 0;
    const last = text.charCodeAt(text.length - 1);
    this.#isLineStart = last === LF || last === CR;
    if (start >= 0 && this.#stray.length < MAX_STRAY_CHARS)
      this.#stray += text.slice(start, start + MAX_STRAY_CHARS - this.#stray.length);
  }
}

/** Returns an event that is one line of data, optionally after a line with its type. Undefined for any other event. */
function toPlainEvent(text: string, start: number, end: number): SseEvent | undefined {
  let type = "";
  let dataStart = start;
  if (text.startsWith(TYPE, start)) {
    dataStart = text.indexOf("\n", start) + 1;
    type = text.slice(start + TYPE.length, dataStart - 1);
  }
  const isPlain = text.startsWith(DATA, dataStart) && text.indexOf("\n", dataStart) === end;
  const data = text.slice(dataStart + DATA.length, end);
  return isPlain && data !== "" ? { type, data } : undefined;
}

const TYPE = "event: ";
const DATA = "data: ";

const LINE_OF_JSON = /\n[{[]/;
const LINE_OF_JSON_AFTER_CR = /\r[{[]/;

/** Returns the index of the first line that begins with a brace or bracket; -1 if there is none. */
function strayStart(text: string, isLineStart: boolean): number {
  if (isLineStart && (text.startsWith("{") || text.startsWith("["))) return 0;
  const end = text.search(LINE_OF_JSON);
  if (end >= 0) return end + 1;
  return text.includes("\r") ? text.search(LINE_OF_JSON_AFTER_CR) + 1 || -1 : -1;
}
