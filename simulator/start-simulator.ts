import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAnthropicMessages } from "./anthropic-messages/format.ts";
import { createAnthropicModels } from "./anthropic-messages/models.ts";
import { createFaultCounter } from "./fault-counter.ts";
import { createGemini } from "./gemini/format.ts";
import { createGeminiModels } from "./gemini/models.ts";
import { handleRequest } from "./handle-request.ts";
import { isModelMistake, type ModelNaming, modelNames, readOptions } from "./model-choice.ts";
import { createOpenAIEmbeddings } from "./openai/embeddings.ts";
import { createOpenAIModels } from "./openai/models.ts";
import { createOpenAIChat } from "./openai-chat/format.ts";
import { createOpenAIResponses } from "./openai-responses/format.ts";
import {
  createRequestLog,
  type RequestLogLimits,
  type SimulatedRequest,
  type WaitOptions,
} from "./request-log.ts";
import { createPromptCache } from "./script/prompt-cache.ts";
import type { SimulatorLogLine, SimulatorState } from "./simulator-state.ts";
import type { WireFormat } from "./wire-format.ts";

/** Time after which an idle connection is closed, in milliseconds. */
const keepAliveTimeout = 75_000;

/** Options for running a simulator. */
export interface SimulatorOptions {
  /** Address to listen on. Defaults to `127.0.0.1`. */
  readonly host?: string;
  /** Port to listen on. Defaults to 0: any free port. */
  readonly port?: number;
  /** Called once for each request, when it has ended. */
  readonly log?: (line: SimulatorLogLine) => void;
  /** Other names for model strings, such as `{"gpt-5.6": "sim-tools:calls=2"}`. Defaults to none. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Options that apply if a model string does not set them, such as `rate=60`. Defaults to none. */
  readonly defaults?: string;
  /** Limits of {@link Simulator.requests}. */
  readonly requestLog?: RequestLogLimits;
}

/** A running simulator. */
export interface Simulator {
  /** `http://HOST:PORT`, without a path. */
  readonly url: string;
  /** Base URL for clients of OpenAI: {@link url} and `/v1`. */
  readonly openaiBaseUrl: string;
  /** Base URL for clients of Anthropic, which add the version themselves: {@link url}. */
  readonly anthropicBaseUrl: string;
  /** Base URL for clients of Gemini, which add the version themselves: {@link url}. */
  readonly geminiBaseUrl: string;
  /** The requests to the providers' endpoints, oldest first; limited by {@link SimulatorOptions.requestLog}. */
  readonly requests: readonly SimulatedRequest[];
  /** Clears the requests, and the counts of the option `times`. */
  clearRequests(): void;
  /** Resolves with the first matching request, once its body has arrived. Rejects after the timeout. */
  waitForRequest(options?: WaitOptions): Promise<SimulatedRequest>;
  /** Resolves with the first matching request, once its response has ended or its socket has closed. */
  waitForClose(options?: WaitOptions): Promise<SimulatedRequest>;
  /** Closes the listener and every connection. Resolves when no part of the simulator is running. */
  close(): Promise<void>;
}

/**
 * Starts a server that speaks the wire formats of model providers, for demos and tests. The model string of each
 * request chooses the script and the faults. Rejects if the address cannot be listened on, and with a RangeError if
 * `defaults` is not a list of options.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = "127.0.0.1", port = 0 } = options;
  const state = createState(options);
  const open = new Set<Promise<void>>();
  const server = createServer({ keepAliveTimeout, requestTimeout: 0 }, (request, response) => {
    const handled = handleRequest(state, request, response).finally(() => open.delete(handled));
    open.add(handled);
  });
  await listen(server, host, port);
  const url = toUrl(server);
  return {
    url,
    openaiBaseUrl: `${url}/v1`,
    anthropicBaseUrl: url,
    geminiBaseUrl: url,
    requests: state.log.entries,
    clearRequests: () => state.forget(),
    waitForRequest: state.log.waitForRequest,
    waitForClose: state.log.waitForClose,
    close: async () => {
      state.closing = true;
      await stop(server);
      await Promise.all(open);
      state.log.stop();
    },
  };
}

function createState(options: SimulatorOptions): SimulatorState {
  const log = createRequestLog(options.requestLog);
  const faults = createFaultCounter();
  const naming = readNaming(options);
  return {
    context: { naming, faults, cache: createPromptCache() },
    log,
    formats: createFormats(modelNames(naming)),
    report: options.log ?? (() => {}),
    forget: () => {
      log.clear();
      faults.reset();
    },
    count: 0,
    closing: false,
  };
}

/** Creates the formats. The first one that matches a request answers it. */
function createFormats(names: readonly string[]): WireFormat[] {
  return [
    createOpenAIResponses(),
    createOpenAIChat(),
    createOpenAIEmbeddings(),
    createAnthropicMessages(),
    createGemini(),
    // OpenAI's list is the last, since the others distinguish their requests from OpenAI's.
    createAnthropicModels(names),
    createGeminiModels(names),
    createOpenAIModels(names),
  ];
}

function readNaming(options: SimulatorOptions): ModelNaming {
  const defaults = readOptions(options.defaults ?? "");
  if (isModelMistake(defaults))
    throw new RangeError(`defaults of the simulator: ${"message" in defaults ? defaults.message : ""}`);
  return { aliases: options.aliases ?? {}, defaults };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, "listening");
}

function toUrl(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
