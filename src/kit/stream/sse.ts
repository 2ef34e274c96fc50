import { StreamError } from "../../core/errors.ts";

/** One server-sent event. */
export interface SseEvent {
  /** The `event:` field; empty where there is none. */
  readonly type: string;
  /** The `data:` lines, joined by line feeds. */
  readonly data: string;
}

/** Maximum size of an event in characters. Large because events can hold images. */
const DEFAULT_MAX_EVENT_CHARS = 64 * 1024 * 1024;

/** Maximum length of `stray`. */
export const MAX_STRAY_CHARS = 64 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const BYTE_ORDER_MARK = 0xfeff;

/**
 * Cuts bytes into server-sent events by the rules of the HTML standard (§9.2.6): CR, LF and
 * CRLF, several data lines, comments, a byte order mark. Bytes may be split anywhere.
 *
 * No byte inside a UTF-8 character looks like a line end. So all whole lines are decoded at once, and only a line that is
 * cut needs a decoder that keeps half characters.
 */
export class SseDecoder {
  readonly #onEvent: (event: SseEvent) => void;
  readonly #maxEventChars: number;
  readonly #cutText = new TextDecoder("utf-8", { ignoreBOM: true });
  /** The beginning of a line that is cut; undefined where the last line is whole. */
  #cut: string | undefined;
  /** Whether the cut line may be a field that is needed. */
  #isCutRead = false;
  /** Whether a LF at the start of the next bytes belongs to the CR at the end of those before. */
  #endsInCr = false;
  #hasBegun = false;
  #type = "";
  /** Undefined before the first data line of an event. */
  #data: string | undefined;
  #stray = "";

  constructor(onEvent: (event: SseEvent) => void, maxEventChars: number = DEFAULT_MAX_EVENT_CHARS) {
    this.#onEvent = onEvent;
    this.#maxEventChars = maxEventChars;
  }

  /** Takes the next bytes. Throws StreamError where an event is larger than the limit, and what `onEvent` throws. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    const bytes = bufferOf(chunk);
    const end = endOfLines(bytes);
    if (end > 0) this.#readLines(this.#textOf(bytes, end));
    if (end < bytes.length) this.#keepCut(this.#cutText.decode(bytes.subarray(end), { stream: true }));
    this.#endsInCr = bytes[bytes.length - 1] === CR;
    this.#checkSize();
  }

  /**
   * Text from the first line that begins with a brace or bracket: not an event but JSON that a server wrote directly into
   * the stream, as some do with an error. Empty where there is none; at most `MAX_STRAY_CHARS`.
   */
  get stray(): string {
    return this.#stray;
  }

  /**
   * Called once after the last byte. A last event without its closing blank line is delivered
   * too, although the standard would drop it: some servers omit the blank line. An event that was
   * cut in the middle is not valid JSON, which its parser detects.
   */
  end(): void {
    this.#keepCut(this.#cutText.decode());
    const last = this.#cut ?? "";
    this.#readLine(last, 0, last.length);
    this.#dispatch();
  }

  /** The text of the bytes up to the end of a line. */
  #textOf(bytes: Buffer, end: number): string {
    return this.#cut === undefined
      ? bytes.toString("utf8", 0, end)
      : this.#cutText.decode(bytes.subarray(0, end));
  }

  #withoutMark(text: string): string {
    if (this.#hasBegun || text === "") return text;
    this.#hasBegun = true;
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }

  /** Reads whole lines. @param text The new text, up to the end of the last line. */
  #readLines(text: string): void {
    const added = this.#withoutMark(text);
    if (this.#stray !== "") this.#keepStray(added);
    const lines = this.#cut === undefined ? added : this.#cut + added;
    this.#cut = undefined;
    let start = this.#endsInCr && lines.charCodeAt(0) === LF ? 1 : 0;
    let lf = placeOf("\n", lines, start);
    let cr = placeOf("\r", lines, start);
    while (start < lines.length) {
      const end = Math.min(lf, cr);
      this.#readLine(lines, start, end);
      start = end + 1;
      if (end === cr) {
        if (lines.charCodeAt(start) === LF) start += 1;
        cr = placeOf("\r", lines, start);
      }
      if (lf < start) lf = placeOf("\n", lines, start);
    }
  }

  #readLine(lines: string, start: number, end: number): void {
    if (start === end) return this.#dispatch();
    switch (lines.charCodeAt(start)) {
      case 0x64: // d
        if (isField("data", lines, start, end)) this.#addData(valueIn("data", lines, start, end));
        return;
      case 0x65: // e
        if (isField("event", lines, start, end)) this.#type = valueIn("event", lines, start, end);
        return;
      case 0x5b: // [
      case 0x7b: // {
        if (this.#stray === "") this.#keepStray(lines.slice(start));
    }
  }

  /** Keeps the beginning of a cut line. The first character is enough to see that a line is not needed. */
  #keepCut(text: string): void {
    const added = this.#withoutMark(text);
    const isBeginning = !this.#cut;
    if (isBeginning) this.#isCutRead = /^[de]/.test(added);
    if (this.#stray !== "" || (isBeginning && /^[[{]/.test(added))) this.#keepStray(added);
    if (isBeginning) this.#cut = this.#isCutRead ? added : added.slice(0, 1);
    else if (this.#isCutRead) this.#cut += added;
  }

  #keepStray(text: string): void {
    this.#stray += text.slice(0, MAX_STRAY_CHARS - this.#stray.length);
  }

  #addData(value: string): void {
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }

  #dispatch(): void {
    const type = this.#type;
    const data = this.#data;
    this.#type = "";
    this.#data = undefined;
    if (data !== undefined) this.#onEvent({ type, data });
  }

  #checkSize(): void {
    const chars = (this.#cut?.length ?? 0) + (this.#data?.length ?? 0);
    if (chars <= this.#maxEventChars) return;
    throw new StreamError("an event of the provider's stream is larger than the limit", { retryable: false });
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Index after the last line end; 0 where there is none. */
function endOfLines(bytes: Buffer): number {
  if (bytes[bytes.length - 1] === LF) return bytes.length;
  return Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1;
}

/** Index of a character; the length of the text where it is absent. */
function placeOf(character: string, text: string, from: number): number {
  const place = text.indexOf(character, from);
  return place < 0 ? text.length : place;
}

/** Whether a line is a field of a name. It may lack colon and value. */
function isField(name: string, lines: string, start: number, end: number): boolean {
  if (!lines.startsWith(name, start)) return false;
  const behind = start + name.length;
  return behind === end || lines[behind] === ":";
}

/** The value of a field. One space belongs to the colon. */
function valueIn(name: string, lines: string, start: number, end: number): string {
  const from = start + name.length + 1;
  return lines.slice(lines.charCodeAt(from) === SPACE ? from + 1 : from, end);
}
