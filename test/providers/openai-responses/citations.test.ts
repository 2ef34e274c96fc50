/** Citations in answers of the Responses API (P6): their indices count code points of the part's text. */
import { describe, expect, it } from "vitest";
import type { Citation } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { toCitations } from "../../../src/providers/openai-responses/citations.ts";
import { toResponse } from "../../../src/providers/openai-responses/response.ts";
import { factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { toAnswer } from "./conversation.ts";
import { added, CREATED, completed, done, message, stream, textDelta } from "./streaming.ts";

/** A message whose text cites a page for each span. */
function citing(text: string, spans: readonly (readonly [start: unknown, end: unknown])[]) {
  const annotations = spans.map(([start_index, end_index]) => ({
    type: "url_citation",
    url: "https://x.test",
    title: "X",
    start_index,
    end_index,
  }));
  return message(text, { content: [{ type: "output_text", text, annotations }] });
}

/** The citations of an answer with one text, whole and streamed, which have to agree. */
async function citationsIn(text: string, item: ReturnType<typeof citing>): Promise<readonly Citation[]> {
  const whole = toAnswer([item]).content[0]?.citations ?? [];
  const { response } = await stream([
    CREATED,
    added(0, { ...item, content: [] }),
    textDelta(0, text),
    done(0, item),
    completed({ output: [item] }),
  ]);
  expect(response?.message?.content[0]?.citations).toEqual(whole);
  return whole;
}

/** Returns the span of a citation, or undefined if it has none. */
function toSpan({ startIndex, endIndex }: Citation): readonly [number, number] | undefined {
  return startIndex === undefined || endIndex === undefined ? undefined : [startIndex, endIndex];
}

function codePoints(text: string, [start, end]: readonly [number, number]): string {
  return Array.from(text).slice(start, end).join("");
}

describe("the indices of a citation", () => {
  it.each([
    ["ASCII", "It rains. (source)", "(source)"],
    ["Greek", "Βρέχει στην Αθήνα. (πηγή)", "(πηγή)"],
    ["Chinese", "北京今天下雨。（来源）", "（来源）"],
    ["emoji", "☔🌧️ in 🇬🇷 👩‍👩‍👧 today (🔗 source) 🙂", "(🔗 source)"],
    ["combining marks", "Cafe\u0301 au lait (e\u0301)", "(e\u0301)"],
  ])("count the code points of a text with %s", async (_name, text, cited) => {
    const start = Array.from(text.slice(0, text.indexOf(cited))).length;
    const span = [start, start + Array.from(cited).length] as const;
    const [citation] = await citationsIn(text, citing(text, [span]));
    expect(citation && toSpan(citation)).toEqual(span);
    expect(codePoints(text, span)).toBe(cited);
  });

  it.each<[string, unknown, unknown]>([
    ["ends after the text", 0, 7],
    ["begins after the text", 7, 8],
    ["ends before it begins", 3, 1],
    ["begins below zero", -1, 2],
    ["is not of whole numbers", 0.5, 2],
    ["is of text", "0", "2"],
    ["has no end", 0, undefined],
    ["has no start", undefined, 2],
  ])("are unset if the span %s", async (_name, start, end) => {
    const text = "🙂 rain";
    const [citation] = await citationsIn(text, citing(text, [[start, end]]));
    expect(citation && toSpan(citation)).toBeUndefined();
    expect(JSON.parse(citation?.rawJson ?? "")).toMatchObject({ url: "https://x.test" });
  });

  it("are set for an empty span and for the whole text", async () => {
    const text = "🙂 rain";
    const citations = await citationsIn(
      text,
      citing(text, [
        [6, 6],
        [0, 6],
      ]),
    );
    expect(citations.map(toSpan)).toEqual([
      [6, 6],
      [0, 6],
    ]);
  });

  it("leave the provider's numbers in raw_json", async () => {
    const [citation] = await citationsIn("🙂", citing("🙂", [[0, 9]]));
    expect(JSON.parse(citation?.rawJson ?? "")).toMatchObject({ start_index: 0, end_index: 9 });
  });

  it("are found in linear time for many citations of a long text", () => {
    // A pass over the text for each citation would take longer than a test may.
    const count = 100_000;
    const text = "🙂".repeat(count);
    const { content } = citing(
      text,
      Array.from({ length: count }, (_, at) => [at, at + 1] as const),
    );
    const citations = toCitations(content[0] ?? {}, text);
    expect(citations.map(toSpan).at(-1)).toEqual([count - 1, count]);
  });
});

/** Each recorded whole answer that cites web pages, with what each citation's span holds. */
const cited = getRecordings("openai-responses", ".json").flatMap((recording) => {
  if (recording.status >= 400) return [];
  const body = toBytes(recording).toString("utf8");
  const facts = factsFor("openai", { model: "m" });
  const { message: answer } = toResponse(body, facts);
  return (answer?.content ?? []).flatMap(({ part, citations }) => {
    if (part.case !== "text") return [];
    return citations.flatMap((citation) => {
      const span = toSpan(citation);
      if (citation.type !== "url_citation" || span === undefined) return [];
      const isAscii = [...part.value.slice(0, span[1])].every((character) => character < "\u0080");
      return [{ file: recording.file, url: citation.url, text: codePoints(part.value, span), isAscii }];
    });
  });
});

describe("a recorded citation", () => {
  it("has its URL in the text of its span, even after non-ASCII characters", () => {
    expect(cited.filter(({ isAscii }) => !isAscii).length).toBeGreaterThan(10);
    for (const { text, url } of cited) expect(text).toContain(url);
  });
});
