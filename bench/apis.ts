/**
 * The cost of the APIs that store nothing: `node bench/apis.ts [--quick] [--write]`. Each answer is fetched over gRPC,
 * and over an API that relays it, since the provider speaks the same API, or translates it. `--quick` makes a tenth of
 * the calls, `--write` writes the table into RESULTS.md.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { ALLOCATOR_VARIABLES, NODE_OPTIONS } from "../src/cli/process-settings.ts";
import { Role } from "../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../src/gen/outrigger/v1/request_pb.ts";
import { EVENTS_AROUND_DELTAS, writeExchange } from "./exchange.ts";
import { buildLoad, formatFailures, type LoadServer, makeCalls, startUpstream } from "./load/load.ts";
import { describeMachine } from "./machine.ts";
import { readCpuMicros } from "./measure/process-stats.ts";
import { getMedian, getSpread } from "./measure/statistics.ts";
import { killAll, type Running, startListening } from "./processes.ts";
import { formatRatio, markdownTable } from "./report.ts";
import { buildCurrent } from "./responses/programs.ts";
import { writeSection } from "./results-file.ts";
import { PROJECT_FOLDER, RUN_FOLDER } from "./work-folder.ts";

const DELTAS = 100 - EVENTS_AROUND_DELTAS;
const ROUNDS = 7;
const WARM_UP = 600;
const CALLS = 2_000;
const CONCURRENCY = 20;

const MODEL = "m";
const QUESTION = "What should we look at before we put another process between the two?";
const WORDS = [" Look", " at", " what", " it", " adds", " to", " each", " token", "."];
const deltas = Array.from({ length: DELTAS }, (_, index) => WORDS[index % WORDS.length] ?? "");
const USAGE = { input: 57, output: DELTAS };

/** A way to get an answer. */
interface Way {
  readonly label: string;
  /** Name of the provider. */
  readonly provider: string;
  /** Absent: gRPC. */
  readonly path?: string;
  readonly body?: object;
  /** Most that it may cost, as a multiple of gRPC with the same provider. */
  readonly aim?: number;
}

/** The answers of a provider of the Chat Completions API. */
function createChatScript(): object {
  const head = {
    id: "chatcmpl-68f3a1c0b7e0",
    object: "chat.completion.chunk",
    created: 1_760_797_120,
    model: MODEL,
  };
  const toChunk = (delta: object, finish: string | null) => ({
    ...head,
    service_tier: "default",
    system_fingerprint: "fp_44709d6fcb",
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  const usage = {
    prompt_tokens: USAGE.input,
    completion_tokens: USAGE.output,
    total_tokens: USAGE.input + USAGE.output,
  };
  const chunks = [
    toChunk({ role: "assistant", content: "", refusal: null }, null),
    ...deltas.map((content) => toChunk({ content }, null)),
    toChunk({}, "stop"),
    { ...head, choices: [], usage },
  ];
  const message = { role: "assistant", content: deltas.join(""), refusal: null };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: "stop" }];
  return {
    headers: {},
    answer: JSON.stringify({ ...head, object: "chat.completion", choices, usage }),
    events: [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), "data: [DONE]\n\n"],
  };
}

/** The answers of a provider of the Messages API. */
function createMessagesScript(): object {
  const head = { id: "msg_013Zva2CMHLNnXjNJJKqJ2EF", type: "message", role: "assistant", model: MODEL };
  const usage = { input_tokens: USAGE.input, output_tokens: USAGE.output };
  const end = { stop_reason: "end_turn", stop_sequence: null };
  const message = { ...head, content: [], stop_reason: null, stop_sequence: null, usage };
  const events = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...deltas.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: end, usage },
    { type: "message_stop" },
  ];
  return {
    headers: {},
    answer: JSON.stringify({ ...head, content: [{ type: "text", text: deltas.join("") }], ...end, usage }),
    events: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
  };
}

/** The ways to get a stream, or a whole answer. */
function createWays(stream: boolean): readonly Way[] {
  const messages = [{ role: "user", content: QUESTION }];
  const [relayed, translated] = stream ? [0.6, 1.3] : [1.3, 1.3];
  const way = (provider: string, label: string, path: string, aim: number, more: object = {}): Way => {
    const body = {
      model: `${provider}/${MODEL}`,
      max_tokens: 1000,
      messages,
      ...(stream && { stream }),
      ...more,
    };
    return { label, provider, path, aim, body };
  };
  const chat = "/v1/chat/completions";
  const usage = { stream_options: { include_usage: true } };
  return [
    { label: "gRPC", provider: "compatible" },
    way("compatible", `${chat}, relayed`, chat, relayed),
    ...(stream ? [way("compatible", `${chat}, relayed with its usage`, chat, relayed, usage)] : []),
    { label: "gRPC", provider: "anthropic" },
    way("anthropic", "/v1/messages, relayed", "/v1/messages", relayed),
    { label: "gRPC", provider: "openai" },
    {
      label: "/v1/responses, relayed",
      provider: "openai",
      path: "/v1/responses",
      aim: relayed,
      body: { model: `openai/${MODEL}`, input: QUESTION, store: false, ...(stream && { stream }) },
    },
    way("openai", `${chat}, translated`, chat, translated),
    way("openai", "/v1/messages, translated", "/v1/messages", translated),
  ];
}

/** The wire APIs by the names of the providers. */
const WIRE_APIS: Readonly<Record<string, string>> = {
  compatible: "Chat Completions",
  anthropic: "Messages",
  openai: "Responses",
};

async function startProviders(): Promise<Readonly<Record<string, LoadServer>>> {
  const start = async (name: string, content: object) => {
    const script = join(RUN_FOLDER, `script-${name}.json`);
    await writeFile(script, JSON.stringify(content));
    return startUpstream({ script });
  };
  const { script } = await writeExchange({ deltas: DELTAS, clocked: false });
  return {
    compatible: await start("chat", createChatScript()),
    anthropic: await start("messages", createMessagesScript()),
    openai: await startUpstream({ script }),
  };
}

function startSidecar(program: string, providers: Readonly<Record<string, LoadServer>>): Promise<Running> {
  const addressOf = (name: string) => `http://${providers[name]?.address}`;
  return startListening((address) => ({
    file: process.execPath,
    args: [...NODE_OPTIONS, program, "serve"],
    env: {
      ...ALLOCATOR_VARIABLES,
      OPENAI_API_KEY: "sk-none-0123456789",
      OPENAI_BASE_URL: `${addressOf("openai")}/v1`,
      ANTHROPIC_API_KEY: "sk-none-0123456789",
      ANTHROPIC_BASE_URL: addressOf("anthropic"),
      OUTRIGGER_COMPATIBLE_BASE_URL: `${addressOf("compatible")}/v1`,
      OUTRIGGER_COMPATIBLE_API_KEY: "sk-none-0123456789",
      OUTRIGGER_LISTEN: address,
      OUTRIGGER_ADMIN_LISTEN: "127.0.0.1:0",
    },
  }));
}

/** Returns the CPU of a way, in microseconds per call. */
async function measure(
  { pid, address }: Running,
  way: Way,
  stream: boolean,
  divisor: number,
): Promise<number> {
  const request = await writeRequest(way);
  const shared = { target: address, concurrency: CONCURRENCY, request };
  const call = (calls: number) =>
    way.path === undefined
      ? makeCalls({
          ...shared,
          calls,
          protocol: "grpc",
          path: `/outrigger.v1.InferenceService/${stream ? "Stream" : "Complete"}`,
          connections: 4,
          messages: stream ? DELTAS + EVENTS_AROUND_DELTAS : 1,
        })
      : makeCalls({ ...shared, calls, protocol: "direct", path: way.path });
  await call(WARM_UP / divisor);
  const before = readCpuMicros(pid);
  const { failed, failures, calls } = await call(CALLS / divisor);
  if (failed > 0) throw new Error(`${way.label}: ${failed} calls failed: ${formatFailures(failures)}`);
  return (readCpuMicros(pid) - before) / calls;
}

async function writeRequest({ provider, body }: Way): Promise<string> {
  const file = join(RUN_FOLDER, "api-request");
  const content = [{ part: { case: "text", value: QUESTION } as const }];
  const messages = [{ role: Role.USER, content }];
  const request = create(RequestSchema, { provider, model: MODEL, messages, maxTokens: 1000 });
  await writeFile(file, body === undefined ? toBinary(RequestSchema, request) : JSON.stringify(body));
  return file;
}

/** Measures all ways in all rounds. @returns Their table. */
async function measureAll(sidecar: Running, stream: boolean, divisor: number): Promise<string> {
  const ways = createWays(stream);
  const rounds: number[][] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const found: number[] = [];
    for (const way of ways) found.push(await measure(sidecar, way, stream, divisor));
    rounds.push(found);
    process.stderr.write(`${stream ? "streams" : "whole answers"}: round ${round + 1} of ${ROUNDS}\n`);
  }
  const rows = ways.map(({ label, provider, aim }, index) => {
    const grpc = ways.findIndex((way) => way.path === undefined && way.provider === provider);
    const ratio = getSpread(
      rounds.map((found) => (found[index] ?? Number.NaN) / (found[grpc] ?? Number.NaN)),
    );
    const micros = getMedian(rounds.map((found) => found[index] ?? Number.NaN)).toFixed(0);
    const compared = aim === undefined ? ["", ""] : [formatRatio(ratio), `${aim} ×`];
    return [label, WIRE_APIS[provider] ?? "", micros, ...compared];
  });
  const title = stream ? "Stream of 100 events" : "Whole answer";
  return markdownTable([[title, "API of the provider", "CPU, µs", "/ gRPC", "aim"], ...rows]);
}

process.once("exit", killAll);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.chdir(PROJECT_FOLDER);
const divisor = process.argv.includes("--quick") ? 10 : 1;
const machine = await describeMachine();
const { start } = await buildCurrent();
await buildLoad();
const providers = await startProviders();
const sidecar = await startSidecar(start, providers);
const section = [
  "## APIs that store nothing",
  `Streams and whole answers of the same text, ${CONCURRENCY} at once.`,
  await measureAll(sidecar, true, divisor),
  await measureAll(sidecar, false, divisor),
  `Written on ${new Date().toISOString().slice(0, 10)} by \`node bench/apis.ts\`.`,
  [...machine.slice(0, 2), `Node ${process.version}`].map((line) => `- ${line}`).join("\n"),
].join("\n\n");
await sidecar.stop();
for (const provider of Object.values(providers)) await provider[Symbol.asyncDispose]();
process.stdout.write(`${section}\n`);
if (process.argv.includes("--write")) await writeSection("apis.ts", section);
