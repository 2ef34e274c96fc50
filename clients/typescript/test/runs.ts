import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http2";
import { mock } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import {
  AbortError,
  type CallInfo,
  Capability,
  Client,
  NetworkError,
  NotFoundError,
  RequestTimeoutError,
  RunStatus,
  Runs,
  textPart,
  userMessage,
} from "outrigger-client";
import {
  ErrorKind,
  InferenceErrorSchema,
  RunService,
  type StreamRunRequest,
  ToolResultSchema,
} from "outrigger-client/proto";
import type { RunEventSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";

type EventInit = MessageInitShape<typeof RunEventSchema>;

const WEATHER = {
  tool: { case: "function", value: { name: "get_weather", parametersJson: '{"type":"object"}' } },
} as const;

/** Checks of runs, of the catalog, and of what calls tell beside their answers. */
export const runChecks: readonly (readonly [name: string, check: () => Promise<void>])[] = [
  ["resumed_events", resumedEvents],
  ["long_outage", longOutage],
  ["busy_sidecar", busySidecar],
  ["events_without_a_sidecar", eventsWithoutASidecar],
  ["left_events", leftEvents],
  ["failed_run", failedRun],
  ["failed_run_of_the_sidecar", failedRunOfTheSidecar],
  ["cancelled_run", cancelledRun],
  ["run_with_tools", runWithTools],
  ["listed_runs", listedRuns],
  ["raw_answer", rawAnswer],
  ["catalog", catalog],
  ["embeddings", embeddings],
  ["call_info", callInfo],
  ["interceptors", interceptorsSeeCalls],
];

/** An event with the run in a state. */
function change(sequence: number, status: RunStatus): EventInit {
  return { sequence, event: { case: "run", value: { id: "run_1", status, background: true } } };
}

/** A run engine that loses the connection after each pair of events. */
function losingRuns(last: RunStatus): { runs: Runs; resumedAfter: (number | undefined)[] } {
  const resumedAfter: (number | undefined)[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(RunService, {
      async *createRunStream() {
        yield change(0, RunStatus.QUEUED);
        yield change(1, RunStatus.IN_PROGRESS);
        throw new ConnectError("the connection is lost", Code.Unavailable);
      },
      async *streamRun({ afterSequence }: StreamRunRequest) {
        resumedAfter.push(afterSequence);
        if (resumedAfter.length === 1) {
          yield { sequence: 2 };
          return;
        }
        yield change(3, last);
        if (last === RunStatus.FAILED) throw new ConnectError("the provider is away", Code.Unavailable);
      },
    });
  });
  return { runs: new Runs(createClient(RunService, transport)), resumedAfter };
}

async function resumedEvents(): Promise<void> {
  const { runs, resumedAfter } = losingRuns(RunStatus.COMPLETED);
  const seen: number[] = [];
  for await (const { sequence } of runs.createStream({ model: "m", background: true })) seen.push(sequence);
  assert.deepEqual(
    [seen, resumedAfter],
    [
      [0, 1, 2, 3],
      [1, 2],
    ],
  );
}

/** A run engine whose streams of events end with these failures, one after the other, and then with the run. */
function failingRuns(...failures: MessageInitShape<typeof InferenceErrorSchema>[]): {
  runs: Runs;
  calledAt: number[];
} {
  const calledAt: number[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(RunService, {
      async *streamRun(): AsyncGenerator<EventInit> {
        const value = failures[calledAt.push(Date.now()) - 1];
        if (value !== undefined) {
          const details = [{ desc: InferenceErrorSchema, value: create(InferenceErrorSchema, value) }];
          throw new ConnectError("failed", Code.Unavailable, undefined, details);
        }
        yield change(3, RunStatus.COMPLETED);
      },
    });
  });
  return { runs: new Runs(createClient(RunService, transport)), calledAt };
}

/** An hour passes at each look at a clock. */
async function longOutage(): Promise<void> {
  const lost = { kind: ErrorKind.NETWORK, retryable: true };
  const draining = { kind: ErrorKind.SERVER, retryable: true };
  const { runs, calledAt } = failingRuns(lost, draining, lost);
  const now = mock.method(performance, "now", () => now.mock.callCount() * 3_600_000);
  try {
    const seen: number[] = [];
    for await (const { sequence } of runs.events("run_1", { after: 2 })) seen.push(sequence);
    assert.deepEqual([seen, calledAt.length], [[3], 4]);
  } finally {
    now.mock.restore();
  }
}

async function busySidecar(): Promise<void> {
  const busy = { kind: ErrorKind.RATE_LIMIT, retryable: true, retryAfter: durationFromMs(1000) };
  const { runs, calledAt } = failingRuns(busy, { kind: ErrorKind.NOT_FOUND });
  await assert.rejects(runs.events("run_1").next(), NotFoundError);
  const [first = 0, second = 0] = calledAt;
  assert(calledAt.length === 2 && second - first >= 990, String(calledAt));
}

async function eventsWithoutASidecar(): Promise<void> {
  await using client = new Client({ address: "127.0.0.1:1" });
  await assert.rejects(client.runs.events("run_1").next(), (error) => {
    assert(error instanceof NetworkError);
    assert.match(error.message, /is the sidecar running at/);
    return true;
  });
}

/** Events can be left at once, also while none arrives, and while the sidecar is away. */
async function leftEvents(): Promise<void> {
  await using client = new Client();
  const model = "sim-text:delay_ms=60000";
  const { id, lastSequence } = await client.runs.create({ model, prompt: "Hi", background: true });
  const away = failingRuns(...Array(1000).fill({ kind: ErrorKind.NETWORK, retryable: true }));
  for (const runs of [client.runs, away.runs]) {
    const events = runs.events(id, { after: lastSequence + 1 });
    const next = events.next();
    await sleep(300);
    const leftAt = Date.now();
    await events.return(undefined);
    assert.equal((await next).done, true);
    assert(Date.now() - leftAt < 2000);
    const signal = AbortSignal.timeout(300);
    await assert.rejects(runs.events(id, { after: lastSequence + 1, signal }).next(), RequestTimeoutError);
  }
  await client.runs.cancel(id);
}

async function failedRun(): Promise<void> {
  const { runs, resumedAfter } = losingRuns(RunStatus.FAILED);
  await assert.rejects(async () => {
    for await (const _ of runs.events("run_1"));
  }, NetworkError);
  assert.deepEqual(resumedAfter, [undefined, 2]);
}

async function failedRunOfTheSidecar(): Promise<void> {
  await using client = new Client();
  // The provider closes its connection, so that the failure is one of the network.
  const options = { model: "sim-text:drop=1,delay_ms=300", prompt: "Hi", background: true, maxRetries: 0 };
  const { id } = await client.runs.create(options);
  assert.equal((await client.runs.wait(id)).status, RunStatus.FAILED);
  let last: unknown;
  await assert.rejects(async () => {
    for await (const { event } of client.runs.events(id)) last = event.case === "run" && event.value.status;
  }, NetworkError);
  assert.equal(last, RunStatus.FAILED);
}

async function cancelledRun(): Promise<void> {
  await using client = new Client();
  const model = "sim-long:tokens=100000,rate=20";
  const { id } = await client.runs.create({ model, prompt: "Hi", background: true });
  await client.runs.cancel(id);
  assert.equal((await client.runs.wait(id)).status, RunStatus.CANCELLED);
  await client.runs.delete(id);
  assert.equal(await client.runs.get(id), undefined);
}

async function runWithTools(): Promise<void> {
  await using client = new Client();
  const run = await client.runs.create({ model: "sim-tools", prompt: "Weather in Oslo?", tools: [WEATHER] });
  assert.equal(run.status, RunStatus.REQUIRES_ACTION);
  const results = run.requiredResults.map(({ id }) =>
    create(ToolResultSchema, { toolCallId: id, content: [textPart("drizzle")] }),
  );
  const ended = await client.runs.submitToolResults(run.id, results);
  assert.equal(ended.status, RunStatus.COMPLETED);
}

async function listedRuns(): Promise<void> {
  await using client = new Client();
  const first = await client.runs.create({ model: "sim-text", prompt: "One" });
  await client.runs.create({ model: "sim-text", prompt: "Two", previousRunId: first.id });
  const ids: string[] = [];
  for await (const { id } of client.runs.list({ threadId: first.threadId, pageSize: 1 })) ids.push(id);
  assert.equal(ids.length, 2);
  assert.equal(ids[1], first.id);
}

/** The body that the provider sent, and a client of the variables of the environment. */
async function rawAnswer(): Promise<void> {
  await using client = Client.fromEnv();
  const request = { model: "sim-echo", messages: [userMessage("Hello")], includeRaw: true };
  const { rawJson } = await client.complete(request);
  assert.match(JSON.stringify(JSON.parse(rawJson)), /Hello/);
}

async function catalog(): Promise<void> {
  await using client = new Client();
  const latest = await client.getLatestModel("anthropic", [Capability.TOOLS]);
  assert(latest !== undefined);
  assert.deepEqual(await client.getModelInfo(latest.id, "anthropic"), latest);
  const ids: string[] = [];
  for await (const { id } of client.listModels("anthropic", [Capability.TOOLS])) ids.push(id);
  assert(ids.includes(latest.id));
  assert.equal(await client.getModelInfo("no such model"), undefined);
  const signal = AbortSignal.abort();
  await assert.rejects(client.getModelInfo(latest.id, "anthropic", { signal }), AbortError);
  await assert.rejects(client.getLatestModel("anthropic", [], { signal }), AbortError);
  await assert.rejects(client.listModels("anthropic", [], { signal }).next(), AbortError);
}

async function embeddings(): Promise<void> {
  await using client = new Client();
  const { embeddings, model } = await client.embed({ model: "sim-text", texts: ["a", "b"], dimensions: 8 });
  assert.deepEqual([embeddings.map(({ values }) => values.length), model], [[8, 8], "sim-text"]);
  const count = await client.countTokens({ model: "sim-text", messages: [userMessage("Hello")] });
  assert(count.inputTokens > 0 && !count.estimated);
  await assert.rejects(client.embed({ provider: "anthropic", model: "sim-text", texts: ["a"] }), {
    name: "InvalidRequestError",
  });
}

async function callInfo(): Promise<void> {
  await using client = new Client();
  const calls: CallInfo[] = [];
  const lines: unknown[] = [];
  const told = client.with({
    headers: { "x-request-id": "mine-1" },
    onCall: (call) => calls.push(call),
    logger: { debug: (fields) => lines.push(fields) },
  });
  const request = { model: "sim-echo", messages: [userMessage("secret")] };
  await told.complete(request);
  await told.stream(request).final();
  assert.equal(await told.runs.get("run_0"), undefined);
  assert.deepEqual(
    calls.map(({ method, code, requestId }) => [method, code, requestId]),
    [
      ["Complete", "OK", "mine-1"],
      ["Stream", "OK", "mine-1"],
      ["GetRun", "NOT_FOUND", "mine-1"],
    ],
  );
  assert.equal(lines.length, 3);
  assert.doesNotMatch(JSON.stringify(lines), /secret/);
}

async function interceptorsSeeCalls(): Promise<void> {
  const paths: string[] = [];
  const server = createServer().on("stream", (stream) => {
    // A client that ends its connection at once may break the stream.
    stream.on("error", () => {});
    stream.respond({ "content-type": "application/grpc", "grpc-status": "16" }, { endStream: true });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const bound = server.address();
  assert(typeof bound === "object" && bound !== null);
  const address = `127.0.0.1:${bound.port}`;
  await using client = new Client({
    address,
    interceptors: [
      (next) => (request) => {
        paths.push(new URL(request.url).pathname);
        return next(request);
      },
    ],
  });
  await assert.rejects(client.complete({ model: "m", messages: [userMessage("hi")] }));
  assert.deepEqual(paths, ["/outrigger.v1.InferenceService/Complete"]);
  server.close();
}
