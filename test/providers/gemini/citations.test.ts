import { describe, expect, it } from "vitest";
import type { Citation, ContentPart } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { toResponse } from "../../../src/providers/gemini/response.ts";
import { factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { decodeEvents, event, getContent, NEW_MODEL } from "./support.ts";

const TEXT = "Привет 👋🏽! 東京は晴れ。 Fine.";

/** A segment as the API gives it: bytes of UTF-8, zero left out. */
function createSegment(text: string, cited: string): { startIndex?: number; endIndex: number; text: string } {
  const start = Buffer.byteLength(text.slice(0, text.indexOf(cited)));
  const endIndex = start + Buffer.byteLength(cited);
  return { ...(start === 0 ? {} : { startIndex: start }), endIndex, text: cited };
}

function grounded(...segments: readonly object[]): object {
  return {
    groundingMetadata: {
      groundingChunks: [{ web: { uri: "https://a", title: "A" } }],
      groundingSupports: segments.map((segment) => ({ segment, groundingChunkIndices: [0] })),
    },
  };
}

/** The content of an answer that arrives whole, in one event. */
async function contentOfWhole(parts: readonly object[], beside: object): Promise<readonly ContentPart[]> {
  return getContent(await decodeEvents([event(parts, { finishReason: "STOP", ...beside })]));
}

/** Returns the text that a citation's indices select, counted in code points. */
function citedText(text: string, { startIndex, endIndex }: Citation): string | undefined {
  return startIndex === undefined ? undefined : [...text].slice(startIndex, endIndex).join("");
}

function getSpans(part: ContentPart | undefined): unknown[] {
  return (part?.citations ?? []).map(({ startIndex, endIndex }) => [startIndex, endIndex]);
}

it("cites no chunk for an index that is no number of one", () => {
  const grounding = grounded({ endIndex: 4, text: "text" });
  const candidate = { content: { parts: [{ text: "text" }] }, finishReason: "STOP", ...grounding };
  const body = JSON.stringify({ candidates: [candidate] });
  for (const index of ["1e999", "12345678901234567890", "-1", "null", "{}"]) {
    const response = toResponse(body.replace("[0]", `[${index}]`), factsFor("gemini", { model: NEW_MODEL }));
    expect(response.message?.content[0]?.citations[0]).toMatchObject({ url: "", startIndex: 0, endIndex: 4 });
  }
});

describe("citation spans (P6)", () => {
  it.each(["Привет", "👋🏽", "東京", "晴れ。 Fine."])(
    "count code points if the text has %s",
    async (cited) => {
      const [part] = await contentOfWhole([{ text: TEXT }], grounded(createSegment(TEXT, cited)));
      expect(part?.citations.map((citation) => citedText(TEXT, citation))).toEqual([cited]);
    },
  );

  it("are the same in a stream that splits the text between surrogates", async () => {
    const beside = grounded(createSegment(TEXT, "👋🏽"), createSegment(TEXT, "東京は晴れ。"));
    const at = TEXT.indexOf("👋") + 1;
    const streamed = await decodeEvents([
      event([{ text: TEXT.slice(0, at) }]),
      event([{ text: TEXT.slice(at) }]),
      event([{ text: "" }], { finishReason: "STOP", ...beside }),
    ]);
    expect(getContent(streamed)).toEqual(await contentOfWhole([{ text: TEXT }], beside));
    expect(getSpans(getContent(streamed)[0])).toEqual([
      [7, 9],
      [11, 17],
    ]);
  });

  it.each<[string, object]>([
    ["a call", { functionCall: { name: "f", args: {} } }],
    ["an image", { inlineData: { mimeType: "image/png", data: "aGk=" } }],
    ["a block of a hosted tool", { codeExecutionResult: { outcome: "OUTCOME_OK" } }],
  ])("are the same in a stream whose sources come after %s", async (_, part) => {
    const beside = grounded(createSegment(TEXT, "東京"));
    const streamed = await decodeEvents([
      event([{ text: TEXT }]),
      event([part]),
      event([{ text: "" }], { finishReason: "STOP", ...beside }),
    ]);
    expect(getContent(streamed)).toEqual(await contentOfWhole([{ text: TEXT }, part], beside));
    expect(getSpans(getContent(streamed)[0])).toEqual([[11, 13]]);
  });

  it("does not hold a text back while the model thinks again", async () => {
    const { events } = await decodeEvents([
      event([{ text: TEXT }]),
      event([{ text: "Hm.", thought: true }]),
      event([{ text: "" }], { finishReason: "STOP" }),
    ]);
    const cases = events.map((each) => each.event.case);
    expect(cases.indexOf("textEnd")).toBeLessThan(cases.indexOf("reasoningStart"));
  });

  it("keep the provider's numbers in raw_json", async () => {
    const segment = createSegment(TEXT, "東京");
    const [part] = await contentOfWhole([{ text: TEXT }], grounded(segment));
    expect(JSON.parse(part?.citations[0]?.rawJson ?? "")).toMatchObject({ segment });
  });

  it("begin with the text if the API leaves the start out", async () => {
    const [part] = await contentOfWhole([{ text: TEXT }], grounded({ endIndex: 12 }));
    expect(getSpans(part)).toEqual([[0, 6]]);
  });

  it.each([
    ["end behind the text", { startIndex: 0, endIndex: 400 }],
    ["begin inside a character", { startIndex: 1, endIndex: 12 }],
    ["end before they begin", { startIndex: 12, endIndex: 2 }],
    ["have no end", { startIndex: 2 }],
    ["select another text than the segment says", { startIndex: 0, endIndex: 12, text: "abcdef" }],
    ["have indices that are not integers", { startIndex: "0", endIndex: "12" }],
  ])("are unset if they %s", async (_, segment) => {
    const [part] = await contentOfWhole([{ text: TEXT }], grounded(segment));
    expect(getSpans(part)).toEqual([[undefined, undefined]]);
    expect(JSON.parse(part?.citations[0]?.rawJson ?? "")).toMatchObject({ segment });
  });

  it("are set only if partIndex names the part that has the citation", async () => {
    const parts = [
      { text: "First 👋." },
      { executableCode: { language: "PYTHON", code: "1" } },
      { text: "Second 👋." },
    ];
    const named = (partIndex: number) => ({ partIndex, endIndex: 5 });
    const content = await contentOfWhole(parts, grounded(named(0), named(2), { endIndex: 5 }));
    expect(content.map(getSpans)).toEqual([
      [],
      [],
      [
        [undefined, undefined],
        [0, 5],
        [undefined, undefined],
      ],
      [],
    ]);
  });

  it("are set without a partIndex if reasoning comes before the only text", async () => {
    const parts = [{ text: "Thinking 👋", thought: true }, { text: TEXT }];
    const [, part] = await contentOfWhole(parts, grounded({ endIndex: 12 }));
    expect(getSpans(part)).toEqual([[0, 6]]);
  });

  it("of recited sources count from the first text of the answer", async () => {
    const citationMetadata = { citationSources: [{ uri: "https://a", startIndex: 13, endIndex: 21 }] };
    const [first] = await contentOfWhole([{ text: TEXT }], { citationMetadata });
    expect(getSpans(first)).toEqual([[7, 9]]);
    const [, second] = await contentOfWhole([{ text: "One. " }, { text: TEXT }], { citationMetadata });
    expect(getSpans(second)).toEqual([[undefined, undefined]]);
  });

  it("of all recordings select the text that the provider gives with them", () => {
    let checked = 0;
    for (const recording of getRecordings("gemini", ".json")) {
      for (const part of contentOfRecording(toBytes(recording).toString("utf8"))) {
        if (part.part.case !== "text") continue;
        for (const citation of part.citations) {
          const { segment } = JSON.parse(citation.rawJson) as { segment?: { text?: string } };
          if (citation.startIndex === undefined || segment?.text === undefined) continue;
          expect(citedText(part.part.value, citation)).toBe(segment.text);
          checked += 1;
        }
      }
    }
    expect(checked).toBeGreaterThan(50);
  });

  it("take linear time for many citations of a long text", async () => {
    // A pass over the text for each citation would take longer than a test may.
    const text = "東京 👋 abc ".repeat(20_000);
    const count = 10_000;
    const segments = Array.from({ length: count }, (_, index) => ({
      endIndex: Buffer.byteLength("東京 ") + index * 16,
    }));
    const [part] = await contentOfWhole([{ text }], grounded(...segments));
    expect(getSpans(part)).toHaveLength(count);
  });
});

function contentOfRecording(body: string): readonly ContentPart[] {
  const facts = factsFor("gemini", { model: NEW_MODEL });
  try {
    return toResponse(body, facts).message?.content ?? [];
  } catch {
    // Some recordings are failures with a success status.
    return [];
  }
}
