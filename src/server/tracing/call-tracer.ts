import { Code } from "@connectrpc/connect";
import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace as traces,
} from "@opentelemetry/api";
import { isCacheHit } from "../../core/response.ts";
import type { TraceContext } from "../../core/trace-context.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { LogTexts } from "../../middleware/log-texts.ts";
import type { McpCallTracer, McpToolCall } from "../../runs/mcp/mcp-tools.ts";
import { kindName } from "../status/status-code.ts";
import type {
  Attempt,
  AttemptOutcome,
  Call,
  CallObserver,
  Outcome,
  ToolExecution,
} from "../telemetry/call-observer.ts";
import { toUsd } from "../telemetry/model-metrics.ts";
import { ATTRIBUTES } from "./semantic-conventions.ts";

/** Settings of a CallTracer. */
export interface CallTracerOptions {
  /** Returns the value of `gen_ai.provider.name` for a registered provider. */
  readonly getProviderName: (provider: string) => string;
  /** Whether the texts of requests and answers are recorded. */
  readonly recordsContent: boolean;
}

/** A call in progress. */
interface CallSpan {
  readonly span: Span;
  /** Parent of the spans of its requests to providers. */
  readonly context: Context;
  /** The current step of a loop with tools: the parent of its requests and tools. */
  step?: { readonly number: number; readonly span: Span; readonly context: Context };
  /** The requests to providers that have not ended. */
  attempts: readonly AttemptSpan[];
  /** Tools without a result. */
  readonly tools: Map<ToolExecution, Span>;
}

interface AttemptSpan {
  readonly span: Span;
  /** By `performance.now()`. */
  readonly startedAt: number;
}

/** Maximum length of the recorded texts of one request or answer, in characters. */
const MAX_CONTENT_CHARS = 32 * 1024;

/**
 * Creates a span for each call, each step of a tool loop, each request to a provider and each execution of a tool. A
 * provider call of a background run begins a new trace, with a link to the one in which the run was created, since that
 * one may have ended long ago.
 */
export class CallTracer implements CallObserver {
  readonly #tracer: Tracer;
  readonly #options: CallTracerOptions;
  readonly #texts = new LogTexts(MAX_CONTENT_CHARS);
  // Not weak maps, whose entries would cost more in garbage collection than all other work here. No entry is leaked:
  // each call and each attempt ends once.
  readonly #calls = new Map<Call, CallSpan>();
  readonly #attempts = new Map<Attempt, AttemptSpan>();

  constructor(tracer: Tracer, options: CallTracerOptions) {
    this.#tracer = tracer;
    this.#options = options;
  }

  begin(call: Call): void {
    if (call.isProbe) return;
    const { parent, links } = continueTrace(call.trace, call.isBackground);
    const kind = call.isBackground ? SpanKind.INTERNAL : SpanKind.SERVER;
    const span = this.#tracer.startSpan(call.rpc, { kind, links, attributes: describeCall(call) }, parent);
    this.#calls.set(call, {
      span,
      context: traces.setSpan(ROOT_CONTEXT, span),
      attempts: [],
      tools: new Map(),
    });
  }

  getCallTrace(call: Call): TraceContext | undefined {
    const span = this.#calls.get(call)?.span;
    return span && toTraceContext(span.spanContext());
  }

  attempt(call: Call, attempt: Attempt, request?: Request): void {
    const parent = this.#calls.get(call);
    if (parent === undefined) return;
    const attributes = this.#describeAttempt(attempt, request);
    const name = describeName(attempt);
    // A provider call of a background run is a separate trace.
    const context = call.isBackground ? parent.context : this.#openStep(parent, attempt.step);
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, context);
    const opened = { span, startedAt: performance.now() };
    parent.attempts = [...parent.attempts, opened];
    this.#attempts.set(attempt, opened);
  }

  /**
   * Returns the context of a step, whose span begins with its first request and ends with the next step or the call.
   */
  #openStep(call: CallSpan, step: number | undefined): Context {
    if (step === undefined) return call.context;
    if (call.step?.number === step) return call.step.context;
    call.step?.span.end();
    const span = this.#tracer.startSpan(
      `step ${step}`,
      { attributes: { [ATTRIBUTES.step]: step } },
      call.context,
    );
    const context = traces.setSpan(ROOT_CONTEXT, span);
    call.step = { number: step, span, context };
    return context;
  }

  getSentTrace(attempt: Attempt): TraceContext | undefined {
    const span = this.#attempts.get(attempt)?.span;
    return span && toTraceContext(span.spanContext());
  }

  firstOutput(call: Call): void {
    const attempt = this.#calls.get(call)?.attempts.at(-1);
    const seconds = (performance.now() - (attempt?.startedAt ?? 0)) / 1000;
    attempt?.span.setAttribute(ATTRIBUTES.timeToFirstOutput, seconds);
  }

  attemptEnd(call: Call, attempt: Attempt, outcome: AttemptOutcome): void {
    const opened = this.#attempts.get(attempt);
    if (opened === undefined) return;
    const { span } = opened;
    this.#attempts.delete(attempt);
    const parent = this.#calls.get(call);
    if (parent !== undefined) parent.attempts = parent.attempts.filter((other) => other !== opened);
    // No request was sent. Spans that do not end are not exported.
    if (outcome.response !== undefined && isCacheHit(outcome.response)) {
      parent?.span.setAttribute(ATTRIBUTES.cacheHit, true);
      return;
    }
    if (span.isRecording()) {
      // Middleware may have chosen another model.
      span.updateName(describeName(attempt));
      span.setAttributes({ ...this.#describeAttempt(attempt), ...this.#describeAnswer(outcome) });
    }
    if (outcome.isRepeated) span.setStatus({ code: SpanStatusCode.ERROR });
    else if (outcome.error !== undefined) fail(span, kindName(outcome.error.kind));
    span.end();
  }

  tool(call: Call, tool: ToolExecution): void {
    const parent = this.#calls.get(call);
    if (parent === undefined) return;
    const attributes = {
      [ATTRIBUTES.operation]: "execute_tool",
      [ATTRIBUTES.toolName]: tool.name,
      [ATTRIBUTES.toolCallId]: tool.id,
      [ATTRIBUTES.step]: tool.step,
    };
    const context = this.#openStep(parent, tool.step);
    const span = this.#tracer.startSpan(`execute_tool ${tool.name}`, { attributes }, context);
    parent.tools.set(tool, span);
  }

  toolEnd(call: Call, tool: ToolExecution, hasFailed: boolean): void {
    const { tools } = this.#calls.get(call) ?? {};
    const span = tools?.get(tool);
    if (span === undefined) return;
    if (hasFailed) fail(span, "tool_error");
    span.end();
    tools?.delete(tool);
  }

  /** Traces a call of an MCP server's tool. In a background run, it begins a trace with a link to the run's. */
  traceMcpCall({ server, tool, trace, isBackground }: McpToolCall): ReturnType<McpCallTracer> {
    const attributes = {
      [ATTRIBUTES.operation]: "execute_tool",
      [ATTRIBUTES.toolName]: tool,
      [ATTRIBUTES.mcpServer]: server,
    };
    const { parent, links } = continueTrace(trace, isBackground);
    const options = { kind: SpanKind.CLIENT, attributes, links };
    const span = this.#tracer.startSpan(`execute_tool ${tool}`, options, parent);
    const end = (hasFailed: boolean) => {
      if (hasFailed) fail(span, "tool_error");
      span.end();
    };
    return { sent: toTraceContext(span.spanContext()), end };
  }

  end(call: Call, outcome: Outcome): void {
    const { span, step, tools = new Map() } = this.#calls.get(call) ?? {};
    if (span === undefined) return;
    this.#calls.delete(call);
    for (const unanswered of tools.values()) unanswered.end();
    step?.span.end();
    if (isGrpc(call)) span.setAttribute(ATTRIBUTES.grpcStatus, outcome.code ?? 0);
    if (outcome.disconnected) span.setAttribute(ATTRIBUTES.disconnected, true);
    if (outcome.code !== undefined && SERVER_FAULTS.has(outcome.code)) fail(span, outcome.codeName);
    else if (outcome.code !== undefined) span.setAttribute(ATTRIBUTES.errorType, outcome.codeName);
    span.end();
  }

  #describeAttempt(attempt: Attempt, request?: Request): Attributes {
    const { operation, inferenceId, provider, model, step } = attempt;
    return {
      [ATTRIBUTES.operation]: operation,
      [ATTRIBUTES.providerName]: this.#options.getProviderName(provider),
      [ATTRIBUTES.requestModel]: model,
      [ATTRIBUTES.provider]: provider,
      [ATTRIBUTES.inferenceId]: inferenceId,
      ...(step !== undefined && { [ATTRIBUTES.step]: step }),
      ...(request && describeRequest(request)),
      ...(request && this.#options.recordsContent && this.#describeMessages(request)),
    };
  }

  #describeMessages(request: Request): Attributes {
    const messages = this.#texts.logMessages(request).map(({ role, text }) => toMessage(role, text));
    return { [ATTRIBUTES.inputMessages]: JSON.stringify(messages) };
  }

  #describeAnswer({ isRepeated, usage, response }: AttemptOutcome): Attributes {
    return {
      ...(isRepeated && { [ATTRIBUTES.isRepeated]: true }),
      ...(usage && describeUsage(usage)),
      ...(response && describeResponse(response)),
      ...(response && this.#options.recordsContent && this.#describeOutput(response)),
    };
  }

  #describeOutput(response: Response): Attributes {
    const message = toMessage("assistant", this.#texts.logAnswer(response));
    const finished = { ...message, finish_reason: response.finishReason?.raw ?? "" };
    return { [ATTRIBUTES.outputMessages]: JSON.stringify([finished]) };
  }
}

/** Returns the parent and the links of a span that continues a trace, or that begins one with a link to it. */
function continueTrace(trace: TraceContext | undefined, isLinked: boolean) {
  if (trace === undefined) return { parent: ROOT_CONTEXT, links: [] };
  const context = toSpanContext(trace);
  if (isLinked) return { parent: ROOT_CONTEXT, links: [{ context }] };
  return { parent: traces.setSpanContext(ROOT_CONTEXT, context), links: [] };
}

/** Returns a message in the form of the GenAI conventions. */
function toMessage(role: string, content: string) {
  return { role, parts: [{ type: "text", content }] };
}

function isGrpc({ protocol }: Call): boolean {
  return protocol.startsWith("grpc");
}

function describeName({ operation, model }: Attempt): string {
  return `${operation} ${model}`;
}

function describeCall(call: Call): Attributes {
  const { rpc, requestId, httpVersion, caller, isBackground } = call;
  return {
    ...(!isBackground && { [ATTRIBUTES.requestId]: requestId, [ATTRIBUTES.protocolVersion]: httpVersion }),
    ...(caller.name !== "" && { [ATTRIBUTES.caller]: caller.name }),
    ...describeMethod(rpc, call),
  };
}

/** `outrigger.v1.InferenceService/Stream` is a method, `POST /v1/responses` a route. */
function describeMethod(rpc: string, call: Call): Attributes {
  const [method = "", route] = rpc.split(" ");
  if (route?.startsWith("/")) return { [ATTRIBUTES.httpMethod]: method, [ATTRIBUTES.httpRoute]: route };
  const slash = rpc.indexOf("/");
  if (slash < 0) return {};
  return {
    [ATTRIBUTES.rpcSystem]: isGrpc(call) ? "grpc" : "connect_rpc",
    [ATTRIBUTES.rpcService]: rpc.slice(0, slash),
    [ATTRIBUTES.rpcMethod]: rpc.slice(slash + 1),
  };
}

/** Attributes with undefined values are left out by the SDK. */
function describeRequest({ maxTokens, temperature, topP, stopSequences }: Request): Attributes {
  return {
    [ATTRIBUTES.maxTokens]: maxTokens,
    [ATTRIBUTES.temperature]: temperature,
    [ATTRIBUTES.topP]: topP,
    ...(stopSequences.length > 0 && { [ATTRIBUTES.stopSequences]: stopSequences }),
  };
}

function describeResponse({ id, model, finishReason }: Response): Attributes {
  return {
    ...(id !== "" && { [ATTRIBUTES.responseId]: id }),
    ...(model !== "" && { [ATTRIBUTES.responseModel]: model }),
    ...(finishReason && { [ATTRIBUTES.finishReasons]: [finishReason.raw] }),
  };
}

function describeUsage(usage: Usage): Attributes {
  const { costNanoUsd } = usage;
  return {
    [ATTRIBUTES.inputTokens]: usage.inputTokens,
    [ATTRIBUTES.outputTokens]: usage.outputTokens,
    [ATTRIBUTES.cacheReadTokens]: usage.cacheReadTokens,
    [ATTRIBUTES.cacheWriteTokens]: usage.cacheWriteTokens,
    [ATTRIBUTES.reasoningTokens]: usage.reasoningTokens,
    [ATTRIBUTES.cost]: costNanoUsd === undefined ? undefined : toUsd(costNanoUsd),
  };
}

/** Statuses that gRPC's semantic conventions count as errors of a server; others are the caller's. */
const SERVER_FAULTS: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

function fail(span: Span, type: string): void {
  span.setAttribute(ATTRIBUTES.errorType, type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function toSpanContext({ traceparent, tracestate, traceId }: TraceContext): SpanContext {
  const [, , spanId = "", flags = "00"] = traceparent.split("-");
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== "" && { traceState: createTraceState(tracestate) }),
  };
}

function toTraceContext({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const flags = traceFlags.toString(16).padStart(2, "0");
  return {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    tracestate: traceState?.serialize() ?? "",
    traceId,
  };
}
