/**
 * What Anthropic's Messages API sends and takes, as far as we read it. Every field is optional
 * and every kind is open: servers leave fields out and add their own, and what is not read
 * here passes through.
 */
import type { JsonObject } from "../../kit/json/json.ts";

/** Name under which Anthropic's own state, hosted tools and options are known, whatever a provider entry is called. */
export const WIRE_NAME = "anthropic";

/** A content block, of an answer or of a request. Its kind is `type`. */
export type Block = JsonObject;

/** A Message object: the body of a whole answer, and `message` in the first event of a stream. */
export type MessageObject = JsonObject;

/** An event of a stream, parsed. Its kind is `type`. */
export type WireEvent = JsonObject;

/** A turn of the conversation as the API takes it. */
export type WireMessage = {
  readonly role: "user" | "assistant" | "system";
  readonly content: readonly Block[];
};
