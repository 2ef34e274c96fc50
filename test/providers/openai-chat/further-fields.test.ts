/** Objects and lists in a message that have no unified form. */
import { describe, expect, it } from "vitest";
import { userMessage } from "../../../src/core/message.ts";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { answerTo, PROVIDER, respond, sent } from "./support.ts";

const search = { index: 0, type: "search", arguments: '{"query":"q"}' };
const found = { output: "Title: T", search_results: { results: [{ title: "T", url: "https://t" }] } };
const second = { index: 1, type: "python", arguments: "1", output: "1" };
const documents = [{ title: "D", url: "https://d", filepath: "d.md", content: "text", chunk_id: "0" }];
const context = { citations: documents, intent: '["i"]' };

function respondTo(message: object): Response {
  const choice = { index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" };
  return respond({ id: "chat_1", model: "model-1", choices: [choice] });
}

/** The native parts of an answer: kind and JSON. */
function getNatives({ message }: Response): unknown[] {
  return (message?.content ?? []).flatMap(({ part }) =>
    part.case === "native" ? [[part.value.kind, JSON.parse(part.value.dataJson)]] : [],
  );
}

describe("Tools that the server ran (Groq)", () => {
  const message = { content: "Done.", executed_tools: [{ ...search, ...found }, second] };

  it("are a native part after the text", () => {
    const answer = respondTo(message);
    expect(answer.message?.content.map(({ part }) => part.case)).toEqual(["text", "native"]);
    expect(getNatives(answer)).toEqual([["executed_tools", { executed_tools: message.executed_tools }]]);
    expect(answer.message?.content[1]?.part.value).toMatchObject({ provider: PROVIDER });
  });

  it("are the same in a stream that completes them", async () => {
    const streamed = await answerTo([
      { role: "assistant", executed_tools: [search] },
      { executed_tools: [{ index: 0, type: "search", arguments: "", ...found }] },
      { executed_tools: [{ index: 1, type: "python", arguments: "1" }] },
      { executed_tools: [{ index: 1, output: "1" }], content: "Done." },
    ]);
    expect(streamed.message).toEqual(respondTo(message).message);
  });

  it("are there once if each delta repeats those so far", async () => {
    const [a, b] = [{ type: "search" }, { type: "python" }];
    const streamed = await answerTo([
      { content: "Done.", executed_tools: [a] },
      { executed_tools: [a] },
      { executed_tools: [a, b] },
      { executed_tools: [a, b] },
    ]);
    expect(getNatives(streamed)).toEqual([["executed_tools", { executed_tools: [a, b] }]]);
    expect(getNatives(respondTo({ content: "Done.", executed_tools: [a, a] }))).toEqual([
      ["executed_tools", { executed_tools: [a, a] }],
    ]);
  });

  it("do not go back to the server", async () => {
    const answer = respondTo(message).message;
    const request = { messages: [userMessage("hi"), ...(answer ? [answer] : []), userMessage("go on")] };
    const { body, warnings } = await sent(request);
    expect(body.messages).toMatchObject([{}, { role: "assistant", content: "Done." }, {}]);
    expect(JSON.stringify(body)).not.toContain("executed_tools");
    expect(warnings).toEqual([]);
  });
});

describe("Documents that the server found (Azure)", () => {
  it("are citations of the text, and a native part with everything else", async () => {
    const answer = respondTo({ content: "See [doc1].", context });
    expect(answer.message?.content[0]?.citations).toMatchObject([
      { type: "document", title: "D", url: "https://d", sourceId: "d.md", citedText: "text" },
    ]);
    expect(getNatives(answer)).toEqual([["context", { context }]]);
    const streamed = await answerTo([{ role: "assistant", context }, { content: "See [doc1]." }]);
    expect(streamed.message).toEqual(answer.message);
  });
});

describe("Fields that say nothing new", () => {
  it.each<[string, object]>([
    ["an empty object", { context: {} }],
    ["an empty list", { executed_tools: [] }],
    ["null", { executed_tools: null }],
    ["a number", { index: 0 }],
    ["a list of numbers", { token_ids: [1, 2] }],
    ["the parsed content", { parsed: { a: 1 } }],
    ["fields that LiteLLM repeats", { provider_specific_fields: { citations: null } }],
  ])("are left out: %s", (_, field) => {
    const { message } = respondTo({ content: "Done.", ...field });
    expect(message?.content.map(({ part }) => part.case)).toEqual(["text"]);
  });
});

describe("A field with a member named __proto__", () => {
  it("keeps the member", () => {
    const message = JSON.parse('{"content":"Done.","context":{"__proto__":{"citations":[{"title":"D"}]}}}');
    const [text, native] = respondTo(message).message?.content ?? [];
    expect(text?.citations).toEqual([]);
    expect(native?.part.value).toMatchObject({ dataJson: JSON.stringify({ context: message.context }) });
  });
});
