/** Reasoning as a part of a content list (Mistral documentation: "Reasoning", `ThinkChunk`). */
import { type JsonValue, objectsIn, textIn, without } from "../../kit/json/json.ts";
import type { TextPart, ThinkPart } from "../../wire/openai-chat/parts.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { verbatim } from "./verbatim.ts";

/** Joins the pieces in which a stream sends one such part. */
export class ThinkPartCollector {
  readonly #rest: Record<string, JsonValue | undefined> = {};
  readonly #inner: Untrusted<TextPart>[] = [];

  /** Adds the next piece. @returns The text that it adds. */
  add(piece: Untrusted<ThinkPart>): string {
    for (const [key, value] of Object.entries(without(piece, "thinking")))
      if (value !== null) this.#rest[key] = value;
    const inner = getInner(piece.thinking);
    for (const part of inner) this.#addInner(part);
    return inner.map(({ text }) => textIn(text)).join("");
  }

  /** Whether a piece begins another part: the signature of this one has come. */
  isEndedBy(piece: Untrusted<ThinkPart>): boolean {
    const signature = textIn(this.#rest.signature);
    return signature !== "" && signature !== piece.signature && getInner(piece.thinking).length > 0;
  }

  /** The part for the state: without its text, unless it holds more than text. */
  get state(): Untrusted<ThinkPart> {
    return this.#inner.every(isText) ? this.#rest : { ...this.#rest, thinking: this.#inner };
  }

  #addInner(part: Untrusted<TextPart>): void {
    const last = this.#inner.at(-1);
    if (last !== undefined && isText(last) && isText(part))
      this.#inner[this.#inner.length - 1] = { ...last, text: textIn(last.text) + textIn(part.text) };
    else this.#inner.push(part);
  }
}

/** Reports whether a piece has neither reasoning nor a signature. */
export function isEmptyThinkPart({ thinking, signature }: Untrusted<ThinkPart>): boolean {
  return getInner(thinking).length === 0 && textIn(signature) === "";
}

/** Returns the part to send back. @param text The text of the contract's part. */
export function toThinkPart(state: Untrusted<ThinkPart>, text: string): ThinkPart {
  const thinking = state.thinking ?? (text === "" ? [] : [{ type: "text", text }]);
  return verbatim<ThinkPart>({ type: "thinking", thinking, ...without(state, "type", "thinking") });
}

function getInner(thinking: unknown): readonly Untrusted<TextPart>[] {
  return typeof thinking === "string" ? [{ type: "text", text: thinking }] : objectsIn<TextPart>(thinking);
}

function isText({ type }: Untrusted<TextPart>): boolean {
  return type === "text";
}
