/** Parsers of bodies that are plain text or have an event in each line, for `decodeStream`. */
import { StreamError } from "../../core/errors.ts";
import { answerTooLarge } from "../call/answer-limits.ts";
import type { CreateParser, EventParser } from "./decode-stream.ts";
import type { SseEvent } from "./sse.ts";

/** Makes an event of each read of the body. */
export const parseText: CreateParser = (onEvent) => new TextParser(onEvent);

/** Makes an event of each line, with its line break. The last line need not have one. */
export const parseLines: CreateParser = (onEvent, maxEventChars) => new LineParser(onEvent, maxEventChars);

class TextParser implements EventParser {
  readonly stray = "";
  readonly #utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #onEvent: (event: SseEvent) => void;

  constructor(onEvent: (event: SseEvent) => void) {
    this.#onEvent = onEvent;
  }

  get pendingChars(): number {
    return 0;
  }

  push(chunk: Uint8Array): void {
    this.take(this.#utf8.decode(chunk, { stream: true }));
  }

  /** Throws StreamError if the text ends inside a character: it was cut. */
  end(): void {
    if (this.#utf8.decode() !== "") throw new StreamError("the provider's answer ends within a character");
  }

  protected take(text: string): void {
    this.emit(text);
  }

  protected emit(data: string): void {
    if (data !== "") this.#onEvent({ type: "", data });
  }
}

class LineParser extends TextParser {
  readonly #maxEventChars: number;
  /** The beginning of a line. Never holds a line break. */
  #rest = "";

  constructor(onEvent: (event: SseEvent) => void, maxEventChars: number) {
    super(onEvent);
    this.#maxEventChars = maxEventChars;
  }

  override get pendingChars(): number {
    return this.#rest.length;
  }

  override end(): void {
    super.end();
    this.emit(this.#rest);
    this.#rest = "";
  }

  protected override take(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = this.#rest + text.slice(start, end + 1);
      this.#rest = "";
      start = end + 1;
      this.#check(line.length);
      this.emit(line);
    }
    this.#rest += text.slice(start);
    this.#check(this.#rest.length);
  }

  #check(length: number): void {
    if (length > this.#maxEventChars) throw answerTooLarge("maxEventChars", this.#maxEventChars);
  }
}
