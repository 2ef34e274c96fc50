/** Recorded answers of real providers as events: together they are what a whole answer holds, and can be sent back. */
import type { GenerateContentResponse, Part } from "@google/genai";
import { describe, expect, it } from "vitest";
import { ServerError, StreamError } from "../../../src/core/errors.ts";
import { readRequest } from "../../../src/endpoints/gemini/read-request.ts";
import { GenerationWriter, type StreamForm } from "../../../src/endpoints/gemini/write-events.ts";
import { type AnswerForm, writeAnswer } from "../../../src/endpoints/gemini/write-response.ts";
import type { ContentPart } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import type { ColumnName } from "../../providers/support/columns.ts";
import { readers } from "../../providers/support/recorded-answers.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { callEvents, textEvents } from "../responses/support/model-events.ts";
import { createDirectory } from "../support/directory.ts";

const names: readonly ColumnName[] = ["openai", "anthropic", "gemini", "compatible"];
const recordings = names.flatMap((name) =>
  getRecordings(readers[name].folder, ".sse").map((recording) => ({ name, recording, file: recording.file })),
);

const models = createDirectory({
  providers: new Map([
    ["openai", "openai-responses"],
    ["anthropic", "anthropic-messages"],
    ["gemini", "gemini"],
    ["compatible", "openai-chat"],
  ]),
});

function toForm(gemini = "", includeThoughts = true): AnswerForm {
  return { gemini, includeThoughts };
}

function write(events: readonly StreamEvent[], answers = toForm(), form: StreamForm = "events"): string {
  const writer = new GenerationWriter(answers, form);
  return events.map((event) => writer.write([event])).join("");
}

function toChunks(text: string): GenerateContentResponse[] {
  return text
    .split("\r\n\r\n")
    .filter((event) => event !== "")
    .map((event) => JSON.parse(event.slice("data: ".length)));
}

function getParts({ candidates }: GenerateContentResponse): readonly Part[] {
  return candidates?.[0]?.content?.parts ?? [];
}

/** The parts with texts that continue each other joined, as far as nothing signs them. */
function joined(parts: readonly Part[]): Part[] {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    const isOpen = last?.text !== undefined && last.thoughtSignature === undefined;
    if (isOpen && part.text !== undefined && last.thought === part.thought)
      all.splice(-1, 1, { ...last, ...part, text: `${last.text}${part.text}` });
    else if (part.text !== "" || part.thoughtSignature !== undefined) all.push(part);
  }
  return all;
}

/** The facts of an answer that a conversation needs. */
function getFacts(content: readonly ContentPart[]): object {
  const reasoning = content.filter(({ part }) => part.case === "reasoning");
  return {
    text: content.map(({ part }) => (part.case === "text" ? part.value : "")).join(""),
    reasoning: reasoning.map(({ part }) => (part.case === "reasoning" ? part.value.text : "")).join(""),
    states: reasoning.filter(({ providerState }) => providerState !== undefined).length,
    calls: content.flatMap(({ part }) =>
      part.case === "toolCall" ? [[part.value.id, part.value.name]] : [],
    ),
  };
}

describe("A recorded stream of a provider as events of the Gemini API", () => {
  it.each(recordings)("is what the whole answer holds: $file", async ({ name, recording }) => {
    const gemini = name === "gemini" ? name : "";
    const form = toForm(gemini);
    const facts = factsFor(name, { model: "asked-model" });
    const { events } = await decode([toBytes(recording)], facts, readers[name].decoder);
    const last = events.at(-1)?.event;
    if (last?.case !== "finish" || last.value.response === undefined) {
      // `fail` ends such a stream.
      expect(write(events)).not.toContain("finishReason");
      return;
    }
    const { response } = last.value;
    if (response.finishReason?.reason === FinishReason_Reason.ERROR && gemini === "") {
      expect(() => write(events)).toThrow(ServerError);
      expect(() => writeAnswer(response, form)).toThrow(ServerError);
      return;
    }
    const chunks = toChunks(write(events, form));
    const whole: GenerateContentResponse = JSON.parse(JSON.stringify(writeAnswer(response, form)));
    const parts = chunks.flatMap(getParts);
    expect(joined(parts)).toEqual(joined(getParts(whole)));
    const [candidate] = chunks.at(-1)?.candidates ?? [];
    expect({ ...candidate, content: undefined }).toEqual({ ...whole.candidates?.[0], content: undefined });
    expect(chunks.at(-1)?.usageMetadata).toEqual(whole.usageMetadata);
    expect(chunks.slice(0, -1).some(({ candidates }) => candidates?.[0]?.finishReason)).toBe(false);
    expect(JSON.parse(write(events, form, "list"))).toEqual(chunks);
    // A client returns each event as a content.
    const contents = [
      ...chunks.map((chunk) => chunk.candidates?.[0]?.content),
      { parts: [{ text: "Go on." }] },
    ];
    const body = Buffer.from(JSON.stringify({ contents }));
    const { request } = readRequest(body, { models, model: `${name}/asked-model`, isStreamed: false });
    const content = request.messages.length === 2 ? (request.messages[0]?.content ?? []) : [];
    expect(getFacts(content)).toEqual(getFacts(response.message?.content ?? []));
  });

  it.each(recordings)("has no thoughts unless they are asked for: $file", async ({ name, recording }) => {
    const form = toForm(name === "gemini" ? name : "", false);
    const facts = factsFor(name, { model: "asked-model" });
    const { events } = await decode([toBytes(recording)], facts, readers[name].decoder);
    const last = events.at(-1)?.event;
    if (last?.case !== "finish" || last.value.response?.finishReason?.reason === FinishReason_Reason.ERROR)
      return;
    const parts = toChunks(write(events, form)).flatMap(getParts);
    expect(parts.filter(({ thought, text }) => thought === true && text !== "")).toEqual([]);
    const whole = JSON.parse(JSON.stringify(writeAnswer(last.value.response ?? expect.fail(), form)));
    expect(joined(parts)).toEqual(joined(getParts(whole)));
    // What the provider needs back is there nevertheless, with its text.
    const contents = [{ role: "model", parts }, { parts: [{ text: "Go on." }] }];
    const body = Buffer.from(JSON.stringify({ contents }));
    if (name === "gemini") return; // Its thoughts have no state.
    const { request } = readRequest(body, { models, model: `${name}/asked-model`, isStreamed: false });
    const returned = request.messages.length === 2 ? (request.messages[0]?.content ?? []) : [];
    const isNeeded = ({ part, providerState }: ContentPart) =>
      part.case === "reasoning" && providerState !== undefined;
    const sent = getFacts((last.value.response?.message?.content ?? []).filter(isNeeded));
    // An item of OpenAI has the text itself.
    expect(getFacts(returned.filter(isNeeded))).toEqual(
      name === "openai" ? { ...sent, reasoning: "" } : sent,
    );
  });

  it("ends with the failure after the other events of a batch that ends with it", () => {
    const writer = new GenerationWriter(toForm(), "list");
    const batch = callEvents(textEvents(0, "Half"), FinishReason_Reason.ERROR);
    expect(() => writer.write(batch)).toThrow(ServerError);
    const parts = [{ text: "Half" }];
    expect(JSON.parse(writer.fail(new ServerError("it failed")))).toMatchObject([
      { candidates: [{ content: { parts } }] },
      { error: { message: "it failed" } },
    ]);
    expect(writer.write([])).toBe("");
  });

  it("ends with an error that names the failure, and never as a complete answer", () => {
    const error = new StreamError("the stream broke off");
    const body = { code: 502, message: "the stream broke off", status: "UNAVAILABLE" };
    const list = new GenerationWriter(toForm(), "list").fail(error);
    expect(JSON.parse(list)).toMatchObject([{ error: body }]);
    const [event = "", plain = ""] = new GenerationWriter(toForm(), "events").fail(error).split("\r\n\r\n");
    expect(event).toBe(`data: ${plain}`);
    expect(JSON.parse(plain)).toMatchObject({ error: body });
  });
});
