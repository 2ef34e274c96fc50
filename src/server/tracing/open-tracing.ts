import { setGlobalErrorHandler } from "@opentelemetry/core";
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { TracingConfig } from "../../config/tracing.ts";
import { boundedText } from "../../core/text.ts";
import type { McpCallTracer } from "../../runs/mcp/mcp-tools.ts";
import type { CallObserver } from "../telemetry/call-observer.ts";
import { CallTracer } from "./call-tracer.ts";
import { SEMCONV_SCHEMA_URL } from "./semantic-conventions.ts";

/** Tracing that is switched on. */
export interface Tracing {
  readonly observer: CallObserver;
  readonly traceMcpCall: McpCallTracer;
  /** Sends the waiting spans and stops. Takes a few seconds at most. */
  close(): Promise<void>;
}

/** Inputs of tracing that are not settings. */
export interface TracingOptions {
  readonly version: string;
  /** Returns the value of `gen_ai.provider.name` for a registered provider. */
  readonly getProviderName: (provider: string) => string;
  /** Called with the reason when spans could not be sent, at most once a minute. */
  readonly onFailure: (reason: string) => void;
}

/** Minimum time between two reports of spans that could not be sent, in milliseconds. */
const REPORT_INTERVAL_MS = 60_000;

/** Maximum length of a reported reason, which may quote the collector. */
const MAX_REASON_BYTES = 300;

/** Longest wait for the last spans when the process stops, in milliseconds. */
const CLOSE_TIMEOUT_MS = 3_000;

/** Switches tracing on. The collector need not be reachable: spans that cannot be sent are dropped. */
export async function openTracing(
  { protocol, sampler, ratio, batch, recordsContent }: TracingConfig,
  { version, getProviderName, onFailure }: TracingOptions,
): Promise<Tracing> {
  const report = createReporter(onFailure);
  setGlobalErrorHandler(report);
  const provider = new TracerProvider({
    resource: getResource(version),
    sampler: createSampler(sampler, ratio),
    spanProcessors: [new BatchSpanProcessor({ ...batch, exporter: await createExporter(protocol) })],
  });
  const tracer = provider.getTracer("outrigger", version, { schemaUrl: SEMCONV_SCHEMA_URL });
  const observer = new CallTracer(tracer, { getProviderName, recordsContent });
  return {
    observer,
    traceMcpCall: (call) => observer.traceMcpCall(call),
    close: () => withTimeout(provider.shutdown().catch(report)),
  };
}

/** Loads the exporter of one protocol. Each reads the standard variables: address, headers, certificates, timeout. */
async function createExporter(protocol: TracingConfig["protocol"]): Promise<SpanExporter> {
  switch (protocol) {
    case "grpc": {
      const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-grpc");
      return new OTLPTraceExporter();
    }
    case "http/json": {
      const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-http");
      return new OTLPTraceExporter();
    }
    case "http/protobuf": {
      const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
      return new OTLPTraceExporter();
    }
  }
}

function createSampler(name: TracingConfig["sampler"], ratio: number): Sampler {
  switch (name) {
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio":
      return new TraceIdRatioBasedSampler(ratio);
    case "parentbased_always_on":
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case "parentbased_always_off":
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case "parentbased_traceidratio":
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` replace the defaults. */
function getResource(version: string): Resource {
  const program = resourceFromAttributes({
    "service.name": "outrigger",
    "service.version": version,
    "service.instance.id": crypto.randomUUID(),
  });
  return defaultResource()
    .merge(program)
    .merge(detectResources({ detectors: [envDetector] }));
}

function createReporter(onFailure: (reason: string) => void): (thrown: unknown) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (thrown) => {
    const now = performance.now();
    if (now - reportedAt < REPORT_INTERVAL_MS) return;
    reportedAt = now;
    onFailure(boundedText(thrown instanceof Error ? thrown.message : String(thrown), MAX_REASON_BYTES));
  };
}

async function withTimeout(work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
