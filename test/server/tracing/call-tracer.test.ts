/** The spans of calls, as an exporter gets them. */
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import {
  Client,
  type ClientOptions,
  createAliasRouting,
  createCache,
  createFallback,
  functionTool,
  type Middleware,
  userMessage,
} from "outrigger";
import { startSimulator } from "outrigger/simulator";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createAdapter } from "../../../src/client/providers.ts";
import { readTraceContext } from "../../../src/core/trace-context.ts";
import { GenerationService } from "../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { createBackgroundClient } from "../../../src/server/calls/background-calls.ts";
import { CallTracer, type CallTracerOptions } from "../../../src/server/tracing/call-tracer.ts";
import { startApi } from "../../endpoints/support/api-server.ts";
import { TRANSPORTS } from "../support/clients.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

let simulator: Awaited<ReturnType<typeof startSimulator>>;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

function createTracer(options: Partial<CallTracerOptions> = {}, root = new AlwaysOnSampler()) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  const observer = new CallTracer(provider.getTracer("test"), {
    getProviderName: (name) => (name === "main" ? "openai" : name),
    recordsContent: false,
    ...options,
  });
  const getSpans = () => exporter.getFinishedSpans();
  return { observer, getSpans };
}

function createModels(
  middleware: readonly Middleware[] = [],
  modelAliases: ClientOptions["modelAliases"] = {},
): Client {
  const settings = { apiKey: "any", baseUrl: simulator.openaiBaseUrl };
  const broken = { apiKey: "invalid", baseUrl: simulator.openaiBaseUrl };
  return new Client({
    providers: {
      main: createAdapter("main", { api: "openai-responses", ...settings }),
      broken: createAdapter("broken", { api: "openai-responses", ...broken }),
    },
    defaultProvider: "main",
    middleware,
    modelAliases,
  });
}

/** Starts a traced server over the simulator. */
async function start(tracer = createTracer(), inference = createModels()) {
  servers.onEnd(() => inference.close());
  const server = await servers.start({}, { inference, observers: [tracer.observer] });
  const transport = TRANSPORTS.gRPC?.(server.url);
  if (transport === undefined) throw new Error("expected a transport");
  return { ...tracer, server, client: createClient(InferenceService, transport) };
}

const request = {
  model: "sim-text",
  maxTokens: 50,
  messages: [userMessage("Where is the key sk-1234567890abcdef?")],
};

function find(spans: readonly ReadableSpan[], kind: SpanKind): ReadableSpan {
  const span = spans.find((candidate) => candidate.kind === kind);
  if (span === undefined) throw new Error(`expected a span of kind ${kind}`);
  return span;
}

describe("the spans of a call", () => {
  it("are parts of the caller's trace, which continues at the provider", async () => {
    const { client, getSpans } = await start();
    simulator.clearRequests();
    const headers = { traceparent: TRACEPARENT, tracestate: "congo=t61rcWkgMzE", "x-request-id": "r-1" };
    const response = await client.complete(request, { headers });
    await expect.poll(() => getSpans().length).toBe(2);
    const [call, attempt] = [find(getSpans(), SpanKind.SERVER), find(getSpans(), SpanKind.CLIENT)];
    expect(call.name).toBe("outrigger.v1.InferenceService/Complete");
    expect(call.parentSpanContext).toMatchObject({
      traceId: TRACE_ID,
      spanId: "00f067aa0ba902b7",
      isRemote: true,
    });
    expect(call.attributes).toEqual({
      "outrigger.request_id": "r-1",
      "network.protocol.version": "2.0",
      "rpc.system": "grpc",
      "rpc.service": "outrigger.v1.InferenceService",
      "rpc.method": "Complete",
      "rpc.grpc.status_code": 0,
    });
    expect(attempt.name).toBe("chat sim-text");
    expect(attempt.parentSpanContext?.spanId).toBe(call.spanContext().spanId);
    expect(attempt.status.code).toBe(SpanStatusCode.UNSET);
    expect(attempt.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "sim-text",
      "gen_ai.request.max_tokens": 50,
      "gen_ai.response.id": response.id,
      "gen_ai.response.model": response.model,
      "gen_ai.response.finish_reasons": [response.finishReason?.raw],
      "gen_ai.usage.input_tokens": response.usage?.inputTokens,
      "gen_ai.usage.output_tokens": response.usage?.outputTokens,
      "gen_ai.usage.cache_creation.input_tokens": response.usage?.cacheWriteTokens,
      "gen_ai.usage.cache_read.input_tokens": response.usage?.cacheReadTokens,
      "gen_ai.usage.reasoning.output_tokens": response.usage?.reasoningTokens,
      "outrigger.provider": "main",
      "outrigger.inference_id": response.inferenceId,
    });
    const { headers: sent } = simulator.requests[0] ?? {};
    expect(sent?.traceparent).toBe(`00-${TRACE_ID}-${attempt.spanContext().spanId}-01`);
    expect(sent?.tracestate).toBe("congo=t61rcWkgMzE");
  });

  it("begin a trace if the caller has none, and record when a stream's output began", async () => {
    const { client, getSpans } = await start();
    for await (const _ of client.stream(request));
    await expect.poll(() => getSpans().length).toBe(2);
    const [call, attempt] = [find(getSpans(), SpanKind.SERVER), find(getSpans(), SpanKind.CLIENT)];
    expect(call.parentSpanContext).toBeUndefined();
    expect(attempt.spanContext().traceId).toBe(call.spanContext().traceId);
    expect(attempt.attributes["gen_ai.response.time_to_first_chunk"]).toBeGreaterThan(0);
    expect(attempt.attributes["gen_ai.response.finish_reasons"]).toEqual(["completed"]);
  });

  it("have one for each provider that was asked, and name the failure", async () => {
    const targets = [{ provider: "main", model: "sim-text" }];
    const models = createModels([createFallback({ targets })]);
    const { client, getSpans } = await start(createTracer(), models);
    await client.complete({ ...request, provider: "broken" });
    await expect.poll(() => getSpans().length).toBe(3);
    const attempts = getSpans().filter(({ kind }) => kind === SpanKind.CLIENT);
    expect(attempts.map(({ attributes }) => attributes["outrigger.provider"])).toEqual(["broken", "main"]);
    expect(attempts.map(({ attributes }) => attributes["outrigger.repeated"])).toEqual([true, undefined]);
    expect(attempts.map(({ status }) => status.code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.UNSET]);
  });

  it("name the target that was chosen for an alias, and each request of a hedge", async () => {
    const silent = "sim-text:delay_ms=600000";
    const targets = [{ model: "broken/m", weight: 0 }, { model: silent }, { model: "sim-text" }];
    const modelAliases = { fast: { targets, hedge: { after: 0.02, budget: 1 } } };
    const models = createModels([createAliasRouting(modelAliases)], modelAliases);
    const { client, getSpans } = await start(createTracer(), models);
    for await (const _ of client.stream({ ...request, model: "fast" }));
    await expect.poll(() => getSpans().length).toBe(3);
    const attempts = getSpans().filter(({ kind }) => kind === SpanKind.CLIENT);
    expect(attempts.map(({ name }) => name)).toEqual([`chat ${silent}`, "chat sim-text"]);
    const facts = ["outrigger.provider", "gen_ai.request.model", "outrigger.repeated"];
    expect(attempts.map(({ attributes }) => facts.map((fact) => attributes[fact]))).toEqual([
      ["main", silent, true],
      ["main", "sim-text", undefined],
    ]);
    const times = attempts.map(({ attributes }) => attributes["gen_ai.response.time_to_first_chunk"]);
    expect(times).toEqual([undefined, expect.any(Number)]);
  });

  it("end with each request of a hedge that fails, and name the last failure", async () => {
    const slow = "sim-text:delay_ms=600";
    const targets = [{ model: "sim-text:status=500,delay_ms=80" }, { model: slow }];
    const modelAliases = { fast: { targets, hedge: { after: 0.02, budget: 1 } } };
    const models = createModels([createAliasRouting(modelAliases)], modelAliases);
    const { client, getSpans } = await start(createTracer(), models);
    const answer = client.complete({ ...request, model: "fast" });
    // The first request has failed, while the second one continues.
    await expect.poll(() => getSpans().map(({ name }) => name)).toEqual([`chat ${targets[0]?.model}`]);
    expect((await answer).model).toBe(slow);
    await expect.poll(() => getSpans().length).toBe(3);
    const attempts = getSpans().filter(({ kind }) => kind === SpanKind.CLIENT);
    expect(attempts.map(({ attributes }) => attributes["outrigger.repeated"])).toEqual([true, undefined]);
  });

  it("have none for a cached answer, which the call's span shows", async () => {
    const models = createModels([createCache()]);
    const { client, getSpans } = await start(createTracer(), models);
    await client.complete(request);
    for await (const _ of client.stream(request));
    await client.complete(request);
    await expect.poll(() => getSpans().length).toBe(4);
    const calls = getSpans().filter(({ kind }) => kind === SpanKind.SERVER);
    expect(calls.map(({ attributes }) => attributes["outrigger.cache_hit"])).toEqual([undefined, true, true]);
  });

  it("distinguish the caller's mistakes from failures", async () => {
    const { client, getSpans } = await start();
    await expect(client.complete({ ...request, model: "" })).rejects.toThrow();
    await expect(client.complete({ ...request, model: "sim-text:status=500" })).rejects.toThrow();
    await expect.poll(() => getSpans().filter(({ kind }) => kind === SpanKind.SERVER).length).toBe(2);
    const calls = getSpans().filter(({ kind }) => kind === SpanKind.SERVER);
    const facts = calls.map(({ status, attributes }) => [status.code, attributes["error.type"]]);
    expect(facts).toEqual([
      [SpanStatusCode.UNSET, "NOT_FOUND"],
      [SpanStatusCode.ERROR, "UNAVAILABLE"],
    ]);
    const attempt = getSpans()
      .filter(({ kind }) => kind === SpanKind.CLIENT)
      .at(-1);
    expect([attempt?.status.code, attempt?.attributes["error.type"]]).toEqual([
      SpanStatusCode.ERROR,
      "SERVER",
    ]);
  });

  it("hold texts only if that is switched on, without keys", async () => {
    const { client, getSpans } = await start(createTracer({ recordsContent: true }));
    await client.complete(request);
    await expect.poll(() => getSpans().length).toBe(2);
    const { attributes } = find(getSpans(), SpanKind.CLIENT);
    expect(JSON.parse(String(attributes["gen_ai.input.messages"]))).toEqual([
      { role: "user", parts: [{ type: "text", content: "Where is the key [redacted]?" }] },
    ]);
    const [output] = JSON.parse(String(attributes["gen_ai.output.messages"]));
    expect(output).toMatchObject({
      role: "assistant",
      finish_reason: "completed",
      parts: [{ type: "text" }],
    });
    expect(output.parts[0].content).not.toBe("");
  });

  it("are not made for traces that are not sampled, nor for probes", async () => {
    const { client, server, getSpans } = await start(createTracer({}, new AlwaysOffSampler()));
    simulator.clearRequests();
    await client.complete(request);
    await client.complete(request, { headers: { traceparent: TRACEPARENT.replace(/01$/, "00") } });
    await fetch(`${server.url}/grpc.health.v1.Health/Check`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(getSpans()).toEqual([]);
    const sent = simulator.requests.map(({ headers }) => headers.traceparent);
    expect(sent[1]).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`));
  });
});

describe("the spans of a background run's call", () => {
  it("are a trace that is linked to the one in which the run was created", async () => {
    const { observer, getSpans } = createTracer();
    const models = createModels();
    const client = createBackgroundClient(models, [observer]);
    await client.complete(create(RequestSchema, request), {
      trace: readTraceContext({ traceparent: TRACEPARENT }),
    });
    const call = find(getSpans(), SpanKind.INTERNAL);
    expect(call.name).toBe("background run");
    expect(call.parentSpanContext).toBeUndefined();
    expect(call.spanContext().traceId).not.toBe(TRACE_ID);
    expect(call.links.map(({ context }) => context.traceId)).toEqual([TRACE_ID]);
    expect(find(getSpans(), SpanKind.CLIENT).parentSpanContext?.spanId).toBe(call.spanContext().spanId);
    await models.close();
  });
});

describe("the spans of a tool loop", () => {
  /** Runs a loop whose caller gives one output when it resolves. Ends at the first `execute` if there is none. */
  async function runLoop(hasOutput: boolean) {
    const { getSpans, server } = await start();
    const transport = TRANSPORTS.gRPC?.(server.url);
    if (transport === undefined) throw new Error("expected a transport");
    const { promise: called, resolve: noteCall } = Promise.withResolvers<string>();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const tools = [functionTool({ name: "work", parameters: { type: "object", properties: {} } })];
    const options = { request: { ...request, model: "sim-tools", tools }, maxToolRounds: 2 };
    async function* callerSide() {
      yield { message: { case: "start" as const, value: { options } } };
      const toolCallId = await called;
      const output = { case: "failure" as const, value: { message: "out of order" } };
      if (hasOutput) yield { message: { case: "output" as const, value: { toolCallId, output } } };
      else await left;
    }
    const caller = new AbortController();
    const generations = createClient(GenerationService, transport);
    const read = async () => {
      for await (const { message } of generations.runTools(callerSide(), { signal: caller.signal })) {
        if (message.case !== "execute") continue;
        noteCall(message.value.toolCall?.id ?? "");
        if (!hasOutput) caller.abort();
      }
    };
    await read().catch(() => expect(caller.signal.aborted).toBe(true));
    leave();
    return { getSpans, toolCallId: await called };
  }

  it("are one for each step, with its request and the tools that the caller executes", async () => {
    const { getSpans, toolCallId } = await runLoop(true);
    await expect.poll(() => getSpans().length).toBe(6);
    const names = new Map(getSpans().map((span) => [span.spanContext().spanId, span.name]));
    const tree = getSpans().map(({ name, attributes, parentSpanContext }) => {
      return [name, names.get(parentSpanContext?.spanId ?? ""), attributes["outrigger.step"]];
    });
    const call = "outrigger.v1.GenerationService/RunTools";
    expect(tree).toEqual([
      ["chat sim-tools", "step 1", 1],
      ["execute_tool work", "step 1", 1],
      ["step 1", call, 1],
      ["chat sim-tools", "step 2", 2],
      ["step 2", call, 2],
      [call, undefined, undefined],
    ]);
    const tool = getSpans().find(({ name }) => name === "execute_tool work");
    expect(tool?.attributes).toEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "work",
      "gen_ai.tool.call.id": toolCallId,
      "outrigger.step": 1,
      "error.type": "tool_error",
    });
  });

  it("end with a call that is left before its tool has a result", async () => {
    const { getSpans } = await runLoop(false);
    const getNames = () => getSpans().map(({ name }) => name);
    const names = [
      "chat sim-tools",
      "execute_tool work",
      "outrigger.v1.GenerationService/RunTools",
      "step 1",
    ];
    await expect.poll(() => getNames().sort()).toEqual(names);
    expect(find(getSpans(), SpanKind.SERVER).attributes["outrigger.disconnected"]).toBe(true);
  });
});

describe("the span of an MCP server's tool", () => {
  const trace = readTraceContext({ traceparent: TRACEPARENT });

  it("is a part of the trace of the run's call, which continues at the server", () => {
    const { observer, getSpans } = createTracer();
    const call = { server: "desk", tool: "look", trace, isBackground: false };
    const { sent, end } = observer.traceMcpCall(call);
    end(true);
    const span = find(getSpans(), SpanKind.CLIENT);
    expect(span.name).toBe("execute_tool look");
    expect(span.parentSpanContext?.spanId).toBe("00f067aa0ba902b7");
    expect(sent.traceparent).toBe(`00-${TRACE_ID}-${span.spanContext().spanId}-01`);
    expect(span.attributes).toEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "look",
      "outrigger.mcp_server": "desk",
      "error.type": "tool_error",
    });
  });

  it("is linked to that trace in the background", () => {
    const { observer, getSpans } = createTracer();
    observer.traceMcpCall({ server: "desk", tool: "look", trace, isBackground: true }).end(false);
    const [span] = getSpans();
    expect(span?.parentSpanContext).toBeUndefined();
    expect(span?.links.map(({ context }) => context.traceId)).toEqual([TRACE_ID]);
    expect(span?.status.code).toBe(SpanStatusCode.UNSET);
  });
});

describe("a run", () => {
  it("has the trace context of the call that creates it", async () => {
    const { observer, getSpans } = createTracer();
    const { engine, fetch } = await startApi(servers, { observers: [observer] });
    const createRun = vi.spyOn(engine, "createRun");
    const body = JSON.stringify({ model: "openai/sim-text", input: "hi" });
    const headers = { traceparent: TRACEPARENT, "content-type": "application/json" };
    expect((await fetch("/v1/responses", { method: "POST", body, headers })).status).toBe(200);
    await expect.poll(() => getSpans().length).toBe(2);
    const { spanId } = find(getSpans(), SpanKind.SERVER).spanContext();
    expect(createRun.mock.calls[0]?.[1].trace?.traceparent).toBe(`00-${TRACE_ID}-${spanId}-01`);
  });
});
