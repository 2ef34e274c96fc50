import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  Code,
  ConnectError,
  createClient,
  type Client as RpcClient,
  type Transport,
} from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Client, functionTool, textOf, userMessage } from "outrigger";
import { describe, expect, it, vi } from "vitest";
import { RateLimitError } from "../../../src/core/errors.ts";
import { BadRequestSchema, RetryInfoSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { InferenceErrorSchema } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { type RunEvent, RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { RunService } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import { AccessControl } from "../../../src/server/access/access-control.ts";
import { createRunService } from "../../../src/server/services/run-service.ts";
import { ScriptedModel, type Turn } from "../../generation/support/scripted-model.ts";
import { createTestEngine } from "../../runs/support/test-engine.ts";
import { accessKey } from "../support/access-keys.ts";
import { TRANSPORTS } from "../support/clients.ts";
import { type TestServer, type TestServerOptions, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

interface RunServer extends TestServer {
  readonly model: ScriptedModel;
}

/** A server with RunService over an engine whose model follows a script. */
async function start(turns: readonly Turn[], options: TestServerOptions = {}): Promise<RunServer> {
  const model = new ScriptedModel(turns);
  const client = new Client({ providers: { scripted: model }, fieldPaths: "contract" });
  const { engine } = await createTestEngine([], { client });
  const service = createRunService(engine, client);
  const server = await servers.start({}, { ...options, services: [service] });
  servers.onEnd(() => engine.close());
  return { ...server, model };
}

type Runs = RpcClient<typeof RunService>;

function toRuns(transport: Transport): Runs {
  return createClient(RunService, transport);
}

const grpc = (server: TestServer) => toRuns((TRANSPORTS.gRPC as (url: string) => Transport)(server.url));

/** Options of a generation with one user message. */
function getErrorOptions(text: string, request = {}) {
  return { request: { model: "m", messages: [userMessage(text)], ...request } };
}

const withTool = { tools: [functionTool({ name: "ask_person" })] };

async function all(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const list: RunEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

/** The events of a stream, and what it throws. */
async function heard(stream: AsyncIterable<RunEvent>): Promise<{ events: RunEvent[]; error: unknown }> {
  const events: RunEvent[] = [];
  try {
    for await (const event of stream) events.push(event);
    return { events, error: undefined };
  } catch (error) {
    return { events, error };
  }
}

async function toFailure(call: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error("the call did not fail");
  return error;
}

function getViolations(error: ConnectError): string[] {
  return error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations.map(({ field }) => field));
}

describe.each(Object.entries(TRANSPORTS))("RunService over %s", (_name, transportTo) => {
  it("creates runs, returns and lists them, and deletes them", async () => {
    const server = await start(["hello"]);
    const runs = toRuns(transportTo(server.url));
    const run = await runs.createRun({ options: getErrorOptions("hi"), metadata: { team: "a" } });
    expect(run).toMatchObject({ status: RunStatus.COMPLETED, metadata: { team: "a" }, stored: true });
    expect(textOf(run.steps[0]?.response)).toBe("hello");
    expect(await runs.getRun({ runId: run.id })).toEqual(run);
    const { runs: listed } = await runs.listRuns({});
    expect(listed).toEqual([{ ...run, steps: [] }]);
    await runs.deleteRun({ runId: run.id });
    expect((await toFailure(runs.getRun({ runId: run.id }))).code).toBe(Code.NotFound);
  });

  it("streams a run as it happens, and again from any event on", async () => {
    const server = await start(["hello"]);
    const runs = toRuns(transportTo(server.url));
    const events = await all(runs.createRunStream({ options: getErrorOptions("hi") }));
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
    const [first] = events;
    const runId = first?.event.case === "run" ? first.event.value.id : "";
    expect(events.at(-1)?.event).toMatchObject({ case: "run", value: { status: RunStatus.COMPLETED } });
    expect(await all(runs.streamRun({ runId }))).toEqual(events);
    expect(await all(runs.streamRun({ runId, afterSequence: 3 }))).toEqual(events.slice(4));
    expect(await all(runs.streamRun({ runId, afterSequence: events.length - 1 }))).toEqual([]);
  });

  it("continues a run with the results of its calls", async () => {
    const server = await start([[{ name: "ask_person" }], "thanks"]);
    const runs = toRuns(transportTo(server.url));
    const waiting = await runs.createRun({ options: getErrorOptions("hi", withTool) });
    expect(waiting.status).toBe(RunStatus.REQUIRES_ACTION);
    const [call] = waiting.requiredResults;
    const content = [{ part: { case: "text" as const, value: "42" } }];
    const results = [{ toolCallId: call?.id ?? "", content }];
    const over = await runs.submitToolResults({ runId: waiting.id, results });
    expect(over).toMatchObject({ id: waiting.id, status: RunStatus.COMPLETED });
    expect(over.steps).toHaveLength(2);
    const again = await toFailure(runs.submitToolResults({ runId: waiting.id, results }));
    expect(again.code).toBe(Code.FailedPrecondition);
    expect(getViolations(again)).toEqual(["run_id"]);
    expect(again.findDetails(InferenceErrorSchema)).toHaveLength(1);
  });

  it("names the fields that are wrong", async () => {
    const server = await start(["hello"]);
    const runs = toRuns(transportTo(server.url));
    const wrong: [() => Promise<unknown>, string[]][] = [
      [() => runs.getRun({}), ["run_id"]],
      [() => runs.cancelRun({}), ["run_id"]],
      [() => runs.deleteRun({}), ["run_id"]],
      [() => runs.submitToolResults({}), ["run_id"]],
      [() => runs.listRuns({ pageSize: -1 }), ["page_size"]],
      [() => runs.listRuns({ pageToken: "run_none" }), ["page_token"]],
      [() => all(runs.streamRun({})), ["run_id"]],
      [() => all(runs.streamRun({ runId: "run_x", afterSequence: -2 })), ["after_sequence"]],
      [() => runs.createRun({}), ["options"]],
      [
        () => runs.createRun({ options: getErrorOptions("hi"), background: true, store: false }),
        ["background"],
      ],
      [
        () => runs.createRun({ options: getErrorOptions("hi", { temperature: -1 }) }),
        ["options.request.temperature"],
      ],
    ];
    for (const [call, fields] of wrong) {
      const error = await toFailure(call());
      expect([error.code, getViolations(error)], String(call)).toEqual([Code.InvalidArgument, fields]);
    }
    const missing = { runId: "run_00000000000000000000000000000000" };
    for (const call of [
      () => runs.getRun(missing),
      () => runs.cancelRun(missing),
      () => all(runs.streamRun(missing)),
    ])
      expect((await toFailure(call())).code).toBe(Code.NotFound);
    expect(server.model.requests).toEqual([]);
  });
});

describe("a run that fails", () => {
  const failing = new RateLimitError("slow down", { provider: "scripted", retryAfter: 7, retryable: false });

  it("is the answer of CreateRun, with its error in the log", async () => {
    const server = await start([failing]);
    const run = await grpc(server).createRun({ options: getErrorOptions("hi") });
    expect(run).toMatchObject({ status: RunStatus.FAILED, error: { message: "slow down" } });
    await vi.waitFor(() =>
      expect(server.log.find(({ rpc }) => rpc === "outrigger.v1.RunService/CreateRun")).toMatchObject({
        code: "OK",
        error_kind: "RATE_LIMIT",
        model: "m",
      }),
    );
  });

  it("ends CreateRunStream with its event and then with the status of its error, and StreamRun with OK", async () => {
    const server = await start([failing]);
    const { events, error } = await heard(grpc(server).createRunStream({ options: getErrorOptions("hi") }));
    const last = events.at(-1)?.event;
    expect(last).toMatchObject({ case: "run", value: { status: RunStatus.FAILED } });
    expect(error).toMatchObject({ code: Code.ResourceExhausted, rawMessage: "slow down" });
    const runId = last?.case === "run" ? last.value.id : "";
    expect(await heard(grpc(server).streamRun({ runId }))).toEqual({ events, error: undefined });
  });
});

describe("a run in the background", () => {
  it("is answered at once, can be followed and cancelled, and its stream says how it ended", async () => {
    const server = await start(["hello"]);
    server.model.beforeAnswer = (signal) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const runs = grpc(server);
    const run = await runs.createRun({ options: getErrorOptions("hi"), background: true });
    expect(run.status).toBe(RunStatus.QUEUED);
    const following = heard(runs.streamRun({ runId: run.id }));
    await vi.waitFor(() => expect(server.model.open).toBe(1));
    expect(await runs.cancelRun({ runId: run.id })).toMatchObject({ status: RunStatus.CANCELLED });
    const { events, error } = await following;
    expect(error).toBeUndefined();
    expect(events.at(-1)?.event).toMatchObject({ case: "run", value: { status: RunStatus.CANCELLED } });
    expect(server.model.open).toBe(0);
  });

  it("continues when the reader of its stream disconnects", async () => {
    const server = await start(["hello"]);
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    server.model.beforeAnswer = () => gate;
    const runs = grpc(server);
    const gone = new AbortController();
    const request = { options: getErrorOptions("hi"), background: true };
    let runId = "";
    const reading = (async () => {
      for await (const { event } of runs.createRunStream(request, { signal: gone.signal })) {
        if (event.case === "run") runId = event.value.id;
        if (event.case === "run" && event.value.status === RunStatus.IN_PROGRESS) gone.abort();
      }
    })();
    expect((await toFailure(reading)).code).toBe(Code.Canceled);
    open();
    await vi.waitFor(async () =>
      expect(await runs.getRun({ runId })).toMatchObject({ status: RunStatus.COMPLETED }),
    );
  });

  it("does not end a stream silently when its reader's deadline runs out", async () => {
    const server = await start(["hello"]);
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    server.model.beforeAnswer = () => gate;
    const runs = grpc(server);
    const { id: runId } = await runs.createRun({ options: getErrorOptions("hi"), background: true });
    const { error } = await heard(runs.streamRun({ runId }, { timeoutMs: 300 }));
    expect(error).toMatchObject({ code: Code.DeadlineExceeded });
    open();
    await vi.waitFor(async () =>
      expect(await runs.getRun({ runId })).toMatchObject({ status: RunStatus.COMPLETED }),
    );
  });

  it("does not end a stream silently when it is deleted", async () => {
    const server = await start(["hello"]);
    server.model.beforeAnswer = (signal) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const runs = grpc(server);
    const { id: runId } = await runs.createRun({ options: getErrorOptions("hi"), background: true });
    const following = heard(runs.streamRun({ runId }));
    await vi.waitFor(() => expect(server.model.open).toBe(1));
    await runs.deleteRun({ runId });
    const { events, error } = await following;
    const last = events.at(-1)?.event;
    const isWhole = last?.case === "run" && last.value.status === RunStatus.CANCELLED;
    expect(isWhole || error instanceof ConnectError).toBe(true);
  });
});

describe("a run in the foreground", () => {
  it.each(["createRun", "createRunStream"] as const)(
    "is cancelled when the caller of %s disconnects, and the provider call ends",
    async (method) => {
      const server = await start(["hello"]);
      server.model.beforeAnswer = (signal) =>
        new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      const runs = grpc(server);
      const gone = new AbortController();
      const request = { options: getErrorOptions("hi") };
      const call =
        method === "createRun"
          ? runs.createRun(request, { signal: gone.signal })
          : all(runs.createRunStream(request, { signal: gone.signal }));
      const failure = toFailure(call);
      await vi.waitFor(() => expect(server.model.requests).toHaveLength(1));
      gone.abort();
      expect((await failure).code).toBe(Code.Canceled);
      await vi.waitFor(async () => {
        const { runs: listed } = await runs.listRuns({});
        expect(listed).toMatchObject([{ status: RunStatus.CANCELLED }]);
      });
      expect(server.model.open).toBe(0);
    },
  );

  it("ends with the deadline of its caller", async () => {
    const server = await start(["hello"]);
    server.model.beforeAnswer = (signal) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const error = await toFailure(
      grpc(server).createRun({ options: getErrorOptions("hi") }, { timeoutMs: 200 }),
    );
    expect(error.code).toBe(Code.DeadlineExceeded);
    await vi.waitFor(() => expect(server.model.open).toBe(0));
  });
});

describe("ListRuns", () => {
  it("gives every run once, page by page, the latest first", async () => {
    const server = await start(["hello"]);
    const runs = grpc(server);
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1)
      ids.push((await runs.createRun({ options: getErrorOptions("hi") })).id);
    const found: string[] = [];
    const times: number[] = [];
    let pageToken = "";
    do {
      const page = await runs.listRuns({ pageSize: 2, pageToken });
      expect(page.runs.length).toBeLessThanOrEqual(2);
      found.push(...page.runs.map(({ id }) => id));
      times.push(...page.runs.map(({ createdAt }) => (createdAt === undefined ? 0 : timestampMs(createdAt))));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect([...found].sort()).toEqual([...ids].sort());
    expect(times).toEqual([...times].sort((left, right) => right - left));
    const completed = await runs.listRuns({ statuses: [RunStatus.COMPLETED] });
    expect(completed.runs).toHaveLength(5);
    expect((await runs.listRuns({ statuses: [RunStatus.FAILED] })).runs).toEqual([]);
  });
});

describe("runs of callers with access keys", () => {
  it("belong to the key that made them, and do not exist for others", async () => {
    const keys = [accessKey("a", ["a-old", "a-new"]), accessKey("b", ["b-key"])];
    const server = await start(["a secret"], { access: new AccessControl({ current: () => keys }) });
    const runsWith = (key: string) =>
      toRuns(
        createConnectTransport({
          baseUrl: server.url,
          httpVersion: "2",
          interceptors: [
            (next) => (request) => {
              request.header.set("authorization", `Bearer ${key}`);
              return next(request);
            },
          ],
        }),
      );
    const run = await runsWith("a-old").createRun({ options: getErrorOptions("hi") });
    expect((await runsWith("a-new").getRun({ runId: run.id })).id).toBe(run.id);
    const other = runsWith("b-key");
    const foreign = { runId: run.id };
    for (const call of [
      () => other.getRun(foreign),
      () => other.cancelRun(foreign),
      () => other.deleteRun(foreign),
      () => other.submitToolResults(foreign),
      () => all(other.streamRun(foreign)),
      () => other.createRun({ options: getErrorOptions("go on"), previousRunId: run.id }),
      () => other.createRun({ options: getErrorOptions("go on"), threadId: run.threadId }),
    ]) {
      const error = await toFailure(call());
      expect(error.code).toBe(Code.NotFound);
      expect(error.message).not.toContain("secret");
    }
    expect((await other.listRuns({})).runs).toEqual([]);
    expect((await runsWith("a-new").getRun(foreign)).status).toBe(RunStatus.COMPLETED);
  });
});

describe("a limit on runs", () => {
  it("is RESOURCE_EXHAUSTED with a time to wait", async () => {
    const model = new ScriptedModel(["hello"]);
    const client = new Client({ providers: { scripted: model }, fieldPaths: "contract" });
    const { engine } = await createTestEngine([], { client, limits: { maxForegroundRuns: 0 } });
    const server = await servers.start({}, { services: [createRunService(engine, client)] });
    servers.onEnd(() => engine.close());
    const error = await toFailure(grpc(server).createRun({ options: getErrorOptions("hi") }));
    expect(error.code).toBe(Code.ResourceExhausted);
    expect(error.findDetails(RetryInfoSchema)).toHaveLength(1);
  });
});
