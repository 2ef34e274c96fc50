import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { buildOnce } from "../../clients/runner/build-cache.ts";
import { build, probe } from "../../clients/runner/process.ts";
import { freePort, startSidecar } from "../../clients/runner/sidecar.ts";
import { binaries, folder, loopback, type Suite } from "../suite.ts";

const cwd = `${folder}otlp`;
const TIMEOUT_MS = 20_000;
const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER_SPAN_ID = "00f067aa0ba902b7";

/** Spans as the Collector understands them, sent by each protocol. */
export const otlpSuite: Suite = {
  name: "otlp",
  async run() {
    await buildProgram();
    const simulator = await startSimulator();
    const lines: string[] = [];
    for (const protocol of PROTOCOLS) {
      const problem = await check(protocol, simulator).catch((error: unknown) => String(error));
      if (problem !== undefined) lines.push(`${protocol}: ${problem}`);
    }
    await simulator.close();
    const failed = lines.length;
    return { lines, tally: { passed: PROTOCOLS.length - failed, failed, skipped: 0 } };
  },
};

const PROTOCOLS = ["grpc", "http/protobuf", "http/json"] as const;

type Protocol = (typeof PROTOCOLS)[number];

function buildProgram(): Promise<void> {
  const inputs = { paths: [cwd], facts: [probe("go", "version") ?? ""] };
  const args = ["build", "-buildvcs=false", "-o", `${binaries}/otlp`, "."];
  return buildOnce(`${folder}build/otlp-stamp`, inputs, () => build({ file: "go", args, cwd }));
}

/** Makes a call through a traced sidecar. Returns what is wrong with its spans. */
async function check(protocol: Protocol, simulator: Simulator): Promise<string | undefined> {
  const collector = await startCollector();
  const sidecar = await startSidecar(["serve"], {
    OPENAI_API_KEY: "any",
    OPENAI_BASE_URL: simulator.openaiBaseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: protocol === "grpc" ? collector.grpc : collector.http,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_SERVICE_NAME: "checkout",
    OTEL_BSP_SCHEDULE_DELAY: "100",
  });
  try {
    const response = await fetch(`http://${sidecar.address}/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json", traceparent: `00-${TRACE_ID}-${CALLER_SPAN_ID}-01` },
      body: JSON.stringify({ model: "openai/sim-text", input: "hello", store: false }),
    });
    if (response.status !== 200) return `the call got status ${response.status}`;
    await response.json();
    // It sends the last spans before it ends.
    await sidecar.stop();
    return compare(await collector.takeSpans());
  } finally {
    await collector.stop();
  }
}

/** A span of OTLP's JSON form, as far as it is compared. */
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status?: { readonly code?: number };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly service: string | undefined;
}

/** Returns the first difference between the spans and the expected ones. */
function compare(spans: readonly Span[]): string | undefined {
  const [call, attempt] = ["POST /v1/responses", "chat sim-text"].map((name) =>
    spans.find((span) => span.name === name),
  );
  if (spans.length !== 2 || call === undefined || attempt === undefined)
    return `expected two spans, found ${JSON.stringify(spans.map(({ name }) => name))}`;
  const facts = [call, attempt].map(({ traceId, parentSpanId, kind, service, status = {} }) => ({
    traceId,
    parentSpanId,
    kind,
    service,
    code: status.code ?? 0,
  }));
  const shared = { traceId: TRACE_ID, service: "checkout", code: 0 };
  const wanted = [
    { ...shared, parentSpanId: CALLER_SPAN_ID, kind: SERVER },
    { ...shared, parentSpanId: call.spanId, kind: CLIENT },
  ];
  if (!isDeepStrictEqual(facts, wanted))
    return `found ${JSON.stringify(facts)}, expected ${JSON.stringify(wanted)}`;
  const isWithin =
    BigInt(call.startTimeUnixNano) <= BigInt(attempt.startTimeUnixNano) &&
    BigInt(attempt.endTimeUnixNano) <= BigInt(call.endTimeUnixNano);
  return isWithin ? compareAttributes(attempt) : "the request to the provider is not within its call";
}

/** Kinds of spans in OTLP. */
const SERVER = 2;
const CLIENT = 3;

const WANTED_ATTRIBUTES: Readonly<Record<string, object>> = {
  "gen_ai.operation.name": { stringValue: "chat" },
  "gen_ai.provider.name": { stringValue: "openai" },
  "gen_ai.request.model": { stringValue: "sim-text" },
  "gen_ai.response.finish_reasons": { arrayValue: { values: [{ stringValue: "completed" }] } },
};

function compareAttributes({ attributes }: Span): string | undefined {
  const found = Object.fromEntries(attributes.map(({ key, value }) => [key, value]));
  const name = Object.keys(WANTED_ATTRIBUTES).find(
    (key) => !isDeepStrictEqual(found[key], WANTED_ATTRIBUTES[key]),
  );
  if (name !== undefined) return `${name} is ${JSON.stringify(found[name])}`;
  const tokens = Number(found["gen_ai.usage.output_tokens"]?.intValue);
  return tokens > 0 ? undefined : `gen_ai.usage.output_tokens is ${tokens}`;
}

/** The receiver of the Collector as a process. */
interface Collector {
  readonly grpc: string;
  readonly http: string;
  /** Waits for a request with spans. */
  takeSpans(): Promise<Span[]>;
  stop(): Promise<void>;
}

/** A request with spans in OTLP's JSON form. */
interface TracesData {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Span["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly Omit<Span, "service">[] }[];
  }[];
}

async function startCollector(): Promise<Collector> {
  const [grpc, http] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const child = spawn(`${binaries}/otlp`, [grpc, http], {
    env: { ...process.env, ...loopback },
    stdio: ["ignore", "pipe", "inherit"],
  });
  // It must not outlive the runner.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await waitFor(child, () => output.startsWith("listening\n"));
  return {
    grpc: `http://${grpc}`,
    http: `http://${http}`,
    async takeSpans() {
      await waitFor(child, () => output.split("\n").length > 2);
      return output
        .split("\n")
        .slice(1, -1)
        .flatMap((line) => readSpans(JSON.parse(line)));
    },
    async stop() {
      child.kill("SIGINT");
      await once(child, "exit");
    },
  };
}

function readSpans({ resourceSpans }: TracesData): Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const name = resource.attributes.find(({ key }) => key === "service.name")?.value.stringValue;
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, service: String(name) })));
  });
}

async function waitFor(child: ChildProcess, isDone: () => boolean): Promise<void> {
  const giveUp = Date.now() + TIMEOUT_MS;
  while (!isDone()) {
    if (child.exitCode !== null) throw new Error(`the collector ended with ${child.exitCode}`);
    if (Date.now() > giveUp) throw new Error("the collector got nothing");
    await sleep(20);
  }
}
