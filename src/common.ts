/**
 * Exports shared by the library (`outrigger`) and the TypeScript client of a sidecar (`clients/typescript`), so that a
 * program changes from one to the other by its import.
 */

export type { EmbedInput } from "./client/embed-request.ts";
export type { RequestInput, ToolInput } from "./client/request-input.ts";
export { accumulate, StreamAccumulator } from "./core/accumulator.ts";
export type { CallOptions } from "./core/adapter.ts";
export * from "./core/errors.ts";
export { EventStream } from "./core/event-stream.ts";
export { messageFromJson, responseFromJson, toJson } from "./core/json-form.ts";
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
  ToolErrorOptions,
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
export { generate, stream } from "./generation/generate.ts";
export { type GenerateObjectOptions, generateObject, streamObject } from "./generation/generate-object.ts";
export type { GenerateOptions, GenerationTimeouts } from "./generation/generate-options.ts";
export type { InvalidCall, RepairToolCall } from "./generation/local-executor.ts";
export {
  GenerateResult,
  StepResult,
  type StopCondition,
  type StopReasonName,
} from "./generation/loop/generate-result.ts";
export type { GenerationLimits } from "./generation/loop/loop-limits.ts";
export type { ModelClient } from "./generation/loop/model-calls.ts";
export { ObjectResult } from "./generation/object-result.ts";
export type { ObjectStrategy } from "./generation/objects/object-format.ts";
export { type PartialOf, StreamObjectResult } from "./generation/stream-object-result.ts";
export { type GenerationEvent, type StepFinishEvent, StreamResult } from "./generation/stream-result.ts";
export { attemptsOf } from "./middleware/attempts.ts";
export {
  DEFAULT_RETRY_POLICY,
  type RetryOptions,
  type RetryPolicy,
  retry,
  retryDelayOf,
} from "./middleware/retry-policy.ts";
