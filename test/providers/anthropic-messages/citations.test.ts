import { describe, expect, it } from "vitest";
import type { Citation } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { toResponse } from "../../../src/providers/anthropic-messages/response.ts";
import { MessagesDecoder } from "../../../src/providers/anthropic-messages/stream.ts";
import { decode, factsFor } from "../../support/decode.ts";

const TEXT = "東京の天気は晴れ 🌞 です。";

/** Their indices count in the source, not in the text of the answer. */
const CITATIONS = [
  {
    type: "char_location",
    cited_text: "晴れ 🌞",
    document_index: 0,
    document_title: "天気",
    file_id: null,
    start_char_index: 2,
    end_char_index: 6,
  },
  {
    type: "page_location",
    cited_text: "Сегодня 🌧",
    document_index: 1,
    document_title: null,
    file_id: "file_1",
    start_page_number: 1,
    end_page_number: 2,
  },
];

const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-opus-5" };

function wholeCitations(): readonly Citation[] {
  const facts = factsFor("anthropic", { model: "claude-opus-5" });
  const content = [{ type: "text", text: TEXT, citations: CITATIONS }];
  const body = JSON.stringify({ ...message, content, stop_reason: "end_turn" });
  const response = toResponse(body, facts);
  return response.message?.content[0]?.citations ?? [];
}

async function streamedCitations(): Promise<readonly Citation[]> {
  const events = [
    { type: "message_start", message: { ...message, content: [] } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "", citations: [] } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: TEXT } },
    ...CITATIONS.map((citation) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "citations_delta", citation },
    })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ];
  const bytes = Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  const facts = factsFor("anthropic", { model: "claude-opus-5" });
  const result = await decode([bytes], facts, (call, writer) => new MessagesDecoder(call, writer));
  const last = result.events.at(-1)?.event;
  return last?.case === "finish" ? (last.value.response?.message?.content[0]?.citations ?? []) : [];
}

describe("citation indices", () => {
  it("are unset, since the API gives no span of the answer's text", () => {
    const citations = wholeCitations();
    expect(citations.map(({ startIndex, endIndex }) => [startIndex, endIndex])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it("of the source stay in raw_json as the provider sent them", () => {
    expect(wholeCitations().map(({ rawJson }) => JSON.parse(rawJson))).toEqual(CITATIONS);
  });

  it("are the same in whole and in streamed answers", async () => {
    const streamed = await streamedCitations();
    expect(streamed).toHaveLength(2);
    expect(streamed).toEqual(wholeCitations());
  });
});
