import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { JsonValue } from "../../kit/json/json.ts";
import type { PartialJsonParser } from "../../kit/json/partial-json.ts";
import { objectParser, unwrap } from "./object-answer.ts";
import type { ObjectFormat } from "./object-format.ts";

/** Growth of the text since the last copy after which a new one is due, as a share. */
const MIN_GROWTH = 1 / 16;

/** Time after which a copy is due regardless of the growth, in milliseconds. */
const MAX_AGE_MS = 250;

/**
 * Follows the events of an answer, and returns the part of its object that has arrived.
 *
 * A copy for every delta would take time and memory quadratic in the answer. Therefore a copy is made when the text has
 * grown by a share of its length, or after some time.
 */
export class PartialObjectReader {
  readonly #parser: PartialJsonParser;
  readonly #format: ObjectFormat;
  /** Part index of the call whose arguments are the object. */
  #callIndex: number | undefined;
  #length = 0;
  #hasChanged = false;
  #copiedLength = 0;
  #copiedAt = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;

  /** @param now A clock in milliseconds. */
  constructor(format: ObjectFormat, now: () => number = () => performance.now()) {
    this.#format = format;
    this.#parser = objectParser(format);
    this.#now = now;
  }

  /** Takes events that arrived together. Returns a copy of the object so far if it has changed and a copy is due. */
  push(events: readonly StreamEvent[]): JsonValue | undefined {
    for (const { event } of events) {
      const piece = this.#getPiece(event);
      if (piece === "") continue;
      this.#length += piece.length;
      if (this.#parser.push(piece)) this.#hasChanged = true;
    }
    return this.#hasChanged && this.#isDue() ? this.#copy() : undefined;
  }

  #isDue(): boolean {
    const growth = this.#length - this.#copiedLength;
    return growth >= this.#copiedLength * MIN_GROWTH || this.#now() - this.#copiedAt >= MAX_AGE_MS;
  }

  #copy(): JsonValue | undefined {
    this.#hasChanged = false;
    this.#copiedLength = this.#length;
    this.#copiedAt = this.#now();
    const written = this.#parser.snapshot();
    return written === undefined ? undefined : unwrap(written, this.#format);
  }

  #getPiece(event: StreamEvent["event"]): string {
    switch (event.case) {
      case "textDelta":
        return this.#format.strategy === "tool" ? "" : event.value.delta;
      case "toolCallStart":
        if (this.#format.strategy === "tool" && event.value.name === this.#format.name)
          this.#callIndex ??= event.value.partIndex;
        return "";
      case "toolCallDelta":
        return event.value.partIndex === this.#callIndex ? event.value.delta : "";
      default:
        return "";
    }
  }
}
