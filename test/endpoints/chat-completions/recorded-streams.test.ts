/** Recorded answers of real providers as chunks: what OpenAI's SDK puts together is what a whole answer holds. */
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import { describe, expect, it } from "vitest";
import { ServerError, StreamError } from "../../../src/core/errors.ts";
import { ChunkWriter } from "../../../src/endpoints/chat-completions/write-events.ts";
import { writeCompletion } from "../../../src/endpoints/chat-completions/write-response.ts";
import { FinishReason_Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import type { ColumnName } from "../../providers/support/columns.ts";
import { readers } from "../../providers/support/recorded-answers.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { callEvents, type ModelEvent, textEvents } from "../responses/support/model-events.ts";

const names: readonly ColumnName[] = ["openai", "anthropic", "gemini", "compatible"];
const recordings = names.flatMap((name) =>
  getRecordings(readers[name].folder, ".sse").map((recording) => ({ name, recording, file: recording.file })),
);

/** A chunk, or the error that ends a stream. */
interface Chunk {
  readonly id?: string;
  readonly choices: readonly {
    readonly delta: Record<string, unknown>;
    readonly finish_reason: string | null;
    readonly logprobs?: { readonly content: readonly object[] } | null;
  }[];
  readonly usage?: unknown;
}

interface CallPiece {
  readonly id?: string;
  readonly function?: { readonly arguments: string };
}

function toLines(text: string): string[] {
  return text
    .split("\n\n")
    .filter((line) => line !== "")
    .map((line) => line.slice("data: ".length));
}

function writeAll(events: readonly StreamEvent[]): string[] {
  const writer = new ChunkWriter(true, new Set());
  return toLines(events.map((event) => writer.write([event])).join(""));
}

async function readWithSdk(
  chunks: readonly Chunk[],
): Promise<{ message: Record<string, unknown>; rest: object }> {
  const { body } = new Response(chunks.map((chunk) => `${JSON.stringify(chunk)}\n`).join(""));
  if (body === null) throw new Error("a response with text has a body");
  const { choices, usage } = await ChatCompletionStream.fromReadableStream(body).finalChatCompletion();
  const [choice] = choices;
  return {
    message: { ...choice?.message },
    rest: { finish_reason: choice?.finish_reason, usage },
  };
}

/** Joins the pieces of a field of all deltas. */
function join(chunks: readonly Chunk[], field: string): string {
  return chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta[field] ?? "")).join("");
}

describe("A recorded stream of a provider as chunks", () => {
  it.each(recordings)("is what the whole answer holds: $file", async ({ name, recording }) => {
    const facts = factsFor(name, { model: "asked-model" });
    const { events } = await decode([toBytes(recording)], facts, readers[name].decoder);
    const last = events.at(-1)?.event;
    if (last?.case !== "finish" || last.value.response === undefined) {
      // `fail` ends such a stream.
      expect(writeAll(events)).not.toContain("[DONE]");
      return;
    }
    const { response } = last.value;
    if (response.finishReason?.reason === FinishReason_Reason.ERROR) {
      expect(() => writeAll(events)).toThrow(ServerError);
      expect(() => writeCompletion(response, new Set())).toThrow(ServerError);
      return;
    }
    const whole = JSON.parse(JSON.stringify(writeCompletion(response, new Set()))).choices[0];
    const lines = writeAll(events);
    expect(lines.at(-1)).toBe("[DONE]");
    const chunks: Chunk[] = lines.slice(0, -1).map((line) => JSON.parse(line));
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks.filter(({ choices }) => choices[0]?.finish_reason != null)).toHaveLength(1);
    const { message } = whole;
    expect(join(chunks, "content")).toBe(message.content ?? "");
    expect(join(chunks, "refusal")).toBe(message.refusal ?? "");
    expect(join(chunks, "reasoning_content")).toBe(message.reasoning_content ?? "");
    for (const field of ["reasoning_details", "images", "annotations"])
      expect(chunks.flatMap(({ choices }) => choices[0]?.delta[field] ?? [])).toEqual(message[field] ?? []);
    // Some clients read it in every piece of a call.
    const pieces = chunks.flatMap(({ choices }) => (choices[0]?.delta.tool_calls ?? []) as object[]);
    expect(pieces.filter((piece) => !("function" in piece || "custom" in piece))).toEqual([]);
    // LangChainGo takes an empty piece for another call. The signature of a call comes in the same read as its input.
    const batch = toLines(new ChunkWriter(true, new Set()).write(events)).slice(0, -1);
    const joined = batch.flatMap(
      (line) => JSON.parse(line).choices[0]?.delta.tool_calls ?? [],
    ) as CallPiece[];
    const empty = joined.filter((piece) => piece.id === undefined && piece.function?.arguments === "");
    if (name === "gemini") expect(empty).toEqual([]);
    const read = await readWithSdk(chunks);
    const calls = (list: unknown) =>
      ((list ?? []) as { type: string; id: string; function?: object; custom?: object }[]).map(
        ({ type, id, function: called, custom }) => ({ type, id, called: called ?? custom }),
      );
    const functions = calls(message.tool_calls).filter(({ type }) => type === "function");
    expect(calls(read.message.tool_calls).filter(({ type }) => type === "function")).toMatchObject(functions);
    expect(read.rest).toMatchObject({ finish_reason: whole.finish_reason });
  });

  it("has the log probabilities of a text after the text, and none of a text without", () => {
    const tokens = [{ token: "a", logprob: -1, top_logprobs: [] }];
    const write = (data: object) => {
      const providerState = { provider: "p", model: "m", dataJson: JSON.stringify(data) };
      const lines = writeAll(
        callEvents([
          ...textEvents(0, "a").slice(0, -1),
          { case: "textEnd", value: { partIndex: 0, text: "a", providerState } },
        ]),
      );
      const chunks: Chunk[] = lines.slice(0, -1).map((line) => JSON.parse(line));
      return chunks.flatMap(({ choices }) => choices[0]?.logprobs ?? []);
    };
    expect(write({ logprobs: tokens })).toEqual([{ content: tokens, refusal: null }]);
    expect(write({})).toEqual([]);
  });

  it("separates the texts of several reasoning parts by a blank line", () => {
    const reasoning = (partIndex: number, text: string): ModelEvent[] => [
      { case: "reasoningStart", value: { partIndex } },
      { case: "reasoningDelta", value: { partIndex, delta: text } },
      { case: "reasoningEnd", value: { partIndex, text } },
    ];
    const lines = writeAll(callEvents([...reasoning(0, "One."), ...reasoning(1, "Two.")]));
    const chunks: Chunk[] = lines.slice(0, -1).map((line) => JSON.parse(line));
    expect(join(chunks, "reasoning_content")).toBe("One.\n\nTwo.");
  });

  it("ends with an error that names the failure", () => {
    const text = new ChunkWriter(false, new Set()).fail(new StreamError("the stream broke off"));
    expect(JSON.parse(toLines(text)[0] ?? "")).toEqual({
      error: { message: "the stream broke off", type: "server_error", param: null, code: "server_error" },
    });
  });
});
