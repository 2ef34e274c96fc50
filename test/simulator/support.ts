import { readFileSync } from "node:fs";
import type { FunctionTool } from "openai/resources/responses/responses";
import { afterAll, beforeAll } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../simulator/index.ts";

/** An event of a stream, parsed. */
export interface ParsedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Runs one simulator for the tests of a file. Call it at the top of the file. */
export function useSimulator(options: SimulatorOptions = {}): () => Simulator {
  let simulator: Simulator | undefined;
  beforeAll(async () => {
    simulator = await startSimulator(options);
  });
  afterAll(async () => {
    await simulator?.close();
  });
  return () => {
    if (simulator === undefined) throw new Error("the simulator has not started");
    return simulator;
  };
}

/** Posts a body to `POST /v1/responses`. */
export function post(simulator: Simulator, body: unknown, init: RequestInit = {}): Promise<Response> {
  return fetch(`${simulator.openaiBaseUrl}/responses`, {
    method: "POST",
    headers: { authorization: "Bearer test-key", "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
}

/** Posts a body and returns the answer as JSON. Fails unless the status is 200. */
export async function ask(simulator: Simulator, body: object): Promise<AnsweredResponse> {
  const response = await post(simulator, body);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return JSON.parse(text) as AnsweredResponse;
}

/** Posts a body with `stream: true` and returns the events. Fails unless the status is 200. */
export async function stream(simulator: Simulator, body: object): Promise<ParsedEvent[]> {
  const response = await post(simulator, { ...body, stream: true });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return parseEvents(text);
}

/** The fields of a whole answer that the tests read. */
export interface AnsweredResponse {
  readonly id: string;
  readonly status: string;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly output: readonly OutputItem[];
  readonly usage: {
    readonly input_tokens: number;
    readonly input_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens: number };
    readonly output_tokens: number;
    readonly output_tokens_details: { readonly reasoning_tokens: number };
    readonly total_tokens: number;
  };
  readonly error: { readonly code: string } | null;
}

/** The fields of an output item that the tests read. */
export interface OutputItem {
  readonly id: string;
  readonly type: string;
  readonly status?: string;
  readonly phase?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly input?: string;
  readonly call_id?: string;
  readonly result?: string;
  readonly encrypted_content?: string;
  readonly summary?: readonly { readonly text: string }[];
  readonly action?: { readonly type: string; readonly query: string; readonly sources?: readonly unknown[] };
  readonly content?: readonly {
    readonly type: string;
    readonly text?: string;
    readonly refusal?: string;
    readonly annotations?: readonly {
      readonly url: string;
      readonly start_index: number;
      readonly end_index: number;
    }[];
  }[];
}

/** The text of an answer's messages. */
export function textOf(response: { readonly output: readonly OutputItem[] }): string {
  return response.output
    .flatMap((item) => (item.type === "message" ? (item.content ?? []) : []))
    .map((part) => part.text ?? "")
    .join("");
}

/** Parses a body of server-sent events. The event's name must equal its type. */
export function parseEvents(body: string): ParsedEvent[] {
  return body
    .split("\n\n")
    .filter((frame) => frame.includes("data: "))
    .map((frame) => {
      const [, name] = /^event: (.*)$/m.exec(frame) ?? [];
      const [, data = ""] = /^data: (.*)$/m.exec(frame) ?? [];
      const event = JSON.parse(data) as ParsedEvent;
      if (name !== undefined && name !== event.type) throw new Error(`event ${name} has type ${event.type}`);
      return event;
    });
}

/** The response in the last event of a stream. */
export function lastResponse(events: readonly ParsedEvent[]): AnsweredResponse {
  const response = events.at(-1)?.response;
  if (response === undefined) throw new Error("the last event has no response");
  return response as AnsweredResponse;
}

/** Reads a recorded file of `test/recordings/openai-responses`. */
export function readRecording(name: string): string {
  return readFileSync(new URL(`../recordings/openai-responses/${name}`, import.meta.url), "utf8");
}

/** A tool to call, with a schema that has one required and one optional property. */
export const weatherTool: FunctionTool = {
  type: "function",
  name: "get_weather",
  description: "Returns the weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
    required: ["city", "unit"],
    additionalProperties: false,
  },
  strict: true,
};
