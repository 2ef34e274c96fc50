/**
 * Names of span attributes, from OpenTelemetry's semantic conventions 1.38: those for GenAI
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/), which are in development, so that names may change, and those
 * for RPC and HTTP. Attributes that the conventions lack begin with `outrigger.`.
 */
export const SEMCONV_SCHEMA_URL = "https://opentelemetry.io/schemas/1.38.0";

/** Names of the attributes of spans. */
export const ATTRIBUTES = {
  operation: "gen_ai.operation.name",
  providerName: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  maxTokens: "gen_ai.request.max_tokens",
  temperature: "gen_ai.request.temperature",
  topP: "gen_ai.request.top_p",
  stopSequences: "gen_ai.request.stop_sequences",
  responseId: "gen_ai.response.id",
  responseModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolName: "gen_ai.tool.name",
  toolCallId: "gen_ai.tool.call.id",
  errorType: "error.type",
  rpcSystem: "rpc.system",
  rpcService: "rpc.service",
  rpcMethod: "rpc.method",
  grpcStatus: "rpc.grpc.status_code",
  httpMethod: "http.request.method",
  httpRoute: "http.route",
  protocolVersion: "network.protocol.version",
  /** Seconds from the request to the first text, reasoning or tool call. */
  timeToFirstOutput: "gen_ai.response.time_to_first_chunk",
  /** Name under which the configuration registers the provider. */
  provider: "outrigger.provider",
  inferenceId: "outrigger.inference_id",
  /** Label of an MCP server. */
  mcpServer: "outrigger.mcp_server",
  /** Step of a tool loop, from 1. */
  step: "outrigger.step",
  requestId: "outrigger.request_id",
  /** Name of the caller's access key. */
  caller: "outrigger.caller",
  /** US dollars. */
  cost: "outrigger.cost_usd",
  /** Whether the request failed and was sent again, or to another provider. */
  isRepeated: "outrigger.repeated",
  /** Whether the answer came from the sidecar's cache. */
  cacheHit: "outrigger.cache_hit",
  /** Whether the client disconnected before the end. */
  disconnected: "outrigger.disconnected",
} as const;
