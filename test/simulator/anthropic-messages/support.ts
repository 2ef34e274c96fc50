import { readFileSync } from "node:fs";
import type Anthropic from "@anthropic-ai/sdk";
import type { Simulator } from "../../../simulator/index.ts";
import { type RawAnswer, type RawOptions, rawPost } from "../raw-post.ts";
import { type ParsedEvent, parseEvents } from "../support.ts";

/** The required headers. */
export const headers = { "x-api-key": "test-key", "anthropic-version": "2023-06-01" };

/** A content block, with the fields that tests read. */
export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly data?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: unknown;
  readonly citations?: readonly { readonly url: string; readonly encrypted_index: string }[];
}

/** A whole answer, with the fields that tests read. */
export interface AnsweredMessage {
  readonly id: string;
  readonly model: string;
  readonly content: readonly Block[];
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
  readonly input_transformations?: readonly object[];
  readonly stop_details: { readonly category: string | null; readonly explanation: string | null } | null;
  readonly usage: {
    readonly input_tokens: number;
    readonly cache_read_input_tokens: number;
    readonly cache_creation_input_tokens: number;
    readonly cache_creation: {
      readonly ephemeral_5m_input_tokens: number;
      readonly ephemeral_1h_input_tokens: number;
    };
    readonly output_tokens: number;
    readonly output_tokens_details?: { readonly thinking_tokens: number };
    readonly server_tool_use?: { readonly web_search_requests: number };
  };
}

/** A minimal body, for the model `sim-text`. */
export const hello = {
  model: "sim-text",
  max_tokens: 4096,
  messages: [{ role: "user", content: "Hello 🧭" }],
};

/** A tool to call, with a schema that has one required and one optional property. */
export const weatherTool: Anthropic.Tool = {
  name: "get_weather",
  description: "Tells the weather of a city.",
  input_schema: {
    type: "object",
    properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
    required: ["city"],
    additionalProperties: false,
  },
};

/** Posts a body to `POST /v1/messages`. */
export function post(simulator: Simulator, body: unknown, init: RequestInit = {}): Promise<Response> {
  return fetch(`${simulator.anthropicBaseUrl}/v1/messages`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
}

/**
 * Posts a body, with the fields of {@link hello} that it lacks, and returns the answer. Fails unless the status is 200.
 * @param more Further headers.
 */
export async function ask(
  simulator: Simulator,
  changes: object,
  more: Readonly<Record<string, string>> = {},
): Promise<AnsweredMessage> {
  const init = { headers: { ...headers, "content-type": "application/json", ...more } };
  const response = await post(simulator, { ...hello, ...changes }, init);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return JSON.parse(text) as AnsweredMessage;
}

/** Posts a body for a stream, and returns the events. Fails unless the status is 200. */
export async function stream(simulator: Simulator, changes: object): Promise<ParsedEvent[]> {
  const response = await post(simulator, { ...hello, ...changes, stream: true });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return parseEvents(text);
}

/** The error of a refused request. */
export interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly requestId: string;
}

/** Posts a body that is refused, and returns the error. */
export async function refusal(simulator: Simulator, body: unknown, init: RequestInit = {}): Promise<Refusal> {
  const response = await post(simulator, body, init);
  const { type, error, request_id } = (await response.json()) as {
    type: string;
    error: { type: string; message: string };
    request_id: string;
  };
  if (type !== "error") throw new Error(`expected an error, found ${type}`);
  return { status: response.status, ...error, requestId: request_id };
}

/** Posts a body over a separate socket. */
export function raw(simulator: Simulator, changes: object, options: RawOptions = {}): Promise<RawAnswer> {
  return rawPost(simulator, { ...hello, ...changes }, { path: "/v1/messages", headers, ...options });
}

/** The text of an answer's text blocks. */
export function textOf({ content }: Pick<AnsweredMessage, "content">): string {
  return content.map((block) => block.text ?? "").join("");
}

/** Reads a recorded file of `test/recordings/anthropic-messages`. */
export function readRecording(name: string): string {
  return readFileSync(new URL(`../../recordings/anthropic-messages/${name}`, import.meta.url), "utf8");
}
