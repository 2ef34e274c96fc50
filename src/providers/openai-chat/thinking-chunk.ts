/** Thinking as a piece of a content list (Mistral documentation: "Reasoning", `ThinkChunk`). */
import { type JsonObject, type JsonValue, objectsIn, textIn, without } from "../../kit/json/json.ts";
import type { ContentChunk } from "./wire.ts";

/** Collects the pieces of one such chunk; a stream sends it in many. */
export class ThinkingChunkCollector {
  #rest: Record<string, JsonValue | undefined> = {};
  readonly #inner: JsonObject[] = [];

  /** Takes the next piece. @returns The text that it adds. */
  add(chunk: ContentChunk): string {
    for (const [key, value] of Object.entries(without(chunk, "thinking")))
      if (value !== null) this.#rest[key] = value;
    const inner = innerOf(chunk.thinking);
    for (const piece of inner) this.#addInner(piece);
    return inner.map(({ text }) => textIn(text)).join("");
  }

  /** The chunk for the state of its part: without its text, unless it holds more than text. */
  get state(): ContentChunk {
    return this.#inner.every(isText) ? this.#rest : { ...this.#rest, thinking: this.#inner };
  }

  #addInner(piece: JsonObject): void {
    const last = this.#inner.at(-1);
    if (last !== undefined && isText(last) && isText(piece))
      this.#inner[this.#inner.length - 1] = { ...last, text: textIn(last.text) + textIn(piece.text) };
    else this.#inner.push(piece);
  }
}

/** Whether a piece has neither thoughts nor a signature. */
export function saysNothing({ thinking, signature }: ContentChunk): boolean {
  return innerOf(thinking).length === 0 && textIn(signature) === "";
}

/** The chunk as it goes back. @param text The text of its part. */
export function thinkingChunkOf(state: ContentChunk, text: string): ContentChunk {
  const inner = state.thinking ?? (text === "" ? [] : [{ type: "text", text }]);
  return { type: "thinking", thinking: inner, ...without(state, "type", "thinking") };
}

function innerOf(thinking: unknown): readonly JsonObject[] {
  return typeof thinking === "string" ? [{ type: "text", text: thinking }] : objectsIn(thinking);
}

function isText({ type }: JsonObject): boolean {
  return type === "text";
}
