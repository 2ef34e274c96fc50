/**
 * `outrigger/kit`: the building blocks of adapters. An adapter for a provider that Outrigger does not know describes
 * the provider's wire API as a `Protocol` and hands it to `HttpAdapter`, which does the rest; or it implements
 * `ProviderAdapter` by itself and writes its events with a `StreamWriter`.
 */

export { ProviderModels } from "../catalog/catalog.ts";
export { type Batched, type Batches, BatchStream, lazyBatches } from "../core/batches.ts";
export { getInferenceId } from "../core/ids.ts";
export { LawChecker } from "../core/laws.ts";
export { streamCall, withTerminalEvent } from "../core/streamed-call.ts";
export { kindOfStatus, type ProviderMessage, readMessage, repeatableMessage } from "./adapter/classify.ts";
export { checkOptionalKey, requireCredential } from "./adapter/credentials.ts";
export { effortFor } from "./adapter/effort.ts";
export { type FailureBody, readFailureBody } from "./adapter/failure-body.ts";
export { replaceForeignPart } from "./adapter/foreign-state.ts";
export {
  type AdapterCallOptions,
  HttpAdapter,
  type HttpAdapterOptions,
  type HttpAdapterParts,
  type Protocol,
  type WireFailure,
  type WireRequest,
} from "./adapter/http-adapter.ts";
export { dataOfState, PartStateWriter } from "./adapter/part-state.ts";
export { createProviderError, type FailureSource, type ReportedFailure } from "./adapter/provider-error.ts";
export { type AskedModel, getOrigin, type Origin } from "./adapter/state-origin.ts";
export { ToolCallIdMapper, type ToolCallIdRule } from "./adapter/tool-call-id-mapper.ts";
export { type ToolCallNameRule, wireToolCallName } from "./adapter/tool-call-names.ts";
export { createUsage, type UsageCounts } from "./adapter/usage.ts";
export { type Answer, type CallFacts, createResponse, finishReason } from "./call/call-facts.ts";
export { LossReport, type WarningCode, warning } from "./call/loss-report.ts";
export { getRateLimit } from "./http/rate-limit.ts";
export { getRetryAfter } from "./http/retry-after.ts";
export {
  createHeaders,
  createHttpTransport,
  DEFAULT_HTTP_TIMEOUTS,
  type HttpAnswer,
  type HttpGetOptions,
  type HttpHeaders,
  type HttpPostOptions,
  type HttpTimeouts,
  type HttpTransport,
  type HttpTransportOptions,
} from "./http/transport.ts";
export {
  asInt32,
  asObject,
  asString,
  isObject,
  type JsonObject,
  type JsonValue,
  mergeObjects,
  objectIn,
  objectsIn,
  parseJson,
  parseObjectField,
  textIn,
  tryParseJson,
} from "./json/json.ts";
export { sourceObject, stringifyJson } from "./json/json-source.ts";
export { type Media, type MediaOptions, type ResolvedMedia, resolveMedia } from "./media/media.ts";
export { createMediaReader, type MediaReader, type MediaReaderOptions } from "./media/media-reader.ts";
export { decodeStream, type StreamDecoder } from "./stream/decode-stream.ts";
export { replayResponse } from "./stream/replay-response.ts";
export { SseDecoder, type SseEvent } from "./stream/sse.ts";
export {
  type BlockEnd,
  type ReasoningBlock,
  type StreamedAnswer,
  StreamWriter,
  type TextBlock,
  type ToolCallBlock,
  type ToolInputKind,
  toToolCall,
} from "./stream/stream-writer.ts";
