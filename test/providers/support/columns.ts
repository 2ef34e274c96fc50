/** The four providers of the cross-provider tables, and a stage on which each meets the simulator. */
import {
  AnthropicAdapter,
  Client,
  GeminiAdapter,
  OpenAIAdapter,
  OpenAIChatAdapter,
  type ProviderAdapter,
} from "outrigger";
import { type SimulatedRequest, type Simulator, startSimulator } from "../../../src/simulator/index.ts";
import { type Counts, type Json, object, type Reading } from "./facts.ts";
import { countAnthropicMessages, readAnthropicMessages } from "./read-anthropic-messages.ts";
import { countGemini, readGemini } from "./read-gemini.ts";
import { countOpenAIChat, readOpenAIChat } from "./read-openai-chat.ts";
import { countOpenAIResponses, readOpenAIResponses } from "./read-openai-responses.ts";

/** Name under which a column's adapter is registered. */
export type ColumnName = "openai" | "anthropic" | "gemini" | "compatible";

/** How an adapter is set up; all of them take these options. */
export interface ConnectOptions {
  readonly apiKey: string;
  readonly allowFilesUnder?: readonly string[];
  readonly defaultHeaders?: Readonly<Record<string, string>>;
}

/** One provider of a table. */
export interface Column {
  /** As the head of the table says it. */
  readonly title: string;
  /** Name under which its adapter is registered. */
  readonly name: ColumnName;
  /** A model that reasons, takes images and calls tools; the catalog knows it where it knows the provider. */
  readonly model: string;
  /** Another one, with the same abilities. */
  readonly otherModel: string;
  /** Its adapter, pointed at a simulator. */
  connect(url: string, options: ConnectOptions): ProviderAdapter;
  /** Environment variables that register it, pointed at a simulator. */
  environment(url: string, apiKey: string): Readonly<Record<string, string>>;
  /** Path that a request arrives at. */
  readonly path: { readonly complete: string; readonly stream: string };
  /** Header that brings the key, with what stands before it. */
  readonly keyHeader: { readonly name: string; readonly prefix: string };
  /** What a body of its wire format says. */
  read(body: Json): Reading;
  /** What a whole answer of its wire format says that it cost. */
  count(answer: Json): Counts;
}

/** Of a server that takes its reasoning back, and ids and names of tool calls as OpenAI does. */
const compatibleProfile = {
  replayReasoning: true,
  toolCallIdPattern: "forty_characters",
  maxToolNameChars: 64,
} as const;

/** The providers, in the order of the specification's table; OpenAI-compatible servers come last. */
export const columns: readonly Column[] = [
  {
    title: "OpenAI",
    name: "openai",
    model: "gpt-5.6-sol",
    otherModel: "gpt-6.1-sol",
    connect: (url, options) => new OpenAIAdapter({ ...options, baseUrl: `${url}/v1` }),
    environment: (url, apiKey) => ({ OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: `${url}/v1` }),
    path: { complete: "/v1/responses", stream: "/v1/responses" },
    keyHeader: { name: "authorization", prefix: "Bearer " },
    read: readOpenAIResponses,
    count: countOpenAIResponses,
  },
  {
    title: "Anthropic",
    name: "anthropic",
    model: "claude-opus-4-8",
    otherModel: "claude-opus-4-7",
    connect: (url, options) => new AnthropicAdapter({ ...options, baseUrl: url }),
    environment: (url, apiKey) => ({ ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: url }),
    path: { complete: "/v1/messages", stream: "/v1/messages" },
    keyHeader: { name: "x-api-key", prefix: "" },
    read: readAnthropicMessages,
    count: countAnthropicMessages,
  },
  {
    title: "Gemini",
    name: "gemini",
    model: "gemini-3.5-flash",
    otherModel: "gemini-3.6-flash",
    connect: (url, options) => new GeminiAdapter({ ...options, baseUrl: url }),
    environment: (url, apiKey) => ({ GEMINI_API_KEY: apiKey, GEMINI_BASE_URL: url }),
    path: {
      complete: "/v1beta/models/gemini-3.5-flash:generateContent",
      stream: "/v1beta/models/gemini-3.5-flash:streamGenerateContent",
    },
    keyHeader: { name: "x-goog-api-key", prefix: "" },
    read: readGemini,
    count: countGemini,
  },
  {
    title: "OpenAI-compatible",
    name: "compatible",
    model: "compatible-1",
    otherModel: "compatible-2",
    connect: (url, options) =>
      new OpenAIChatAdapter({ ...options, baseUrl: `${url}/v1`, profile: compatibleProfile }),
    environment: (url, apiKey) => ({
      OUTRIGGER_COMPATIBLE_BASE_URL: `${url}/v1`,
      OUTRIGGER_COMPATIBLE_API_KEY: apiKey,
    }),
    path: { complete: "/v1/chat/completions", stream: "/v1/chat/completions" },
    keyHeader: { name: "authorization", prefix: "Bearer " },
    read: readOpenAIChat,
    count: countOpenAIChat,
  },
];

/** A client with all columns registered, and the simulator that they talk to. */
export interface Stage extends AsyncDisposable {
  readonly client: Client;
  readonly simulator: Simulator;
  /** The requests that arrived, oldest first. */
  readonly requests: readonly SimulatedRequest[];
  /** The body of a request that arrived; the last one unless its place is given, counted from 0. */
  bodyAt(index?: number): Json;
}

/**
 * Sets a stage on which the models of every column follow one script.
 * @param script A model string of the simulator, such as `sim-tools:calls=2`. Requests may name others as their model.
 * @param further Further models that follow it.
 */
export async function setStage(
  script = "sim-text",
  options: ConnectOptions = { apiKey: "test-key" },
  further: readonly string[] = [],
): Promise<Stage> {
  const models = columns.flatMap(({ model, otherModel }) => [model, otherModel]);
  const aliases = Object.fromEntries([...models, ...further].map((model) => [model, script]));
  const simulator = await startSimulator({ aliases });
  const providers = columns.map(({ name, connect }) => [name, connect(simulator.url, options)]);
  const client = new Client({ providers: Object.fromEntries(providers) });
  return {
    client,
    simulator,
    requests: simulator.requests,
    bodyAt: (index = -1) => object(simulator.requests.at(index)?.body),
    async [Symbol.asyncDispose]() {
      await client.close();
      await simulator.close();
    },
  };
}
