/** `outrigger`: the library. See docs/library.md. Schemas are in `outrigger/proto`, what adapters share in `outrigger/kit`. */

// The catalog.
export { Catalog, type CatalogOptions, costOf, createCatalog, defaultCatalog } from "./catalog/catalog.ts";
export type { CapabilityWord, CatalogEntry } from "./catalog/catalog-data.ts";
export type { CostOptions } from "./catalog/model-cost.ts";
export type { ModelPrices, ModelSettings } from "./catalog/model-settings.ts";
export type { ModelTraits } from "./catalog/model-traits.ts";
export { getLatestModel, getModelInfo, listModels } from "./client/catalog.ts";
export { Client, type ClientOptions } from "./client/client.ts";
export { getDefaultClient, setDefaultClient } from "./client/default-client.ts";
export type { FieldPaths } from "./client/field-paths.ts";
export type { Environment } from "./client/from-env.ts";
export type {
  CompleteNext,
  Middleware,
  MiddlewareFunction,
  MiddlewareMethods,
  StreamNext,
} from "./client/middleware.ts";
export type { RequestInput, ToolInput } from "./client/request-input.ts";
// Answers.
export { accumulate, StreamAccumulator } from "./core/accumulator.ts";
// The client.
export type { CallOptions, CallTarget, ProviderAdapter } from "./core/adapter.ts";
export * from "./core/errors.ts";
export { EventStream } from "./core/event-stream.ts";
export { messageFromJson, responseFromJson, toJson } from "./core/json-form.ts";
// Requests.
export {
  assistantMessage,
  developerMessage,
  type MessageInput,
  reasoningOf,
  systemMessage,
  textOf,
  toolCallsOf,
  userMessage,
} from "./core/message.ts";
export type { JsonObject, JsonValue, ParseResult } from "./core/parse-json.ts";
export {
  audioPart,
  type Content,
  type DocumentOptions,
  documentPart,
  type ImageOptions,
  imagePart,
  type MediaOptions,
  type MediaSource,
  type PartInput,
  type ReasoningInput,
  reasoningPart,
  type SignedReasoningInput,
  textPart,
} from "./core/parts.ts";
export { type CompleteResponse, type FinishReasonName, finishReasonOf } from "./core/response.ts";
export { type JsonSchemaOptions, jsonObject, jsonOf, jsonSchema } from "./core/response-format.ts";
export type { JsonSchema, StandardIssue, StandardResult, StandardSchema } from "./core/schema.ts";
export type {
  ActiveCustomInput,
  ActiveFunctionInput,
  ActiveTool,
  CustomToolInput,
  Executable,
  FunctionToolInput,
  HostedToolInput,
  ToolArguments,
  ToolContext,
} from "./core/tool-input.ts";
export {
  argumentsOf,
  customTool,
  functionTool,
  hostedTool,
  type ToolChoiceInput,
  type ToolChoiceOptions,
  type ToolResultOptions,
  toolChoice,
  toolInputOf,
  toolResult,
} from "./core/tools.ts";
export { addUsage } from "./core/usage.ts";
// The messages and enums of the contract, as types and values without their schemas.
export type { Attempt } from "./gen/outrigger/v1/attempt_pb.ts";
export { Capability, type ModelInfo, type Price } from "./gen/outrigger/v1/catalog_service_pb.ts";
export { ErrorKind, type InferenceError, type ProviderFailure } from "./gen/outrigger/v1/error_pb.ts";
export {
  type Audio,
  type Citation,
  type ContentPart,
  type Document,
  type Image,
  type Message,
  type NativePart,
  type ProviderState,
  type Reasoning,
  Role,
  type ToolCall,
  type ToolResult,
} from "./gen/outrigger/v1/message_pb.ts";
export {
  FinalResponse,
  LossPolicy,
  type Request,
  type ResponseFormat,
  ResponseFormat_Type,
  StatePolicy,
  type Timeouts,
  type ToolChoice,
  ToolChoice_Mode,
} from "./gen/outrigger/v1/request_pb.ts";
export {
  type FinishReason,
  FinishReason_Reason,
  type RateLimitInfo,
  type Response,
  type Warning,
} from "./gen/outrigger/v1/response_pb.ts";
export type { Finish, StreamEvent, StreamStart } from "./gen/outrigger/v1/stream_event_pb.ts";
export type { CustomTool, FunctionTool, HostedTool, Tool } from "./gen/outrigger/v1/tool_pb.ts";
export type { Usage } from "./gen/outrigger/v1/usage_pb.ts";
// Generations.
export { generate, stream } from "./generation/generate.ts";
export type { GenerateOptions, GenerationTimeouts } from "./generation/generate-options.ts";
export {
  GenerateResult,
  StepResult,
  type StopCondition,
  type StopReasonName,
} from "./generation/generate-result.ts";
export type { InvalidCall, RepairToolCall } from "./generation/local-executor.ts";
export type { GenerationLimits } from "./generation/loop-limits.ts";
export type { ModelClient } from "./generation/model-calls.ts";
export { type GenerationEvent, type StepFinishEvent, StreamResult } from "./generation/stream-result.ts";
// The adapters.
export type { HttpTimeouts } from "./kit/http/transport.ts";
// Middleware.
export { attemptsOf } from "./middleware/attempts.ts";
export type { CircuitState } from "./middleware/breaker.ts";
export { type BudgetOptions, createBudget } from "./middleware/budget.ts";
export type { BudgetPeriod } from "./middleware/budget-window.ts";
export { type CallScope, onlyFor } from "./middleware/choose-middleware.ts";
export { type CircuitBreakerOptions, createCircuitBreaker } from "./middleware/circuit-breaker.ts";
export {
  createFallback,
  DEFAULT_FALLBACK_KINDS,
  type FallbackKind,
  type FallbackOptions,
  type FallbackTarget,
} from "./middleware/fallback.ts";
export { createModelAliases, type ModelAlias, type ModelAliasOptions } from "./middleware/model-aliases.ts";
export type { MiddlewareObserver, RefusedBy } from "./middleware/observer.ts";
export { createRateLimit, type RateLimitOptions } from "./middleware/rate-limit.ts";
export { createRetry, type RetryMiddlewareOptions } from "./middleware/retry.ts";
export type { RetryBudgetOptions } from "./middleware/retry-budget.ts";
// Retries: `complete` and `stream` themselves never retry.
export {
  DEFAULT_RETRY_POLICY,
  type RetryOptions,
  type RetryPolicy,
  retry,
  retryDelayOf,
} from "./middleware/retry-policy.ts";
export { AnthropicAdapter, type AnthropicAdapterOptions } from "./providers/anthropic-messages/adapter.ts";
export { GeminiAdapter, type GeminiAdapterOptions } from "./providers/gemini/adapter.ts";
export { OpenAIChatAdapter, type OpenAIChatAdapterOptions } from "./providers/openai-chat/adapter.ts";
export type { ServerProfile } from "./providers/openai-chat/profile.ts";
export { OpenAIAdapter, type OpenAIAdapterOptions } from "./providers/openai-responses/adapter.ts";
