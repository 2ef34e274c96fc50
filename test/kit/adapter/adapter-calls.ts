/** Calls of an adapter over a real socket, for the tests of what all adapters share. */
import { connect } from "node:net";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, onTestFinished } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { LawChecker } from "../../../src/core/laws.ts";
import { userMessage } from "../../../src/core/message.ts";
import { type Request, RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { OpenAIAdapter, type OpenAIAdapterOptions } from "../../../src/providers/openai-responses/adapter.ts";
import { pause, serveTcp, type TestServer } from "../http/servers.ts";

/** The prompt of `ask`. */
export const PROMPT = "What do my hens in Leeds eat on a Sunday, and is it raining there?";

/** The key of `openAdapter`. */
export const KEY = "sk-test-0123456789";

/** Runs one simulator for the tests of a file, and forgets its requests after each. */
export function useSimulator(): () => Simulator {
  let simulator: Simulator | undefined;
  const running = (): Simulator => {
    if (simulator === undefined) throw new Error("the simulator has not started");
    return simulator;
  };
  beforeAll(async () => {
    simulator = await startSimulator();
  });
  afterEach(() => running().clearRequests());
  afterAll(() => running().close());
  return running;
}

/** An adapter that is closed after the test. */
export function openAdapter(
  place: { readonly openaiBaseUrl: string } | { readonly port: number },
  options: Partial<OpenAIAdapterOptions> = {},
): OpenAIAdapter {
  const baseUrl = "port" in place ? `http://127.0.0.1:${place.port}/v1` : place.openaiBaseUrl;
  const adapter = new OpenAIAdapter({ apiKey: KEY, baseUrl, ...options });
  onTestFinished(() => adapter.close());
  return adapter;
}

/** A request with a prompt, and a tool that the scripts of the simulator call. */
export function ask(model: string, more: MessageInitShape<typeof RequestSchema> = {}): Request {
  const parametersJson = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';
  const tools = [{ tool: { case: "function", value: { name: "get_weather", parametersJson } } } as const];
  return create(RequestSchema, { model, messages: [userMessage(PROMPT)], tools, ...more });
}

/** The outcome of a stream: its events, and the error that was thrown at its end. */
export interface Outcome {
  readonly events: StreamEvent[];
  readonly error: unknown;
}

/** Reads a stream and checks the laws. `onEvent` sees each event, and ends the reading if it returns true. */
export async function read(
  stream: AsyncIterable<StreamEvent>,
  onEvent: (event: StreamEvent) => boolean | undefined = () => false,
): Promise<Outcome> {
  const laws = new LawChecker();
  const events: StreamEvent[] = [];
  try {
    for await (const event of stream) {
      laws.check(event);
      events.push(event);
      if (onEvent(event)) return { events, error: undefined };
    }
  } catch (error) {
    if (events.length > 0) laws.end();
    return { events, error };
  }
  laws.end();
  return { events, error: undefined };
}

/** The cases of some events. */
export function getCases(events: readonly StreamEvent[]): (string | undefined)[] {
  return events.map(({ event }) => event.case);
}

/**
 * Waits until data on its way over loopback has arrived: some time, and turns of the event loop in which sockets are
 * read.
 */
export function settle(): Promise<void> {
  return pause(20);
}

/** A proxy before the simulator that counts its connections. */
export function relayTo({ url }: Simulator): Promise<TestServer> {
  const port = Number(new URL(url).port);
  return serveTcp((socket) => {
    const beyond = connect(port, "127.0.0.1");
    socket.pipe(beyond).pipe(socket);
    socket.on("close", () => beyond.destroy());
    beyond.on("error", () => socket.destroy()).on("close", () => socket.destroy());
  });
}
