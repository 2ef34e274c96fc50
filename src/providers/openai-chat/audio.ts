/** A spoken answer (provider documentation: "Audio and speech", `message.audio`). */
import { type JsonObject, type JsonValue, textIn, without } from "../../kit/json/json.ts";

/** Collects the pieces of a spoken answer: a stream sends its sound and its transcript in many. */
export class AudioCollector {
  /** Place of the part in the message. */
  readonly partIndex: number;
  readonly #data: string[] = [];
  #transcript = "";
  #rest: Record<string, JsonValue | undefined> = {};

  constructor(partIndex: number) {
    this.partIndex = partIndex;
  }

  /** Takes the next piece. */
  add(audio: JsonObject): void {
    const data = textIn(audio.data);
    if (data !== "") this.#data.push(data);
    this.#transcript += textIn(audio.transcript);
    for (const [key, value] of Object.entries(without(audio, "data", "transcript")))
      if (value !== null) this.#rest[key] = value;
  }

  /** The whole of it. */
  get whole(): JsonObject {
    return { ...this.#rest, data: joinedBase64(this.#data), transcript: this.#transcript };
  }
}

/** Each piece is base64 on its own, with padding. */
function joinedBase64(pieces: readonly string[]): string {
  const [first = "", ...rest] = pieces;
  if (rest.length === 0) return first;
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64"))).toString("base64");
}
