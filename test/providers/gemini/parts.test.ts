import { expect, it } from "vitest";
import { getKind, isAnswerText, isBlank } from "../../../src/providers/gemini/parts.ts";

/** A part whose data comes after an attribute. */
function behind(attribute: string): [string, object, string] {
  return [`its data behind ${attribute}`, { [attribute]: {}, inlineData: {} }, "inlineData"];
}

it.each<[string, object, string]>([
  ["its data", { thought: true, inlineData: {} }, "inlineData"],
  ...["thoughtSignature", "partMetadata", "videoMetadata", "mediaResolution", "mediaProcessing"].map(behind),
  ...["speechMetadata", "audioTranscription"].map(behind),
  ["data that the adapter does not know", { thoughtSignature: "s", hologram: {} }, "hologram"],
  ["its first attribute if it has no data", { videoMetadata: {}, partMetadata: {} }, "videoMetadata"],
  ["none for data that is null", { text: null, thought: true }, ""],
])("a part has the kind of %s", (_, part, kind) => {
  expect(getKind(part)).toBe(kind);
});

it.each([
  [{ text: "a" }, { blank: false, answer: true }],
  [
    { text: "a", thought: true },
    { blank: false, answer: false },
  ],
  [{ text: "" }, { blank: true, answer: false }],
  [
    { text: "", thought: true },
    { blank: true, answer: false },
  ],
  [
    { text: "", thoughtSignature: "s" },
    { blank: false, answer: false },
  ],
  [{ functionCall: {} }, { blank: false, answer: false }],
])("a part may be blank, or text of the answer: %j", (part, expected) => {
  expect({ blank: isBlank(part), answer: isAnswerText(part) }).toEqual(expected);
});
