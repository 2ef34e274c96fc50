/** Audio in an answer (provider documentation: "Audio and speech", `message.audio`). */
import { GrowingText } from "../../core/text.ts";
import { type JsonObject, type JsonValue, textIn, without } from "../../kit/json/json.ts";
import type { AudioDelta } from "../../wire/openai-chat/message.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** Collects the audio of one answer: a stream sends data and transcript in pieces. */
export class AudioCollector {
  readonly #data: string[] = [];
  readonly #transcript = new GrowingText();
  readonly #rest: Record<string, JsonValue | undefined> = {};

  /** Adds the next piece. */
  add(audio: Untrusted<AudioDelta>): void {
    const data = textIn(audio.data);
    if (data !== "") this.#data.push(data);
    this.#transcript.append(textIn(audio.transcript));
    for (const [key, value] of Object.entries(without(audio, ...PIECEWISE)))
      if (value !== null && value !== "") this.#rest[key] = value;
  }

  /** Whether there is no audio: neither an id nor any content. */
  get isEmpty(): boolean {
    return textIn(this.#rest.id) === "" && this.#data.length === 0 && this.#transcript.value === "";
  }

  /** The whole `audio` object. */
  get whole(): JsonObject {
    return { ...this.#rest, data: joinedBase64(this.#data), transcript: this.#transcript.value };
  }
}

/** Fields that arrive in pieces. */
const PIECEWISE: readonly (keyof AudioDelta)[] = ["data", "transcript"];

/** Joins pieces of base64, each of which has its padding. */
function joinedBase64(pieces: readonly string[]): string {
  const [first = "", ...rest] = pieces;
  if (rest.length === 0) return first;
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64"))).toString("base64");
}
