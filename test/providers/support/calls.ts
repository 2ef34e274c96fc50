/** Requests of the cross-provider tests, made with the public library only, as a user would write them. */
import {
  type Client,
  type FinishReason_Reason,
  type Message,
  type RequestInput,
  type Response,
  type StreamEvent,
  type ToolCall,
  toolCallsOf,
  toolResult,
} from "outrigger";
import { LawChecker } from "outrigger/kit";
import { expect } from "vitest";
import type { Column } from "./columns.ts";
import { type Json, objects } from "./facts.ts";

/** An image of one pixel. */
export const imageBytes = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

/** The image as a data URL. */
export const imageDataUrl = `data:image/png;base64,${imageBytes.toString("base64")}`;

/** A schema that every provider supports without changes. */
export const weatherSchema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
  additionalProperties: false,
} as const;

/** A function tool. */
export const weatherTool = {
  tool: {
    case: "function",
    value: {
      name: "get_weather",
      description: "Returns the weather of a city.",
      parametersJson: JSON.stringify(weatherSchema),
    },
  },
} as const;

/** The fields of a request besides its provider and model. */
export type RequestFields = Partial<Omit<RequestInput, "provider" | "model">>;

/** A request to a column's model. */
export function requestTo(
  { name, model }: Pick<Column, "name" | "model">,
  question: RequestFields,
): RequestInput {
  return { provider: name, model, messages: [], ...question };
}

/** Reads a stream to its end, checking every event against the laws. */
export async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const laws = new LawChecker();
  const collected: StreamEvent[] = [];
  for await (const event of events) {
    laws.check(event);
    collected.push(event);
  }
  laws.end();
  return collected;
}

/** The response with which a stream finished. */
export function responseIn(events: readonly StreamEvent[]): Response {
  const last = events.at(-1)?.event;
  if (last?.case !== "finish" || last.value.response === undefined)
    throw new Error(`the stream ended with ${last?.case}`);
  return last.value.response;
}

/** The message of a response. */
export function toMessage({ message }: Response): Message {
  if (message === undefined) throw new Error("the response has no message");
  return message;
}

/** Whether an answer is requested whole or as a stream. */
export type CallMode = "complete" | "stream";

/** Makes one call in the given mode. */
export async function callModel(client: Client, request: RequestInput, mode: CallMode): Promise<Response> {
  return mode === "complete" ? client.complete(request) : responseIn(await collect(client.stream(request)));
}

/** The weather tool's result for a call. */
export function weatherFor({ input }: ToolCall): string {
  const { city } = JSON.parse(input.value ?? "");
  expect(city).toEqual(expect.any(String));
  return `Sunny in ${city}, 21 °C.`;
}

/**
 * Calls the model, executes the tools that it calls, and repeats until it answers without calling any.
 * @returns The responses, the last one without calls, and the conversation up to it.
 */
export async function runTools(
  client: Client,
  column: Column,
  question: RequestFields & { readonly messages: readonly Message[] },
  mode: CallMode = "complete",
): Promise<{ steps: Response[]; messages: Message[] }> {
  const steps: Response[] = [];
  const messages = [...question.messages];
  while (steps.length < MAX_STEPS) {
    const step = await callModel(client, requestTo(column, { ...question, messages }), mode);
    const calls = toolCallsOf(step);
    steps.push(step);
    messages.push(toMessage(step));
    if (calls.length === 0) return { steps, messages };
    const results = calls.map((call) => toolResult(call.id, weatherFor(call)));
    messages.push(...results);
  }
  throw new Error(`the model still calls tools after ${MAX_STEPS} steps`);
}

const MAX_STEPS = 10;

/** Why an answer ended. */
export function getReason({ finishReason }: Response): FinishReason_Reason | undefined {
  return finishReason?.reason;
}

/** Returns the error of a failed call, or undefined if it succeeds. */
export async function toFailure(call: () => Promise<unknown>): Promise<unknown> {
  return call().then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** The conversation in a body, message by message, without cache markers, which move and are not content. */
export function conversationIn({ input, messages, contents }: Json): string[] {
  const withoutMarkers = (key: string, value: unknown) => (key === "cache_control" ? undefined : value);
  return objects(input ?? messages ?? contents).map((message) => JSON.stringify(message, withoutMarkers));
}
