/** Two providers of different wire APIs behind real sockets, and both kinds of call. */
import {
  AnthropicAdapter,
  accumulate,
  Client,
  type ClientOptions,
  type CompleteResponse,
  type Middleware,
  OpenAIAdapter,
  type RequestInput,
  SDKError,
  userMessage,
} from "outrigger";
import type { Simulator } from "../../../simulator/index.ts";
import type { CallOptions } from "../../../src/core/adapter.ts";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";

/** A client of the simulator by the name `one` in OpenAI's API, and by the name `two` in Anthropic's. */
export function getClient(
  simulator: Simulator,
  middleware: readonly Middleware[],
  options: ClientOptions = {},
): Client {
  const apiKey = "test-key";
  const one = new OpenAIAdapter({ name: "one", apiKey, baseUrl: simulator.openaiBaseUrl });
  const two = new AnthropicAdapter({ name: "two", apiKey, baseUrl: simulator.anthropicBaseUrl });
  return new Client({ ...options, providers: { one, two }, defaultProvider: "one", middleware });
}

/** A request with one message. */
export function requestFor(model: string, changes: Partial<RequestInput> = {}): RequestInput {
  return { model, messages: [userMessage("Say something.")], ...changes };
}

/** A kind of call, with the same signature for both kinds. */
export type Call = (client: Client, request: RequestInput, options?: CallOptions) => Promise<Response>;

/** Both kinds of call by name, for `it.each`. A stream is read to its end, and checked against its laws. */
export const calls: readonly (readonly [kind: "complete" | "stream", call: Call])[] = [
  ["complete", (client, request, options): Promise<CompleteResponse> => client.complete(request, options)],
  ["stream", (client, request, options) => accumulate(client.stream(request, options))],
];

/** Returns the error that a call throws. */
export async function toFailure(call: Promise<unknown>): Promise<SDKError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof SDKError) return thrown;
  throw new Error(`expected an SDKError, found ${String(thrown)}`);
}

/** Names of the events of a stream, and what it throws. */
export async function getEvents(
  stream: AsyncIterable<StreamEvent>,
): Promise<{ names: string[]; error: unknown }> {
  const names: string[] = [];
  try {
    for await (const { event } of stream) names.push(event.case ?? "none");
    return { names, error: undefined };
  } catch (error) {
    return { names, error };
  }
}

/** Path and model of the simulator's requests, in order. */
export function listAsked(simulator: Simulator): string[] {
  return simulator.requests.map(({ path, body }) => `${path} ${getModel(body)}`);
}

function getModel(body: unknown): string {
  return typeof body === "object" && body !== null && "model" in body ? String(body.model) : "";
}
