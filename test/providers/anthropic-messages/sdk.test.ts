/** Compares raw_json with the message that Anthropic's SDK accumulates from the same stream. */
import { BetaMessageStream } from "@anthropic-ai/sdk/lib/BetaMessageStream";
import { describe, expect, it } from "vitest";
import { MessagesDecoder } from "../../../src/providers/anthropic-messages/stream.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";

/** Recordings that the SDK handles differently on purpose. */
const DIFFERENT = new Map([
  ["duplicate-message-start.sse", "it fails on a repeated message_start"],
  ["spliced-message-start.sse", "it fails too, with a different error"],
  ["overloaded-error-first-event.sse", "a failure has no message"],
  ["overloaded-error-mid-stream.sse", "a failure has no message"],
  ["sdk-incomplete-partial-json-response.sse", "it completes arguments that were cut off"],
]);

const streams = getRecordings("anthropic-messages", ".sse").filter(
  ({ file }) => !DIFFERENT.has(file.slice(file.indexOf("/") + 1)),
);

describe("the message that Anthropic's SDK accumulates from a stream", () => {
  it("has recordings to compare with", () => expect(streams.length).toBeGreaterThan(75));

  it.each(streams)("equals raw_json for $file", async (recording) => {
    const bytes = toBytes(recording);
    const facts = factsFor("anthropic", { model: "claude-test", includeRaw: true });
    const { events } = await decode([bytes], facts, (call, writer) => new MessagesDecoder(call, writer));
    const last = events.at(-1)?.event;
    const raw = last?.case === "finish" ? last.value.response?.rawJson : undefined;
    const message = await BetaMessageStream.fromReadableStream(toLines(bytes)).finalMessage();
    expect(comparable(JSON.parse(raw ?? "null"))).toEqual(comparable(message));
  });
});

/** The events as the SDK reads them from a ReadableStream: one JSON text per line, without pings. */
function toLines(bytes: Buffer): ReadableStream<Uint8Array> {
  const lines = bytes
    .toString("utf8")
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:") && JSON.parse(line.slice(5)).type !== "ping")
    .map((line) => `${line.slice(5).trim()}\n`);
  return new ReadableStream({
    start(controller) {
      for (const line of lines) controller.enqueue(new TextEncoder().encode(line));
      controller.close();
    },
  });
}

/** A message without nulls and empty citations, and without the fields of the SDK's parsed output. */
function comparable(message: unknown): unknown {
  return JSON.parse(
    JSON.stringify(message, (key, value) =>
      value === null || /^parsed(_output)?$/.test(key) || (key === "citations" && value.length === 0)
        ? undefined
        : value,
    ),
  );
}
