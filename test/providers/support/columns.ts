/** The four providers of the cross-provider tables, and a fixture that connects each to the simulator. */
import {
  AnthropicAdapter,
  Client,
  GeminiAdapter,
  OpenAIAdapter,
  OpenAIChatAdapter,
  type ProviderAdapter,
} from "outrigger";
import { type SimulatedRequest, type Simulator, startSimulator } from "../../../simulator/index.ts";
import { type Counts, type Json, object, type Reading } from "./facts.ts";
import { countAnthropicMessages, readAnthropicMessages } from "./read-anthropic-messages.ts";
import { countGemini, readGemini } from "./read-gemini.ts";
import { countOpenAIChat, readOpenAIChat } from "./read-openai-chat.ts";
import { countOpenAIResponses, readOpenAIResponses } from "./read-openai-responses.ts";

/** Name under which a column's adapter is registered. */
export type ColumnName = "openai" | "anthropic" | "gemini" | "compatible";

/** Options that all adapters have. */
export interface ConnectOptions {
  readonly apiKey: string;
  readonly allowFilesUnder?: readonly string[];
  readonly defaultHeaders?: Readonly<Record<string, string>>;
}

/** One provider of a table. */
export interface Column {
  /** Heading of its column. */
  readonly title: string;
  /** Name under which its adapter is registered. */
  readonly name: ColumnName;
  /** A model that reasons, accepts images and calls tools. In the catalog if the provider is. */
  readonly model: string;
  /** Another one, with the same capabilities. */
  readonly otherModel: string;
  /** Its adapter, connected to a simulator. */
  connect(url: string, options: ConnectOptions): ProviderAdapter;
  /** Environment variables that register it with a simulator as its address. */
  environment(url: string, apiKey: string): Readonly<Record<string, string>>;
  /** Path of a request. */
  readonly path: { readonly complete: string; readonly stream: string };
  /** Header that carries the key, and the prefix of its value. */
  readonly keyHeader: { readonly name: string; readonly prefix: string };
  /** Reads a body of its wire format. */
  read(body: Json): Reading;
  /** Reads the token counts of a whole answer of its wire format. */
  count(answer: Json): Counts;
}

/** A server that accepts its reasoning back, and has OpenAI's rules for ids and names of tool calls and for schemas. */
const compatibleProfile = {
  strictSchemas: "openai",
  replayReasoning: true,
  toolCallIdPattern: "forty_characters",
  maxToolNameChars: 64,
} as const;

/** The providers; OpenAI-compatible servers come last. */
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

/** A client with all columns registered, and the simulator that they call. */
export interface Fixture extends AsyncDisposable {
  readonly client: Client;
  readonly simulator: Simulator;
  /** The received requests, oldest first. */
  readonly requests: readonly SimulatedRequest[];
  /** The body of a received request, by index from 0; by default the last one. */
  bodyAt(index?: number): Json;
}

/**
 * Creates a fixture in which the models of every column follow one script.
 * @param script A model string of the simulator, such as `sim-tools:calls=2`. Requests may name others as their model.
 * @param further Additional models that follow it.
 */
export async function createFixture(
  script = "sim-text",
  options: ConnectOptions = { apiKey: "test-key" },
  further: readonly string[] = [],
): Promise<Fixture> {
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
