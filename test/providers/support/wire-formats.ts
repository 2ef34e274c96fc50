/**
 * The four wire formats, each with one small answer that its server gives whole and as a stream. Tables of tests change
 * a field of both and compare what the adapter reads.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { type Reader, readers } from "./recorded-answers.ts";

/** JSON as a server sends it. */
export type Wire = Readonly<Record<string, unknown>>;

/** The content of an answer. */
export interface Said {
  /** A text, or the arguments of a call of `look` as the server gives them; a call without them was cut. */
  readonly part: { readonly text: string } | { readonly call: string };
  /** Why it ended, in the words of the server. */
  readonly finish: unknown;
  readonly usage?: unknown;
}

/** A wire format. */
export interface WireFormat {
  readonly name: string;
  /** The words for an ordinary end, and for one at the token limit. */
  readonly words: { readonly stop: string; readonly limit: string };
  /** Token counts of the prompt and of the answer. */
  usage(input: number, output: number): Wire;
  /** The body of a whole answer. */
  whole(said: Said): Wire;
  /** The same answer as the events of a stream. */
  events(said: Said): Wire[];
  /** The text that ends a stream after its events. */
  readonly end: string;
  readonly reader: Reader;
}

type RequestInit = MessageInitShape<typeof RequestSchema>;

/** The result of an adapter for an answer: a response, or an error. */
export interface Outcome {
  readonly response: Response | undefined;
  readonly error: unknown;
}

/** Reads a whole answer; a body that is a string is sent as it is. */
export function readWhole(format: WireFormat, body: unknown, request: RequestInit = {}): Outcome {
  const facts = factsFor("provider", { model: "model-1", ...request });
  const text = typeof body === "string" ? body : JSON.stringify(body);
  try {
    return { response: format.reader.whole(text, facts), error: undefined };
  } catch (error) {
    return { response: undefined, error };
  }
}

/** Reads a stream; an event that is a string is sent as it is. */
export async function readStream(
  format: WireFormat,
  events: readonly (Wire | string)[],
  request: RequestInit = {},
): Promise<Outcome> {
  const facts = factsFor("provider", { model: "model-1", ...request });
  const text = events.map((event) => (typeof event === "string" ? event : eventText(event)));
  const bytes = Buffer.from(`${text.join("")}${format.end}`);
  const { events: decoded, error } = await decode([bytes], facts, format.reader.decoder);
  const last = decoded.at(-1)?.event;
  return { response: last?.case === "finish" ? last.value.response : undefined, error };
}

/** Writes an event as it is sent. @param data Its data. Default: the event as JSON. */
export function eventText(event: Wire, data = JSON.stringify(event)): string {
  const name = typeof event.type === "string" ? `event: ${event.type}\n` : "";
  return `${name}data: ${data}\n\n`;
}

const chat: WireFormat = {
  name: "Chat Completions",
  words: { stop: "stop", limit: "length" },
  usage: (prompt_tokens, completion_tokens) => ({ prompt_tokens, completion_tokens }),
  whole: ({ part, finish, usage }) => ({
    id: "id_1",
    model: "model-1",
    choices: [{ index: 0, message: chatMessage(part), finish_reason: finish }],
    usage,
  }),
  events: ({ part, finish, usage }) => [
    { id: "id_1", model: "model-1", choices: [{ index: 0, delta: chatMessage(part) }] },
    { id: "id_1", choices: [{ index: 0, delta: {}, finish_reason: finish }], usage },
  ],
  end: "data: [DONE]\n\n",
  reader: readers.compatible,
};

function chatMessage(part: Said["part"]): Wire {
  if ("text" in part) return { content: part.text };
  return { tool_calls: [{ index: 0, id: "call_1", function: { name: "look", arguments: part.call } }] };
}

const responses: WireFormat = {
  name: "Responses",
  words: { stop: "completed", limit: "incomplete" },
  usage: (input_tokens, output_tokens) => ({ input_tokens, output_tokens }),
  whole: (said) => responseObject(said, [responseItem(said)]),
  events: (said) => [
    { type: "response.created", response: { id: "id_1", model: "model-1", output: [] } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...responseItem(said), content: [], arguments: "" },
    },
    { type: "response.output_item.done", output_index: 0, item: responseItem(said) },
    { type: "response.completed", response: responseObject(said, [responseItem(said)]) },
  ],
  end: "",
  reader: readers.openai,
};

function responseObject({ finish, usage }: Said, output: unknown): Wire {
  const details = finish === "incomplete" ? { incomplete_details: { reason: "max_output_tokens" } } : {};
  return { id: "id_1", model: "model-1", status: finish, ...details, output, usage };
}

function responseItem({ part, finish }: Said): Wire {
  const status = finish === "incomplete" ? "incomplete" : "completed";
  if ("text" in part)
    return { type: "message", id: "m", status, content: [{ type: "output_text", text: part.text }] };
  return { type: "function_call", id: "f", status, call_id: "call_1", name: "look", arguments: part.call };
}

const messages: WireFormat = {
  name: "Messages",
  words: { stop: "end_turn", limit: "max_tokens" },
  usage: (input_tokens, output_tokens) => ({ input_tokens, output_tokens }),
  whole: ({ part, finish, usage }) => ({ ...MESSAGE, content: [block(part)], stop_reason: finish, usage }),
  events: ({ part, finish, usage }) => [
    { type: "message_start", message: { ...MESSAGE, content: [] } },
    { type: "content_block_start", index: 0, content_block: emptyBlock(part) },
    ...blockDeltas(part),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: finish }, usage },
    { type: "message_stop" },
  ],
  end: "",
  reader: readers.anthropic,
};

const MESSAGE = { id: "id_1", type: "message", role: "assistant", model: "model-1" };

/** The API gives an empty object for input that was cut before it began. */
function block(part: Said["part"]): Wire {
  if ("text" in part) return { type: "text", text: part.text };
  return {
    type: "tool_use",
    id: "call_1",
    name: "look",
    input: part.call === "" ? {} : JSON.parse(part.call),
  };
}

function emptyBlock(part: Said["part"]): Wire {
  return "text" in part ? { ...block(part), text: "" } : { ...block(part), input: {} };
}

function blockDeltas(part: Said["part"]): Wire[] {
  const delta =
    "text" in part
      ? { type: "text_delta", text: part.text }
      : { type: "input_json_delta", partial_json: part.call };
  return [{ type: "content_block_delta", index: 0, delta }];
}

const gemini: WireFormat = {
  name: "generateContent",
  words: { stop: "STOP", limit: "MAX_TOKENS" },
  usage: (promptTokenCount, candidatesTokenCount) => ({ promptTokenCount, candidatesTokenCount }),
  whole: (said) => geminiEvent(said),
  events: (said) => [geminiEvent(said)],
  end: "",
  reader: readers.gemini,
};

function geminiEvent({ part, finish, usage }: Said): Wire {
  const candidate = { index: 0, content: { parts: [geminiPart(part)] }, finishReason: finish };
  return { responseId: "id_1", modelVersion: "model-1", candidates: [candidate], usageMetadata: usage };
}

/** If a call whose arguments come value by value is cut, it ends without any. */
function geminiPart(part: Said["part"]): Wire {
  if ("text" in part) return { text: part.text };
  const rest = part.call === "" ? { willContinue: true } : { args: JSON.parse(part.call) };
  return { functionCall: { id: "call_1", name: "look", ...rest } };
}

/** All wire formats. */
export const wireFormats: readonly WireFormat[] = [responses, messages, gemini, chat];
