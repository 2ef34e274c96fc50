import type { ThinkTags } from "./state.ts";

const OPEN = "<think>";
const CLOSE = "</think>";

/** Where the pieces of a text go that is being split. */
export interface ThinkTagSink {
  readonly thinking: (piece: string) => void;
  readonly text: (piece: string) => void;
}

/**
 * Splits an answer that begins with `<think>…</think>` into thinking and text while it arrives.
 * A tag may be cut anywhere; a text that only looks like one comes out unchanged. White space
 * beside the tags belongs to them: it is kept, so that the answer can be put together again.
 */
export class ThinkTagSplitter {
  readonly #sink: ThinkTagSink;
  #place: "start" | "thinking" | "text" = "start";
  /** What may yet turn out to be (part of) a tag. */
  #held = "";
  #open = "";
  #close = "";
  #isAfterTag = false;

  constructor(sink: ThinkTagSink) {
    this.#sink = sink;
  }

  /** What stood around the thinking so far. */
  get tags(): ThinkTags {
    return { open: this.#open, close: this.#close };
  }

  /** Takes the next piece of the answer. */
  push(piece: string): void {
    switch (this.#place) {
      case "start":
        return this.#pushStart(this.#held + piece);
      case "thinking":
        return this.#pushThinking(this.#held + piece);
      default:
        return this.#emit("text", piece);
    }
  }

  /** Ends the answer: what was held back was no tag. */
  end(): void {
    if (this.#held !== "") this.#emit(this.#place === "thinking" ? "thinking" : "text", this.#held);
    this.#held = "";
  }

  #pushStart(whole: string): void {
    const text = whole.trimStart();
    if (text.startsWith(OPEN)) {
      const end = whole.length - text.length + OPEN.length;
      this.#open = whole.slice(0, end);
      this.#enter("thinking");
      this.#pushThinking(whole.slice(end));
    } else if (OPEN.startsWith(text)) {
      this.#held = whole;
    } else {
      this.#place = "text";
      this.#held = "";
      this.#emit("text", whole);
    }
  }

  #pushThinking(whole: string): void {
    const at = whole.indexOf(CLOSE);
    if (at >= 0) {
      this.#emit("thinking", whole.slice(0, at));
      this.#close = CLOSE;
      this.#enter("text");
      this.#emit("text", whole.slice(at + CLOSE.length));
      return;
    }
    const keep = heldLength(whole);
    this.#emit("thinking", whole.slice(0, whole.length - keep));
    this.#held = whole.slice(whole.length - keep);
  }

  #enter(place: "thinking" | "text"): void {
    this.#place = place;
    this.#held = "";
    this.#isAfterTag = true;
  }

  #emit(place: "thinking" | "text", piece: string): void {
    const rest = this.#isAfterTag ? piece.trimStart() : piece;
    if (this.#isAfterTag) this.#keepSpace(place, piece.slice(0, piece.length - rest.length));
    if (rest === "") return;
    this.#isAfterTag = false;
    this.#sink[place](rest);
  }

  #keepSpace(place: "thinking" | "text", space: string): void {
    if (place === "thinking") this.#open += space;
    else this.#close += space;
  }
}

/** How many characters at the end may be the beginning of the closing tag. */
function heldLength(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length -= 1) {
    if (CLOSE.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
