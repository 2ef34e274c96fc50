import { GrowingText } from "../../core/text.ts";
import type { ThinkTags } from "./state.ts";

/** The name of a tag around reasoning: the one most models use, or Gemini's ("OpenAI compatibility"). */
export type ThinkTagName = "think" | "thought";

/** Receives the pieces of a text that is being split. */
export interface ThinkTagSink {
  readonly reasoning: (piece: string) => void;
  readonly text: (piece: string) => void;
}

/**
 * Splits an answer that begins with a tag, as in `<think>…</think>`, into reasoning and text while it arrives. A tag
 * may be split anywhere; a text that only resembles one is unchanged. White space next to the tags belongs to them: it
 * is kept, so that the answer can be restored.
 */
export class ThinkTagSplitter {
  readonly #sink: ThinkTagSink;
  readonly #openTag: string;
  readonly #closeTag: string;
  #phase: "start" | "reasoning" | "text" = "start";
  /** White space at the beginning of the answer. */
  readonly #lead = new GrowingText();
  /** Text that may still become (part of) a tag. */
  #held = "";
  readonly #open = new GrowingText();
  readonly #close = new GrowingText();
  #isAfterTag = false;

  constructor(sink: ThinkTagSink, name: ThinkTagName = "think") {
    this.#sink = sink;
    this.#openTag = `<${name}>`;
    this.#closeTag = `</${name}>`;
  }

  /** The tags around the reasoning so far. */
  get tags(): ThinkTags {
    return { open: this.#open.value, close: this.#close.value };
  }

  /** Adds the next piece of the answer. */
  push(piece: string): void {
    switch (this.#phase) {
      case "start":
        return this.#pushStart(piece);
      case "reasoning":
        return this.#pushReasoning(this.#held + piece);
      default:
        return this.#emit("text", piece);
    }
  }

  /** Ends the answer: text that was held back was not a tag. */
  end(): void {
    const held = this.#phase === "start" ? this.#lead.value + this.#held : this.#held;
    if (held !== "") this.#emit(this.#phase === "reasoning" ? "reasoning" : "text", held);
    this.#held = "";
  }

  #pushStart(piece: string): void {
    const rest = this.#held === "" ? piece.trimStart() : piece;
    if (rest.length < piece.length) this.#lead.append(piece.slice(0, piece.length - rest.length));
    const text = this.#held + rest;
    if (text.startsWith(this.#openTag)) {
      this.#open.append(this.#lead.value + this.#openTag);
      this.#enter("reasoning");
      this.#pushReasoning(text.slice(this.#openTag.length));
    } else if (this.#openTag.startsWith(text)) {
      this.#held = text;
    } else {
      this.#phase = "text";
      this.#held = "";
      this.#emit("text", this.#lead.value + text);
    }
  }

  #pushReasoning(whole: string): void {
    const at = whole.indexOf(this.#closeTag);
    if (at >= 0) {
      this.#emit("reasoning", whole.slice(0, at));
      this.#close.append(this.#closeTag);
      this.#enter("text");
      this.#emit("text", whole.slice(at + this.#closeTag.length));
      return;
    }
    const keep = heldLength(whole, this.#closeTag);
    this.#emit("reasoning", whole.slice(0, whole.length - keep));
    this.#held = whole.slice(whole.length - keep);
  }

  #enter(phase: "reasoning" | "text"): void {
    this.#phase = phase;
    this.#held = "";
    this.#isAfterTag = true;
  }

  #emit(phase: "reasoning" | "text", piece: string): void {
    const rest = this.#isAfterTag ? piece.trimStart() : piece;
    if (this.#isAfterTag) this.#keepSpace(phase, piece.slice(0, piece.length - rest.length));
    if (rest === "") return;
    this.#isAfterTag = false;
    this.#sink[phase](rest);
  }

  #keepSpace(phase: "reasoning" | "text", space: string): void {
    if (phase === "reasoning") this.#open.append(space);
    else this.#close.append(space);
  }
}

/** Counts the characters at the end that may be the beginning of the closing tag. */
function heldLength(text: string, closeTag: string): number {
  for (let length = Math.min(closeTag.length - 1, text.length); length > 0; length -= 1) {
    if (closeTag.startsWith(text.slice(-length))) return length;
  }
  return 0;
}
