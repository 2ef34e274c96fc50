/**
 * The HTTP APIs under `/v1`: the APIs of OpenAI, Anthropic and Gemini, for the models of every provider. Gemini's API
 * is also under `/v1beta`, which its older clients call.
 */
import { MemoryAccount } from "../core/memory-account.ts";
import type { HttpApi } from "../http/endpoint.ts";
import { createHttpApi, type WriteFailure } from "../http/route-table.ts";
import { DEFAULT_KEEP_MS, RecentAnswers } from "./answers/recent-answers.ts";
import { ResponseCache } from "./answers/response-cache.ts";
import { chatRoutes } from "./chat-completions/routes.ts";
import { conversationRoutes } from "./conversations/routes.ts";
import { embeddingRoutes } from "./embeddings/routes.ts";
import { failedGeneration } from "./gemini/errors.ts";
import { geminiRoutes } from "./gemini/routes.ts";
import { failedMessage } from "./messages/errors.ts";
import { messagesRoutes } from "./messages/routes.ts";
import { isAnthropicClient, isGoogleClient } from "./models/clients.ts";
import type { ModelDirectory } from "./models/model-directory.ts";
import { geminiModelRoutes, modelRoutes } from "./models/routes.ts";
import { failedResponse } from "./openai/errors.ts";
import type { ResponsesParts } from "./responses/parts.ts";
import { ReplayCheckpoints } from "./responses/replay-checkpoints.ts";
import { inputRoutes, responsesRoutes } from "./responses/routes.ts";

/** The parts that the APIs use. */
export interface V1Parts extends Omit<ResponsesParts, "responseCache" | "recentAnswers" | "checkpoints"> {
  readonly models: ModelDirectory;
  /** The memory of the process. Default: a new account. */
  readonly account?: MemoryAccount | undefined;
  /**
   * How long answers with tool calls that are not stored are kept in memory after their last use, in milliseconds.
   * Default: one hour. 0: not at all.
   */
  readonly keepUnstoredMs?: number | undefined;
}

/** The APIs. */
export interface V1Api {
  readonly apis: readonly HttpApi[];
  /** Drops what they keep in memory. */
  close(): void;
}

/** Creates the APIs. */
export function createV1Api(parts: V1Parts): V1Api {
  const { account = new MemoryAccount(), keepUnstoredMs = DEFAULT_KEEP_MS } = parts;
  const responseCache = new ResponseCache(account.kept);
  const recentAnswers = new RecentAnswers(responseCache, { keepMs: keepUnstoredMs });
  const shared = { ...parts, responseCache, recentAnswers, checkpoints: new ReplayCheckpoints() };
  const routes = [
    ...inputRoutes(shared),
    ...responsesRoutes(shared),
    ...chatRoutes(shared),
    ...messagesRoutes(shared),
    ...conversationRoutes(parts.engine.threads),
    ...embeddingRoutes(parts.models),
    ...geminiRoutes("/v1/models", shared),
    ...modelRoutes(parts.models, failedForCaller),
  ];
  const betaRoutes = [
    ...geminiRoutes("/v1beta/models", shared),
    ...geminiRoutes("/v1beta", shared),
    ...geminiModelRoutes(parts.models),
  ];
  const v1 = createHttpApi(routes, {
    root: "/v1/",
    fail: failedResponse,
    unknownPath: { fail: failedForCaller, requestIdHeader: REQUEST_ID },
  });
  const v1beta = createHttpApi(betaRoutes, {
    root: "/v1beta/",
    fail: failedGeneration,
    unknownPath: { fail: failedBeta, requestIdHeader: REQUEST_ID },
  });
  return {
    apis: [v1, v1beta],
    close: () => recentAnswers.close(),
  };
}

/** Formats failures of paths that several APIs share and of unknown paths, as the caller's client library expects. */
const failedForCaller: WriteFailure = (error, request) => {
  if (isGoogleClient(request)) return failedGeneration(error);
  return isAnthropicClient(request) ? failedMessage(error) : failedResponse(error);
};

/** Formats the failures of paths under `/v1beta` that are not served. */
const failedBeta: WriteFailure = (error, request) =>
  isAnthropicClient(request) ? failedMessage(error) : failedGeneration(error);

/** Header from which Anthropic's SDKs read the id of a request. */
const REQUEST_ID = "request-id";
