/**
 * What servers of the Chat Completions API send and take, as far as we read it. Every field is
 * optional and every kind is open: servers leave fields out and add their own, and what is not
 * read here passes through.
 */
import type { JsonObject } from "../../kit/json/json.ts";

/** Name under which options, hosted tools and native parts are known, whatever a provider entry is called. */
export const WIRE_NAME = "openai-chat";

/** The body of a whole answer, and each event of a stream: `chat.completion`, `chat.completion.chunk`. */
export type Chunk = JsonObject;

/** One of the answers in `choices`. */
export type Choice = JsonObject;

/** The `message` of a whole answer, or the `delta` of a stream. */
export type Delta = JsonObject;

/** A message of the conversation as a request carries it. */
export type WireMessage = JsonObject;

/** A piece of a content list: `text`, `image_url`, `input_audio`, `file`, at Mistral `thinking` and more. */
export type ContentChunk = JsonObject;
