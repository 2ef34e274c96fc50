/**
 * What OpenAI's Responses API sends and takes, as far as we read it. Every field is optional
 * and every kind is open: servers leave fields out and add their own, and what is not read
 * here passes through.
 */
import type { JsonObject } from "../../kit/json/json.ts";

/** Name under which OpenAI's own state, hosted tools and options are known, whatever a provider entry is called. */
export const WIRE_NAME = "openai";

/** An item of `output` or `input`: a message, reasoning, a call, a hosted tool's block. Its kind is `type`. */
export type Item = JsonObject;

/** The Response object: the body of a whole answer, and `response` in the first and last events of a stream. */
export type ResponseObject = JsonObject;

/** An event of a stream, parsed. Its kind is `type`. */
export type WireEvent = JsonObject;
