/** The SSE decoder compared with eventsource-parser alone over the whole text at once. */
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SseDecoder, type SseEvent } from "../../../src/kit/stream/sse.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";

const FOLDERS = ["openai-responses", "anthropic-messages", "gemini", "openai-chat"];

/**
 * The events in a stream, as eventsource-parser reads them. The decoder under test delivers an event that lacks its
 * blank line too.
 */
function peerEvents(bytes: Uint8Array): SseEvent[] {
  const events: SseEvent[] = [];
  const parser = createParser({
    onEvent: ({ event: type = "", data }) => events.push({ type, data }),
  });
  // The parser removes one byte order mark itself.
  parser.feed(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
  parser.feed("\n\n");
  return events;
}

/** The text from the first line that starts with a brace or bracket, found in the text as a whole. */
function peerStray(bytes: Uint8Array): string {
  const [, , stray = ""] = /(^|[\r\n])([[{].*)/s.exec(new TextDecoder().decode(bytes)) ?? [];
  return stray;
}

function read(chunks: Iterable<Uint8Array>): { events: SseEvent[]; stray: string } {
  const events: SseEvent[] = [];
  const decoder = new SseDecoder((event) => events.push(event));
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return { events, stray: decoder.stray };
}

/** Bytes cut into chunks of the given sizes, in turn; some chunks may be empty. */
function splitChunks(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

/** Streams made of the words that mean something to a decoder, of text, and of bytes that are not text. */
const streams = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom("\n", "\r", "\r\n", "\n\n", "\r\n\r\n") },
      {
        weight: 6,
        arbitrary: fc.constantFrom("data:", "data: ", "event:", "event: ", "data", "event", "da"),
      },
      { weight: 4, arbitrary: fc.constantFrom("id: 1", "retry: 5", ": hello", "dataset: 1", "x", " ", ":") },
      { weight: 3, arbitrary: fc.constantFrom("é", "€", "😀", "\ufeff", '{"a":1}', "[1]", "{") },
      { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 8 }) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 4 }) },
    ),
    { maxLength: 40 },
  )
  .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part))));

const sizes = fc
  .array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 8 })
  .filter((list) => list.some((size) => size > 0));

describe("SseDecoder compared with eventsource-parser", () => {
  it("reads the same events and stray text in any bytes, however they are cut", () => {
    fc.assert(
      fc.property(streams, sizes, (bytes, cut) => {
        const want = { events: peerEvents(bytes), stray: peerStray(bytes) };
        expect(read([bytes])).toEqual(want);
        expect(read(splitChunks(bytes, cut))).toEqual(want);
        expect(read(splitChunks(bytes, [1]))).toEqual(want);
      }),
      { seed: 21, numRuns: 2000 },
    );
  });

  it.each(FOLDERS)("reads the same events in all recordings of %s", (folder) => {
    for (const recording of getRecordings(folder, ".sse")) {
      const bytes = toBytes(recording);
      const want = peerEvents(bytes);
      expect(read([bytes]).events).toEqual(want);
      expect(read(splitChunks(bytes, [700, 1, 40, 3])).events).toEqual(want);
    }
  });
});
