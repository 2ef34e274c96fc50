/** The public API of Outrigger as a TypeScript library. */

// The contract: its messages are the data model, and `create(RequestSchema, {...})` makes them.
export { create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
export {
  Catalog,
  costOf,
  createCatalog,
  defaultCatalog,
  sameModel,
  traitsOf,
} from "./catalog/catalog.ts";
export type { CatalogEntry } from "./catalog/catalog-data.ts";
export type { CostOptions } from "./catalog/model-cost.ts";
export type { ModelTraits } from "./catalog/model-traits.ts";
// The client.
export { getLatestModel, getModelInfo, listModels } from "./client/catalog.ts";
export { Client, type ClientOptions } from "./client/client.ts";
export { getDefaultClient, setDefaultClient } from "./client/default-client.ts";
export type { Environment } from "./client/from-env.ts";
export type {
  CompleteNext,
  Middleware,
  MiddlewareFunction,
  MiddlewareMethods,
  StreamNext,
} from "./client/middleware.ts";
export type { RequestInput } from "./client/request-input.ts";
// The adapter interface, its errors, and the laws of its streams.
export { accumulate, StreamAccumulator } from "./core/accumulator.ts";
export type { CallOptions, ProviderAdapter } from "./core/adapter.ts";
export * from "./core/errors.ts";
export { EventStream } from "./core/event-stream.ts";
export { LawChecker } from "./core/laws.ts";
export * from "./core/message.ts";
export * from "./core/parts.ts";
export { type CompleteResponse, type FinishReasonName, finishReasonOf } from "./core/response.ts";
export * from "./core/response-format.ts";
export * from "./core/tools.ts";
export { addUsage } from "./core/usage.ts";
export * from "./gen/outrigger/v1/catalog_service_pb.ts";
export * from "./gen/outrigger/v1/error_pb.ts";
export * from "./gen/outrigger/v1/inference_service_pb.ts";
export * from "./gen/outrigger/v1/message_pb.ts";
export * from "./gen/outrigger/v1/request_pb.ts";
export * from "./gen/outrigger/v1/response_pb.ts";
export * from "./gen/outrigger/v1/stream_event_pb.ts";
export * from "./gen/outrigger/v1/tool_pb.ts";
export * from "./gen/outrigger/v1/usage_pb.ts";
// Retries: `complete` and `stream` themselves never retry.
export {
  DEFAULT_RETRY_POLICY,
  type RetryOptions,
  type RetryPolicy,
  retry,
  retryDelayOf,
} from "./generation/retry.ts";
export type { HttpTimeouts } from "./kit/http/transport.ts";
// The adapters.
export { AnthropicAdapter, type AnthropicAdapterOptions } from "./providers/anthropic-messages/adapter.ts";
export { GeminiAdapter, type GeminiAdapterOptions } from "./providers/gemini/adapter.ts";
export {
  OpenAIChatAdapter,
  type OpenAIChatAdapterOptions,
} from "./providers/openai-chat/adapter.ts";
export type { ServerProfile } from "./providers/openai-chat/profile.ts";
export { OpenAIAdapter, type OpenAIAdapterOptions } from "./providers/openai-responses/adapter.ts";
