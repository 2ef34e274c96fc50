import { describe, expect, it } from "vitest";
import { reasoningOf, textOf, userMessage } from "../../../src/core/message.ts";
import { ThinkTagSplitter } from "../../../src/providers/openai-chat/think-tags.ts";
import { createRandom } from "../../support/random.ts";
import { answerTo, respond, sent, toMessages } from "./support.ts";

/** Splits a text that arrives in pieces: reasoning, text and the tags. */
function split(pieces: readonly string[]) {
  let reasoning = "";
  let text = "";
  const splitter = new ThinkTagSplitter({
    reasoning: (piece) => {
      reasoning += piece;
    },
    text: (piece) => {
      text += piece;
    },
  });
  for (const piece of pieces) splitter.push(piece);
  splitter.end();
  return { reasoning, text, ...splitter.tags };
}

const CASES: readonly [string, object][] = [
  ["<think>hm</think>x", { reasoning: "hm", text: "x", open: "<think>", close: "</think>" }],
  [
    "\n<think>\nhm\n</think>\n\nx",
    { reasoning: "hm\n", text: "x", open: "\n<think>\n", close: "</think>\n\n" },
  ],
  ["<think>a < b </thin> c</think>x", { reasoning: "a < b </thin> c", text: "x" }],
  ["<think></think>x", { reasoning: "", text: "x", open: "<think>", close: "</think>" }],
  ["<think>cut", { reasoning: "cut", text: "", close: "" }],
  ["<think>cut</thi", { reasoning: "cut</thi", text: "", close: "" }],
  ["<thin", { reasoning: "", text: "<thin", open: "" }],
  ["<reasoning>x", { reasoning: "", text: "<reasoning>x", open: "" }],
  ["x <think>no</think>", { reasoning: "", text: "x <think>no</think>" }],
  ["<think>a</think>b<think>c</think>", { reasoning: "a", text: "b<think>c</think>" }],
  ["  ", { reasoning: "", text: "  " }],
  ["", { reasoning: "", text: "" }],
];

describe("think tags", () => {
  it.each(CASES)("split %j", (text, expected) => {
    expect(split([text])).toMatchObject(expected);
  });

  it.each(CASES)("split %j the same way wherever it is cut", (text) => {
    const whole = split([text]);
    expect(split([...text])).toEqual(whole);
    const random = createRandom(text.length + 1);
    for (let round = 0; round < 50; round += 1) {
      const at = Math.floor(random() * (text.length + 1));
      const later = at + Math.floor(random() * (text.length - at + 1));
      expect(split([text.slice(0, at), text.slice(at, later), text.slice(later)])).toEqual(whole);
    }
  });

  it.each(CASES)("and both texts of %j give the original text", (text) => {
    const { open, reasoning, close, text: rest } = split([text]);
    expect(open + reasoning + close + rest).toBe(text);
  });

  it("are split if the profile has thinkTags, in a stream and in a whole answer", async () => {
    const streamed = await answerTo([{ content: "<th" }, { content: "ink>hm</th" }, { content: "ink>x" }], {
      thinkTags: true,
    });
    const whole = respond({ choices: [{ message: { content: "<think>hm</think>x" } }] }, { thinkTags: true });
    for (const response of [streamed, whole])
      expect([reasoningOf(response), textOf(response)]).toEqual(["hm", "x"]);
    expect(textOf(await answerTo([{ content: "<think>hm</think>x" }]))).toBe("<think>hm</think>x");
  });

  // Written by hand after Gemini's API for OpenAI clients with `include_thoughts`.
  it("named thought are split if the server marks the content as a thought, whatever the profile", async () => {
    const extra_content = { google: { thought: true } };
    const signature = { google: { thought_signature: "c2ln" } };
    const streamed = await answerTo([
      { role: "assistant", content: "<thought>**Plan**\n\nFirst", extra_content },
      { role: "assistant", content: ", look.\n", extra_content },
      { role: "assistant", content: "</thought>Yes." },
      { role: "assistant", extra_content: signature },
    ]);
    const content = "<thought>**Plan**\n\nFirst, look.\n</thought>Yes.";
    const marked = { google: { ...extra_content.google, ...signature.google } };
    const whole = respond({ choices: [{ message: { content, extra_content: marked } }] });
    for (const response of [streamed, whole]) {
      expect([reasoningOf(response), textOf(response)]).toEqual(["**Plan**\n\nFirst, look.\n", "Yes."]);
      const { body } = await sent({ messages: [userMessage("hi"), response.message ?? userMessage("")] });
      // Thoughts do not go back, nor does their mark: only the signature does.
      expect(toMessages(body)[1]).toEqual({ role: "assistant", content: "Yes.", extra_content: signature });
    }
    const plain = { content: "<thought>a</thought>", extra_content: signature };
    expect(textOf(respond({ choices: [{ message: plain }] }))).toBe("<thought>a</thought>");
  });
});
