/** Takes the value out of the objects that a model had to write because its API allows no other answers. */
import type { Batches } from "../../core/batches.ts";
import type { Citation, ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import { WrappedText } from "../json/wrapped-text.ts";

/** Takes the value out of each text of a whole answer. @param member Name of the member with the value. */
export function unwrapResponse(response: Response, member: string): Response {
  for (const part of response.message?.content ?? []) unwrapPart(part, member);
  return response;
}

function unwrapPart(part: ContentPart, member: string): void {
  if (part.part.case !== "text") return;
  const { text, removedChars } = unwrapText(part.part.value, member);
  part.part.value = text;
  part.citations = moveCitations(part.citations, removedChars);
}

function unwrapText(wrapped: string, member: string): { text: string; removedChars: number } {
  const reader = new WrappedText(member);
  const text = reader.push(wrapped) + reader.end();
  return { text, removedChars: reader.removedChars };
}

function moveCitations(citations: readonly Citation[], chars: number): Citation[] {
  return citations.map((citation) => {
    const { startIndex, endIndex } = citation;
    if (startIndex === undefined || endIndex === undefined) return citation;
    return {
      ...citation,
      startIndex: Math.max(0, startIndex - chars),
      endIndex: Math.max(0, endIndex - chars),
    };
  });
}

/**
 * Takes the value out of each text of a stream while it arrives. The events are numbered again, since deltas with
 * nothing but the wrapper are left out.
 * @param member Name of the member with the value.
 */
export async function* unwrapEvents(
  batches: Batches<StreamEvent>,
  member: string,
): AsyncGenerator<readonly StreamEvent[]> {
  const unwrapper = new EventUnwrapper(member);
  for await (const batch of batches) {
    const unwrapped = unwrapper.push(batch);
    if (unwrapped.length > 0) yield unwrapped;
  }
}

class EventUnwrapper {
  readonly #member: string;
  /** The texts that have begun, by the indices of their parts. */
  readonly #texts = new Map<number, WrappedText>();
  #sequence = 0;
  #events: StreamEvent[] = [];

  constructor(member: string) {
    this.#member = member;
  }

  push(batch: readonly StreamEvent[]): readonly StreamEvent[] {
    this.#events = [];
    for (const event of batch) this.#take(event);
    return this.#events;
  }

  #take(whole: StreamEvent): void {
    const { event } = whole;
    switch (event.case) {
      case "textStart":
        this.#texts.set(event.value.partIndex, new WrappedText(this.#member));
        return this.#add(whole);
      case "textDelta":
        return this.#addDelta(whole, event.value.partIndex, this.#readText(event.value));
      case "textEnd": {
        const { partIndex } = event.value;
        this.#addDelta(whole, partIndex, this.#texts.get(partIndex)?.end() ?? "");
        this.#texts.delete(partIndex);
        const { text, removedChars } = unwrapText(event.value.text, this.#member);
        const citations = moveCitations(event.value.citations, removedChars);
        return this.#add(whole, { case: "textEnd", value: { ...event.value, text, citations } });
      }
      case "finish":
        if (event.value.response !== undefined) unwrapResponse(event.value.response, this.#member);
        return this.#add(whole);
      default:
        return this.#add(whole);
    }
  }

  #readText({ partIndex, delta }: { readonly partIndex: number; readonly delta: string }): string {
    return this.#texts.get(partIndex)?.push(delta) ?? delta;
  }

  #addDelta(whole: StreamEvent, partIndex: number, delta: string): void {
    if (delta === "") return;
    const value = { $typeName: "outrigger.v1.TextDelta", partIndex, delta } as const;
    this.#add(whole, { case: "textDelta", value });
  }

  #add(whole: StreamEvent, event: StreamEvent["event"] = whole.event): void {
    this.#events.push({ ...whole, event, sequence: this.#sequence });
    this.#sequence += 1;
  }
}
