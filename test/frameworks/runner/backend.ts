import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { startSidecar } from "../../clients/runner/sidecar.ts";

/** Name of a wire API of the simulator: the name of the sidecar's provider that speaks it. */
export type WireApi = "openai" | "anthropic" | "gemini" | "compatible";

/**
 * Models by wire API. Frameworks choose defaults by the names of models, and so does the sidecar's catalog, so the
 * names are real ones. The simulator reasons before it calls tools, and signs or encrypts its reasoning.
 */
const MODELS: Readonly<Record<WireApi, string>> = {
  openai: "gpt-5.6-sol",
  anthropic: "claude-opus-5",
  gemini: "gemini-3.1-pro-preview",
  compatible: "deepseek-v4-pro",
};

/** Models whose reasoning is bound to the conversation before it, at wire APIs whose other model has free reasoning. */
const BOUND_MODELS: Readonly<Partial<Record<WireApi, string>>> = { anthropic: "claude-opus-5-5" };

/** The wire APIs, in the order of the table. */
export const wireApis: readonly WireApi[] = ["openai", "anthropic", "gemini", "compatible"];

/** The other models, which are the same at each wire API. */
const OTHER_MODELS = {
  failing: "sim-text:error_after=12",
  failing_call: "sim-tools:preamble=1,error_after=5",
  echo: "sim-echo",
  failing_echo: "sim-echo:error_after=80",
  agent: "sim-call",
};

/** The models of a program's checks. */
export interface Target {
  readonly api: WireApi;
  /** A model that reasons, calls tools, and answers with what they returned. */
  readonly model: string;
  /** The same, with reasoning that is bound to the conversation before it, if the API has such models. */
  readonly bound: string;
  /** A model whose answers and streams report a failure in the middle. */
  readonly failing: string;
  /** A model that writes a sentence, and reports a failure within, before its tool call. */
  readonly failing_call: string;
  /** A model that repeats the last message. */
  readonly echo: string;
  /** A model that repeats the last message, and reports a failure in the middle. */
  readonly failing_echo: string;
  /** A model that makes the calls that the last message writes, and answers with what they returned. */
  readonly agent: string;
}

/** The models of each wire API, as requests to the sidecar name them. */
export const targets: readonly Target[] = wireApis.map((api) => ({
  api,
  model: `${api}/${MODELS[api]}`,
  bound: `${api}/${BOUND_MODELS[api] ?? MODELS[api]}`,
  failing: `${api}/failing`,
  failing_call: `${api}/failing_call`,
  echo: `${api}/echo`,
  failing_echo: `${api}/failing_echo`,
  agent: `${api}/agent`,
}));

/** A sidecar with the simulator behind it. */
export interface Backend {
  /** Base URL for clients of OpenAI's API. */
  readonly baseUrl: string;
  /** The simulator, which keeps the requests that it received. */
  readonly simulator: Simulator;
  close(): Promise<void>;
}

/** Starts a simulator, and the sidecar with each of its wire APIs as a provider. */
export async function startBackend(): Promise<Backend> {
  const names = [...Object.values(MODELS), ...Object.values(BOUND_MODELS)];
  const reasoning = names.map((name) => [name, "sim-reasoning"]);
  const aliases = { ...Object.fromEntries(reasoning), ...OTHER_MODELS };
  const simulator = await startSimulator({ aliases });
  const folder = await mkdtemp(join(tmpdir(), "outrigger-frameworks-"));
  const config = join(folder, "outrigger.json");
  await writeFile(config, JSON.stringify({ providers: getProviders(simulator) }));
  const sidecar = await startSidecar(["serve", "--config", config]);
  return {
    baseUrl: `http://${sidecar.address}/v1`,
    simulator,
    close: async () => {
      await sidecar.stop();
      await simulator.close();
      await rm(folder, { recursive: true });
    },
  };
}

function getProviders(simulator: Simulator): Readonly<Record<WireApi, object>> {
  const api_key = "simulator-key";
  return {
    openai: { api: "openai-responses", api_key, base_url: simulator.openaiBaseUrl },
    anthropic: { api: "anthropic-messages", api_key, base_url: simulator.anthropicBaseUrl },
    gemini: { api: "gemini", api_key, base_url: simulator.geminiBaseUrl },
    compatible: { api: "openai-chat", api_key, base_url: simulator.openaiBaseUrl },
  };
}
