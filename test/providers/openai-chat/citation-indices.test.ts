/**
 * Indices of citations count Unicode code points of their part's text, whatever part of the content the server counts.
 */
import { describe, expect, it } from "vitest";
import { textOf } from "../../../src/core/message.ts";
import type { Citation } from "../../../src/gen/outrigger/v1/message_pb.ts";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { answerTo, chunk, decodeEvents, getFinal, type ProfileInit, respond } from "./support.ts";

/** An annotation with the span of `cited` in `content`, counted in code points as OpenAI counts. */
function toAnnotation(content: string, cited: string) {
  const start_index = [...content.slice(0, content.indexOf(cited))].length;
  const end_index = start_index + [...cited].length;
  return {
    type: "url_citation",
    url_citation: { url: "https://a.example", title: "A", start_index, end_index },
  };
}

/** Returns an answer read whole and as a stream, with one character in each chunk and the annotations in the last. */
async function answersWith(content: string, annotations: readonly object[], init: ProfileInit = {}) {
  const message = { role: "assistant", content, annotations };
  const whole = respond({ choices: [{ index: 0, message, finish_reason: "stop" }] }, init);
  const pieces = [...content].map((piece) => ({ content: piece }));
  const streamed = await answerTo([...pieces, { annotations }], init);
  return [whole, streamed];
}

function citationsIn({ message }: Response): Citation[] {
  return message?.content.flatMap(({ citations }) => citations) ?? [];
}

/** The cited pieces of the text; undefined for a citation without indices. */
function citedIn(response: Response): (string | undefined)[] {
  const text = [...textOf(response)];
  return citationsIn(response).map(({ startIndex, endIndex }) =>
    startIndex === undefined ? undefined : text.slice(startIndex, endIndex).join(""),
  );
}

describe("citation indices", () => {
  it.each([
    ["ASCII text", "Rain is likely (source) today.", "(source)"],
    ["accented letters", "Météo à Zürich : élevée (source).", "(source)"],
    ["Chinese text", "明天可能下雨（来源）。", "（来源）"],
    ["Arabic text", "من المحتمل هطول المطر (المصدر) غدا", "(المصدر)"],
    ["emoji before the span", "🌧️ and 🌈 tomorrow (source)", "(source)"],
    ["emoji in the span", "see 👩‍👩‍👧‍👦 page 🎉!", "👩‍👩‍👧‍👦 page 🎉"],
    ["the whole text", "🙂🙃", "🙂🙃"],
  ])("count code points of %s, in a whole answer and in a stream", async (_, content, cited) => {
    for (const response of await answersWith(content, [toAnnotation(content, cited)]))
      expect(citedIn(response)).toEqual([cited]);
  });

  it("are relative to the text if the content begins with tagged reasoning", async () => {
    const content = "<think>\nüber 🌧️\n</think>\n\nRain 🌧️ (source).";
    const annotations = [toAnnotation(content, "(source)")];
    for (const response of await answersWith(content, annotations, { thinkTags: true })) {
      expect(textOf(response)).toBe("Rain 🌧️ (source).");
      expect(citedIn(response)).toEqual(["(source)"]);
    }
  });

  it("are relative to the last text part if reasoning interrupts the content", async () => {
    const content = "First 🙂. Second 🙃 (source).";
    const response = await answerTo([
      { content: "First 🙂. " },
      { reasoning_content: "hm 🤔" },
      { content: "Second 🙃 (source)." },
      { annotations: [toAnnotation(content, "(source)"), toAnnotation(content, "First")] },
    ]);
    const last = response.message?.content.at(-1);
    expect(last?.citations).toMatchObject([{ startIndex: 9, endIndex: 17 }, {}]);
    expect([...textOf(response)].length).toBe([...content].length);
    expect(last?.citations[1]?.startIndex).toBeUndefined();
  });

  it.each([
    ["ends after the text", { start_index: 0, end_index: 3 }],
    ["begins after its end", { start_index: 2, end_index: 1 }],
    ["begins before the text", { start_index: -1, end_index: 1 }],
    ["has no end", { start_index: 0 }],
    ["is not a number", { start_index: "0", end_index: "1" }],
  ])("are unset if the span %s, and raw_json keeps the numbers", async (_, span) => {
    const annotation = { type: "url_citation", url_citation: { url: "https://a.example", ...span } };
    for (const response of await answersWith("🙂🙃", [annotation])) {
      const [citation] = citationsIn(response);
      expect(citation?.startIndex).toBeUndefined();
      expect(citation?.endIndex).toBeUndefined();
      expect(JSON.parse(citation?.rawJson ?? "")).toEqual(annotation);
    }
  });

  it("are unset for sources that are listed alongside the message", async () => {
    const events = [chunk({ content: "🙂" }, "stop", { citations: ["https://b.example"] }), "[DONE]"];
    const [citation] = citationsIn(getFinal(await decodeEvents(events)));
    expect(citation).toMatchObject({ url: "https://b.example" });
    expect(citation?.startIndex).toBeUndefined();
  });

  it("take linear time for many citations of a long text", () => {
    // A pass over the text for each citation would take longer than a test may.
    const content = "🙂".repeat(2_000_000);
    const annotations = Array.from({ length: 10_000 }, (_, at) => ({
      type: "url_citation",
      url_citation: { url: "u", start_index: at * 200, end_index: at * 200 + 200 },
    }));
    const message = { role: "assistant", content, annotations };
    const response = respond({ choices: [{ index: 0, message, finish_reason: "stop" }] });
    expect(citationsIn(response).at(-1)).toMatchObject({ startIndex: 1_999_800, endIndex: 2_000_000 });
  });
});
