/** Streams that add nothing to the answer yet: their decoders keep what came until the part or the answer ends. */
import { describe, expect, it } from "vitest";
import { decodeStream } from "../../src/kit/stream/decode-stream.ts";
import { StreamWriter } from "../../src/kit/stream/stream-writer.ts";
import { factsFor } from "../support/decode.ts";
import type { ColumnName } from "./support/columns.ts";
import { readers } from "./support/recorded-answers.ts";

const EVENTS = 100;
const LONG = "y".repeat(2000);

interface Row {
  readonly provider: ColumnName;
  readonly what: string;
  readonly head?: string;
  readonly piece: (index: number) => object;
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

/** An event of Chat Completions. */
const chunk = (delta: object) => ({ model: "m", choices: [{ index: 0, delta }] });

/** The beginning of an answer of the Messages API, with one block. */
function begin(block: object): string {
  const message = { id: "a", type: "message", role: "assistant", model: "m", content: [], usage: {} };
  return (
    event({ type: "message_start", message }) +
    event({ type: "content_block_start", index: 0, content_block: block })
  );
}

const blockDelta = (delta: object) => ({ type: "content_block_delta", index: 0, delta });
const gemini = (candidate: object) => ({ modelVersion: "m", candidates: [candidate] });
const part = (fields: object) => ({ content: { role: "model", parts: [fields] } });
const created = event({ type: "response.created", response: { id: "r", model: "m" } });

const ROWS: readonly Row[] = [
  {
    provider: "compatible",
    what: "arguments of a call without a name",
    piece: () => chunk({ tool_calls: [{ index: 0, function: { arguments: LONG } }] }),
  },
  {
    provider: "compatible",
    what: "fields of a call",
    head: event(chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "{" } }] })),
    piece: (index) => chunk({ tool_calls: [{ index: 0, [`field${index}`]: LONG }] }),
  },
  { provider: "compatible", what: "metadata", piece: (index) => ({ ...chunk({}), [`fact${index}`]: LONG }) },
  { provider: "compatible", what: "audio", piece: () => chunk({ audio: { id: "a", data: LONG } }) },
  {
    provider: "compatible",
    what: "details of the reasoning",
    piece: (index) => chunk({ reasoning_details: [{ type: "reasoning.encrypted", data: LONG, index }] }),
  },
  {
    provider: "compatible",
    what: "blocks of thinking",
    piece: (index) => chunk({ thinking_blocks: [{ type: "redacted_thinking", data: `${LONG}${index}` }] }),
  },
  {
    provider: "compatible",
    what: "citations",
    piece: (index) =>
      chunk({ annotations: [{ type: "url_citation", url_citation: { url: `${LONG}${index}` } }] }),
  },
  {
    provider: "compatible",
    what: "log probabilities",
    head: event(chunk({ content: "a" })),
    piece: () => ({
      model: "m",
      choices: [{ index: 0, delta: {}, logprobs: { content: [{ token: LONG, logprob: -1 }] } }],
    }),
  },
  {
    provider: "compatible",
    what: "counts",
    piece: (index) => ({ model: "m", choices: [], usage: { [`count${index}`]: LONG } }),
  },
  {
    provider: "compatible",
    what: "fields without a unified form",
    piece: (index) => chunk({ executed_tools: [{ index, output: LONG }] }),
  },
  {
    provider: "compatible",
    what: "reasoning items",
    piece: () => chunk({ reasoning_items: [{ data: LONG }] }),
  },
  {
    provider: "anthropic",
    what: "input of a hosted tool",
    head: begin({ type: "server_tool_use", id: "s", name: "web_search", input: {} }),
    piece: () => blockDelta({ type: "input_json_delta", partial_json: LONG }),
  },
  {
    provider: "anthropic",
    what: "citations",
    head: begin({ type: "text", text: "" }),
    piece: () =>
      blockDelta({ type: "citations_delta", citation: { type: "char_location", cited_text: LONG } }),
  },
  {
    provider: "anthropic",
    what: "fields of a block",
    head: begin({ type: "compaction" }),
    piece: (index) => blockDelta({ type: "compaction_delta", [`field${index}`]: LONG }),
  },
  {
    provider: "anthropic",
    what: "fields of the message",
    head: begin({ type: "text", text: "" }),
    piece: (index) => ({ type: "message_delta", delta: {}, [`field${index}`]: LONG }),
  },
  {
    provider: "openai",
    what: "arguments of a call without a name",
    head:
      created +
      event({
        type: "response.output_item.added",
        output_index: 0,
        item: { type: "function_call", id: "f" },
      }),
    piece: () => ({ type: "response.function_call_arguments.delta", output_index: 0, delta: LONG }),
  },
  {
    provider: "openai",
    what: "items",
    head: created,
    piece: (index) => ({
      type: "response.output_item.added",
      output_index: index,
      item: { type: "web_search_call", id: `w${index}`, action: LONG },
    }),
  },
  {
    provider: "gemini",
    what: "sources",
    head: event(gemini(part({ text: "a" }))),
    piece: (index) => gemini({ [`field${index}`]: LONG }),
  },
  {
    provider: "gemini",
    what: "fields of a call",
    head: event(gemini(part({ functionCall: { name: "f", willContinue: true } }))),
    piece: (index) => gemini(part({ functionCall: { willContinue: true, [`field${index}`]: LONG } })),
  },
];

/** Decodes a stream that is cut off. Returns the memory that its answer was counted with, in bytes. */
async function measure({ provider, head = "", piece }: Row): Promise<number> {
  const facts = factsFor(provider, { model: "m" });
  const writer = new StreamWriter(facts, () => 0);
  async function* read() {
    yield Buffer.from(head);
    for (let index = 0; index < EVENTS; index += 1) yield Buffer.from(event(piece(index)));
  }
  const readAll = async () => {
    for await (const _ of decodeStream(read(), readers[provider].decoder(facts, writer), writer));
  };
  await expect(readAll()).rejects.toThrow("ended before its end marker");
  return writer.keptChars;
}

describe("the memory of an answer", () => {
  it.each(ROWS)("counts what is kept of a stream: $what, $provider", async (row) => {
    const taken = await measure(row);
    expect(taken).toBeGreaterThan((EVENTS - 1) * LONG.length);
    expect(taken).toBeLessThan(3 * EVENTS * LONG.length);
  });

  it("counts an event so large that any field of it would matter", async () => {
    const piece = (index: number) => ({ id: "y".repeat(50_000 + index), model: "m", choices: [] });
    expect(await measure({ provider: "compatible", what: "", piece })).toBeGreaterThan(99 * 50_000);
  });

  it("counts a list once that each event repeats", async () => {
    const piece = () => chunk({ content: "a", documents: [{ text: LONG }] });
    expect(await measure({ provider: "compatible", what: "", piece })).toBeLessThan(3 * LONG.length);
  });

  it("does not count events that only carry text, beyond their text", async () => {
    const piece = () => ({ ...chunk({ content: "text" }), system_fingerprint: "f".repeat(1000) });
    expect(await measure({ provider: "compatible", what: "", piece })).toBeLessThan(10 * 1024);
  });
});
