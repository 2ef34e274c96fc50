import { readFileSync } from "node:fs";
import type { Simulator } from "../../../simulator/index.ts";
import { type RawAnswer, type RawOptions, rawPost } from "../raw-post.ts";

/** The headers that every request needs. */
export const headers = { "x-goog-api-key": "test-key" };

/** The fields of a part that tests read. */
export interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly functionCall?: { readonly id?: string; readonly name: string; readonly args: unknown };
  readonly inlineData?: { readonly mimeType: string; readonly data: string };
}

/** A span of a text. */
interface Segment {
  readonly startIndex?: number;
  readonly endIndex: number;
  readonly text: string;
}

/** The fields of a whole answer, or of an object of a stream, that tests read. */
export interface AnsweredObject {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly Part[]; readonly role: string };
    readonly finishReason?: string;
    readonly finishMessage?: string;
    readonly safetyRatings?: readonly { readonly blocked?: boolean }[];
    readonly groundingMetadata?: {
      readonly groundingChunks: readonly { readonly web: { readonly uri: string } }[];
      readonly groundingSupports: readonly {
        readonly segment: Segment;
        readonly groundingChunkIndices: readonly number[];
      }[];
      readonly webSearchQueries: readonly string[];
    };
    readonly citationMetadata?: { readonly citationSources: readonly { readonly uri: string }[] };
  }[];
  readonly promptFeedback?: { readonly blockReason: string };
  readonly usageMetadata: {
    readonly promptTokenCount: number;
    readonly candidatesTokenCount?: number;
    readonly thoughtsTokenCount?: number;
    readonly cachedContentTokenCount?: number;
    readonly totalTokenCount: number;
    readonly promptTokensDetails: readonly { readonly modality: string; readonly tokenCount: number }[];
  };
  readonly modelVersion: string;
  readonly responseId: string;
}

/** A function to call. */
export const weatherTool = {
  name: "get_weather",
  description: "Tells the weather of a city.",
  parametersJsonSchema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  },
};

/** A content of the user. */
export function user(...parts: (string | object)[]): object {
  return { role: "user", parts: parts.map((part) => (typeof part === "string" ? { text: part } : part)) };
}

/** A content of the model. */
export function model(...parts: readonly object[]): object {
  return { role: "model", parts };
}

/** A body with a question. */
export const hello = { contents: [user("Hello 🧭")] };

/** Settings of a request. */
export interface Sending extends RequestInit {
  /** The model string. Defaults to `sim-text`. */
  readonly model?: string;
  /** Method and query. Defaults to `generateContent`. */
  readonly call?: string;
}

/** The path of a call. */
export function toPath({ model: name = "sim-text", call = "generateContent" }: Sending): string {
  return `/v1beta/models/${encodeURIComponent(name)}:${call}`;
}

/** Posts a body. */
export function post(simulator: Simulator, body: unknown, sending: Sending = {}): Promise<Response> {
  return fetch(`${simulator.geminiBaseUrl}${toPath(sending)}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...sending,
  });
}

/** Posts a body, by default with the contents of {@link hello}. Returns the answer; fails unless it is a 200. */
export async function ask(simulator: Simulator, name: string, changes: object = {}): Promise<AnsweredObject> {
  const response = await post(simulator, { ...hello, ...changes }, { model: name });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return JSON.parse(text) as AnsweredObject;
}

/** The call that streams events. */
export const streaming = "streamGenerateContent?alt=sse";

/** Requests a stream and returns its objects. Fails unless the status is 200. */
export async function stream(
  simulator: Simulator,
  name: string,
  changes: object = {},
): Promise<AnsweredObject[]> {
  const response = await post(simulator, { ...hello, ...changes }, { model: name, call: streaming });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return parseObjects(text);
}

/** Parses a body of server-sent events. Its lines must end with CRLF, as Google's do. */
export function parseObjects(body: string): AnsweredObject[] {
  return body
    .split("\r\n\r\n")
    .filter(Boolean)
    .map((frame) => {
      if (!/^data: .*$/.test(frame)) throw new Error(`no event: ${frame.slice(0, 100)}`);
      return JSON.parse(frame.slice("data: ".length)) as AnsweredObject;
    });
}

/** The parts of an answer. */
export function getParts({ candidates }: AnsweredObject): readonly Part[] {
  return candidates?.[0]?.content?.parts ?? [];
}

/** The text of one answer, or of the objects of a stream, without thoughts. */
export function textOf(...objects: readonly AnsweredObject[]): string {
  return objects
    .flatMap(getParts)
    .map(({ text = "", thought }) => (thought === true ? "" : text))
    .join("");
}

/** The error of a refused request. */
export interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly status: string;
  readonly details?: readonly {
    readonly "@type": string;
    readonly reason?: string;
    readonly retryDelay?: string;
  }[];
}

/** Posts a body that is refused, and returns the error. */
export async function refusal(simulator: Simulator, body: unknown, sending: Sending = {}): Promise<Refusal> {
  const response = await post(simulator, body, sending);
  const { error } = (await response.json()) as { error: Refusal };
  if (error.code !== response.status) throw new Error(`status ${response.status} holds ${error.code}`);
  return error;
}

/** Posts a body over a separate socket, and requests a stream by default. */
export function raw(
  simulator: Simulator,
  name: string,
  changes: object = {},
  options: RawOptions & { readonly call?: string } = {},
): Promise<RawAnswer> {
  const path = toPath({ model: name, call: options.call ?? streaming });
  return rawPost(simulator, { ...hello, ...changes }, { headers, path, ...options });
}

/** Reads a recorded file of `test/recordings/gemini`. */
export function readRecording(name: string): string {
  return readFileSync(new URL(`../../recordings/gemini/${name}`, import.meta.url), "utf8");
}
