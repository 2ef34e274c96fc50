/**
 * What Gemini's generateContent and streamGenerateContent send and take, as far as we read it.
 * Every field is optional and every kind is open: servers leave fields out and add their own,
 * and what is not read here passes through.
 */
import type { JsonObject } from "../../kit/json/json.ts";

/** Name under which Gemini's own state, hosted tools and options are known, whatever a provider entry is called. */
export const WIRE_NAME = "gemini";

/** GenerateContentResponse: the body of a whole answer, and each event of a stream. */
export type Chunk = JsonObject;

/** One of the answers in `candidates`. */
export type Candidate = JsonObject;

/** A part of a content. Its kind is the key of its data: `text`, `functionCall`, `inlineData` and so on. */
export type Part = JsonObject;

/** A turn in `contents`. */
export interface Content {
  readonly role: "user" | "model";
  readonly parts: readonly Part[];
}

/** Keys of a part that say something about its data and are not the data. */
const PART_ATTRIBUTES: ReadonlySet<string> = new Set([
  "thought",
  "thoughtSignature",
  "partMetadata",
  "videoMetadata",
  "mediaResolution",
  "mediaProcessing",
  "speechMetadata",
  "audioTranscription",
]);

/** The kind of a part: the key of its data, else of what it has beside data; empty where it has nothing. */
export function kindOf(part: Part): string {
  let attribute = "";
  for (const key in part) {
    if (key === "thought" || part[key] === null) continue;
    if (!PART_ATTRIBUTES.has(key)) return key;
    attribute ||= key;
  }
  return attribute;
}

/** Whether an object has no keys. */
export function isEmpty(object: JsonObject): boolean {
  return Object.keys(object).length === 0;
}
