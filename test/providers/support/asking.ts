/** What the cross-provider tests ask: through the public library alone, as a user would write it. */
import {
  type Client,
  type FinishReason_Reason,
  LawChecker,
  type Message,
  type RequestInput,
  type Response,
  type StreamEvent,
  type ToolCall,
  toolCallsOf,
  toolResult,
} from "outrigger";
import { expect } from "vitest";
import type { Column } from "./columns.ts";
import { type Json, objects } from "./facts.ts";

/** A picture of one pixel. */
export const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

/** The picture as a URL that holds it. */
export const pictureUrl = `data:image/png;base64,${picture.toString("base64")}`;

/** A schema that every provider takes whole. */
export const weatherSchema = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"],
  additionalProperties: false,
} as const;

/** A tool that the caller runs. */
export const weatherTool = {
  tool: {
    case: "function",
    value: {
      name: "get_weather",
      description: "Tells the weather of a city.",
      parametersJson: JSON.stringify(weatherSchema),
    },
  },
} as const;

/** What makes a request beside its provider and model. */
export type Question = Omit<Exclude<RequestInput, { $typeName: string }>, "$typeName" | "provider" | "model">;

/** A request to a column's model. */
export function requestTo({ name, model }: Pick<Column, "name" | "model">, question: Question): RequestInput {
  return { provider: name, model, ...question };
}

/** Reads a stream to its end, holding every event to the laws. */
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
export function messageOf({ message }: Response): Message {
  if (message === undefined) throw new Error("the response has no message");
  return message;
}

/** Whether an answer came in one piece or as a stream. */
export type Manner = "complete" | "stream";

/** Asks once, in one manner or the other. */
export async function answerTo(client: Client, request: RequestInput, manner: Manner): Promise<Response> {
  return manner === "complete" ? client.complete(request) : responseIn(await collect(client.stream(request)));
}

/** What the weather tool says of a call. */
export function weatherFor({ input }: ToolCall): string {
  const { city } = JSON.parse(input.value ?? "");
  expect(city).toEqual(expect.any(String));
  return `Sunny in ${city}, 21 °C.`;
}

/**
 * Asks, runs the tools that the model calls, and asks again until it answers without calling any.
 * @returns The responses, the last one without calls, and the conversation up to it.
 */
export async function runTools(
  client: Client,
  column: Column,
  question: Question & { readonly messages: readonly Message[] },
  manner: Manner = "complete",
): Promise<{ steps: Response[]; messages: Message[] }> {
  const steps: Response[] = [];
  const messages = [...question.messages];
  while (steps.length < MOST_STEPS) {
    const step = await answerTo(client, requestTo(column, { ...question, messages }), manner);
    const calls = toolCallsOf(step);
    steps.push(step);
    messages.push(messageOf(step));
    if (calls.length === 0) return { steps, messages };
    const results = calls.map((call) => toolResult({ toolCallId: call.id, content: weatherFor(call) }));
    messages.push(...results);
  }
  throw new Error(`the model still calls tools after ${MOST_STEPS} steps`);
}

const MOST_STEPS = 10;

/** Why an answer ended. */
export function reasonOf({ finishReason }: Response): FinishReason_Reason | undefined {
  return finishReason?.reason;
}

/** What a call fails with; undefined where it does not. */
export async function failureOf(call: () => Promise<unknown>): Promise<unknown> {
  return call().then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** The conversation in a body, message by message, without marks for caches: they move and are no content. */
export function conversationIn({ input, messages, contents }: Json): string[] {
  const unmarked = (key: string, value: unknown) => (key === "cache_control" ? undefined : value);
  return objects(input ?? messages ?? contents).map((message) => JSON.stringify(message, unmarked));
}
