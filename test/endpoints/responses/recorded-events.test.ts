import { ResponseStream } from "openai/lib/responses/ResponseStream";
import { describe, expect, it } from "vitest";
import { getSettings } from "../../../src/endpoints/responses/settings.ts";
import { writeRun } from "../../../src/endpoints/responses/write-response.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import type { ColumnName } from "../../providers/support/columns.ts";
import { readers } from "../../providers/support/recorded-answers.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, type Recording, toBytes } from "../../support/recordings.ts";
import { mistakesOfEvent } from "../schemas/validate.ts";
import type { ResponsesEvent } from "../support/events-in.ts";
import { expectWholeStream } from "../support/expect-whole-stream.ts";
import { unpublishedForms } from "../support/unpublished-forms.ts";
import { createRunEvents } from "./support/run-events.ts";
import { runWith, written, writtenBody, writtenByCopy } from "./support/written.ts";

const names: readonly ColumnName[] = ["openai", "anthropic", "gemini", "compatible"];
const recordings = names.flatMap((name) =>
  getRecordings(readers[name].folder, ".sse").map((recording) => ({ name, recording, file: recording.file })),
);
const run = runWith({ reasoning: { effort: "high", summary: "auto" } }, ["reasoning.encrypted_content"]);

async function getEvents(name: ColumnName, recording: Recording): Promise<readonly StreamEvent[]> {
  const facts = factsFor(name, { model: "asked-model" });
  return (await decode([toBytes(recording)], facts, readers[name].decoder)).events;
}

/** The final response, as OpenAI's SDK puts it together from the body of a stream. */
async function readWithSdk(events: readonly ResponsesEvent[]): Promise<unknown> {
  const { body } = new Response(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  if (body === null) throw new Error("a response with text has a body");
  return await ResponseStream.fromReadableStream(body).finalResponse();
}

/** Every text that a stream brought, in order, whatever the field of its item. */
function collectTexts(calls: readonly StreamEvent[]): string {
  return calls
    .map(({ event }) => ("delta" in (event.value ?? {}) ? (event.value as { delta: string }).delta : ""))
    .join("");
}

describe("A recorded stream of a provider as a response", () => {
  it.each(recordings)("is whole, and loses nothing: $file", async ({ name, recording, file }) => {
    const calls = await getEvents(name, recording);
    if (calls.length === 0) return;
    const ended = createRunEvents({ created: run, calls: [calls] });
    const events = written(ended.events, run);
    const last = events.at(-1)?.response as Record<string, unknown>;
    expect(JSON.parse(writeRun(ended.run, getSettings(run)))).toEqual(last);
    const deltas = events.map(({ type, delta }) =>
      type.endsWith(".delta") && !HOSTED.test(type) ? delta : "",
    );
    expect(deltas.join("")).toBe(collectTexts(calls));
    if (calls.at(-1)?.event.case === "error") {
      expect(events.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
      expect(events.flatMap(mistakesOfEvent)).toEqual([]);
      return;
    }
    expectWholeStream(events, unpublishedForms.includes(file) ? () => [] : undefined);
    const { output_text: text, ...response } = (await readWithSdk(events)) as Record<string, unknown>;
    expect(text).toBe(getOutputText(last));
    expect(withoutParsed(response)).toEqual(last);
  });

  it.each(recordings)(
    "is the same in batches of any size, and from every cursor on: $file",
    async ({ name, recording }) => {
      const calls = await getEvents(name, recording);
      if (calls.length === 0) return;
      const { events } = createRunEvents({ created: run, calls: [calls] });
      const whole = writtenBody(events, run);
      for (const size of [1, 2, 7, 64]) expect(writtenBody(events, run, -1, size)).toBe(whole);
      const each = whole.split(/(?<=\n\n)/);
      const cursors = each.length > 60 ? [0, 1, 2, 30, each.length - 2, each.length - 1] : each.keys();
      for (const cursor of cursors)
        expect(writtenBody(events, run, cursor, 3)).toBe(each.slice(cursor + 1).join(""));
    },
  );

  it.each(recordings)(
    "is the same if a copy of its writer continues after any event: $file",
    async ({ name, recording }) => {
      const calls = await getEvents(name, recording);
      if (calls.length === 0) return;
      const { events } = createRunEvents({ created: run, calls: [calls] });
      const whole = writtenBody(events, run);
      const places = events.length > 60 ? [1, 2, 30, events.length - 2] : events.keys();
      for (const place of places) expect(writtenByCopy(events, run, place)).toBe(whole);
    },
  );
});

/** Deltas of texts that arrived whole. */
const HOSTED = /code_interpreter|mcp_call/;

function getOutputText({ output }: Record<string, unknown>): string {
  const items = output as readonly { type: string; content?: readonly { type: string; text?: string }[] }[];
  const messages = items.filter(({ type }) => type === "message");
  return messages.flatMap(({ content = [] }) => content.map(({ text }) => text ?? "")).join("");
}

/** The SDK adds the parsed values. */
function withoutParsed(response: object): unknown {
  return JSON.parse(
    JSON.stringify(response, (key, value) =>
      key === "parsed" || key === "parsed_arguments" || key === "output_parsed" ? undefined : value,
    ),
  );
}
