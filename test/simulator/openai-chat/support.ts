import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Simulator } from "../../../simulator/index.ts";

/** A whole answer with the fields that the tests read. */
export interface Completion {
  readonly id: string;
  readonly object: string;
  readonly model: string;
  readonly choices: readonly Choice[];
  readonly usage: Usage;
  readonly error?: { readonly code: unknown; readonly message: string };
}

/** One of the answers. */
export interface Choice {
  readonly index: number;
  readonly message: Message;
  readonly logprobs?: { readonly content: readonly { readonly token: string }[] | null } | null;
  readonly finish_reason?: string;
}

/** The message of an answer. */
export interface Message {
  readonly role: string;
  readonly content: string | null | readonly ContentChunk[];
  readonly refusal: string | null;
  readonly annotations?: readonly Annotation[];
  readonly tool_calls?: readonly ToolCall[];
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly reasoning_details?: readonly { readonly type: string; readonly signature?: string }[];
}

interface ContentChunk {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: readonly { readonly text: string }[];
}

interface Annotation {
  readonly url_citation: {
    readonly start_index: number;
    readonly end_index: number;
    readonly url: string;
    readonly title: string;
  };
}

/** A tool call of an answer, or a piece of a tool call. */
export interface ToolCall {
  readonly index?: number;
  readonly id?: string;
  readonly type?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
  readonly custom?: { readonly name?: string; readonly input?: string };
  readonly extra_content?: { readonly google: { readonly thought_signature: string } };
}

/** Token counts of an answer. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly completion_tokens_details: { readonly reasoning_tokens: number };
}

/** A chunk of a stream. */
export interface Chunk {
  readonly id: string;
  readonly choices?: readonly {
    readonly index: number;
    readonly delta: Readonly<Record<string, unknown>> & { readonly tool_calls?: readonly ToolCall[] | null };
    readonly finish_reason: string | null;
    readonly error?: object;
  }[];
  readonly usage?: Usage | null;
  readonly error?: object;
  readonly [field: string]: unknown;
}

/** Path of the endpoint. */
export const path = "/v1/chat/completions";

/** Posts a body to `POST /v1/chat/completions`. */
export function post(simulator: Simulator, body: unknown, init: RequestInit = {}): Promise<Response> {
  return fetch(`${simulator.url}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer test-key", "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
}

/** A request with one message of the user. */
export function say(model: string, content: string, more: object = {}): object {
  return { model, messages: [{ role: "user", content }], ...more };
}

/** Posts a body and returns the answer. Fails unless the status is 200. */
export async function ask(simulator: Simulator, body: object): Promise<Completion> {
  const response = await post(simulator, body);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return JSON.parse(text) as Completion;
}

/** Posts a body and returns the only message of the answer. */
export async function askMessage(simulator: Simulator, body: object): Promise<Message> {
  const { choices } = await ask(simulator, body);
  const [choice] = choices;
  if (choice === undefined || choices.length > 1) throw new Error(`${choices.length} choices`);
  return choice.message;
}

/** Posts a body with `stream: true` and returns the text of the body. Fails unless the status is 200. */
export async function streamText(simulator: Simulator, body: object): Promise<string> {
  const response = await post(simulator, { ...body, stream: true });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return text;
}

/** Posts a body with `stream: true` and returns the chunks. */
export async function stream(simulator: Simulator, body: object): Promise<Chunk[]> {
  return parseChunks(await streamText(simulator, body));
}

/** A stream that a test reads in steps. */
export interface OpenStream {
  /** Reads until the text so far fulfils a condition, and returns it. Throws if the stream ends first. */
  readUntil(isEnough: (text: string) => boolean): Promise<string>;
  /** Whether nothing more arrives for a number of milliseconds. */
  isSilentFor(milliseconds: number): Promise<boolean>;
  /** Closes the connection. */
  close(): void;
}

/** Posts a body with `stream: true` and reads only on demand. */
export async function openStream(simulator: Simulator, body: object): Promise<OpenStream> {
  const leave = new AbortController();
  const response = await post(simulator, { ...body, stream: true }, { signal: leave.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) throw new Error("the answer has no body");
  let text = "";
  return {
    readUntil: async (isEnough) => {
      while (!isEnough(text)) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`the stream ended with ${JSON.stringify(text)}`);
        text += value;
      }
      return text;
    },
    isSilentFor: (milliseconds) =>
      Promise.race([
        sleep(milliseconds, true),
        reader.read().then(
          () => false,
          () => false,
        ),
      ]),
    close: () => leave.abort(),
  };
}

/** The chunks in a body of server-sent events, without the end marker. */
export function parseChunks(body: string): Chunk[] {
  return [...body.matchAll(/^data: (\{.*\})\s*$/gm)].map(([, data = ""]) => JSON.parse(data) as Chunk);
}

/** The deltas of the first choice, in order. */
export function splitDeltas(chunks: readonly Chunk[]): Readonly<Record<string, unknown>>[] {
  return chunks
    .flatMap((chunk) => (chunk.choices ?? []).filter(({ index }) => index === 0))
    .map(({ delta }) => delta);
}

/** The texts in one field of the deltas of a stream, joined. */
export function joined(chunks: readonly Chunk[], field: string): string {
  return splitDeltas(chunks)
    .map((delta) => delta[field])
    .filter((piece) => typeof piece === "string")
    .join("");
}

/** The pieces of tool calls, in order. */
export function callPieces(chunks: readonly Chunk[]): ToolCall[] {
  return chunks.flatMap((chunk) => chunk.choices ?? []).flatMap(({ delta }) => delta.tool_calls ?? []);
}

/** Reads a recorded file of `test/recordings/openai-chat`. */
export function readRecording(name: string): string {
  return readFileSync(new URL(`../../recordings/openai-chat/${name}`, import.meta.url), "utf8");
}

/** A tool to call, with a schema that OpenAI's strict mode accepts. */
export const weatherTool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Tells the weather of a city.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
      required: ["city", "unit"],
      additionalProperties: false,
    },
    strict: true,
  },
} as const;
