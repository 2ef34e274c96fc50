/** Several sidecars, each a separate process, on one database. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../../../simulator/index.ts";
import {
  type Run,
  type RunEvent,
  RunEventSchema,
  RunStatus,
} from "../../../../src/gen/outrigger/v1/run_pb.ts";
import { killLeftovers } from "../../../cli/support/spawn-outrigger.ts";
import { Postgres } from "../../../support/postgres/start-postgres.ts";
import { createRandom } from "../../../support/random.ts";
import { type Sidecar, startSidecarProcess } from "../../../support/sidecar.ts";

const found = await Postgres.start();

/** How long a sidecar that died keeps its runs, in milliseconds. */
const LEASE_MS = 1_500;

/** Longest wait for a lease or for the queue, in milliseconds. */
const PATIENCE = { timeout: 60_000, interval: 100 };

/** Terminal statuses. */
const TERMINAL: ReadonlySet<RunStatus> = new Set([
  RunStatus.COMPLETED,
  RunStatus.INCOMPLETE,
  RunStatus.FAILED,
  RunStatus.CANCELLED,
]);

afterAll(() => found?.stop());

describe.skipIf(found === undefined)("sidecars on one PostgreSQL database", { timeout: 180_000 }, () => {
  let postgres: Postgres;
  let simulator: Simulator;
  let folder: string;
  let databases = 0;
  let database = "";

  beforeAll(async () => {
    if (found !== undefined) postgres = found;
    simulator = await startSimulator({ requestLog: { maxEntries: 10_000 } });
    folder = await mkdtemp(join(tmpdir(), "outrigger-sidecars-"));
    await writeConfig("short.yaml", `{ lease: ${LEASE_MS}ms, max_background_runs: 8 }`);
    await writeConfig("long.yaml", "{ lease: 120s }");
  });
  beforeEach(async () => {
    databases += 1;
    database = `sidecars_${databases}`;
    await postgres.query(`CREATE DATABASE ${database}`);
    simulator.clearRequests();
  });
  afterEach(killLeftovers);
  afterAll(async () => {
    await simulator.close();
    await rm(folder, { recursive: true });
  });

  function writeConfig(name: string, limits: string): Promise<void> {
    return writeFile(join(folder, name), `runs:\n  limits: ${limits}\n`);
  }

  function start(config = "short.yaml"): Promise<Sidecar> {
    return startSidecarProcess(join(folder, config), {
      OPENAI_API_KEY: "any",
      OPENAI_BASE_URL: simulator.openaiBaseUrl,
      OUTRIGGER_RUNS_STORE: postgres.url(database),
    });
  }

  /** Calls of the model with this text in their input. */
  function callsWith(text: string): number {
    return simulator.requests.filter(({ body }) => JSON.stringify(body).includes(text)).length;
  }

  it("poll, follow, continue and cancel runs that another one started", async () => {
    // Long leases: only notices inform one sidecar of the other's changes.
    const [first, second] = await Promise.all([start("long.yaml"), start("long.yaml")]);
    const slow = request("sim-long:tokens=300,rate=150", "hello");
    const { id } = await first.runs.createRun({ ...slow, background: true });
    const early = read(second, id);
    const resumed = early.then((events) => read(second, id, events[5]?.sequence ?? 0));
    const [events, tail] = [await early, await resumed];
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
    expect(toBytes(await read(first, id))).toEqual(toBytes(events));
    expect(toBytes(tail)).toEqual(toBytes(events.slice(6)));
    const run = await second.runs.getRun({ runId: id });
    expect([run.status, run.steps.length]).toEqual([RunStatus.COMPLETED, 1]);
    const next = await second.runs.createRun({ ...request("sim-text", "and?"), previousRunId: id });
    expect([next.status, next.threadId]).toEqual([RunStatus.COMPLETED, run.threadId]);
    const long = { ...request("sim-long:tokens=5000,rate=50", "never"), background: true };
    const endless = await first.runs.createRun(long);
    await expect.poll(() => callsWith("never")).toBe(1);
    const cancelled = await second.runs.cancelRun({ runId: endless.id });
    expect(cancelled.status).toBe(RunStatus.CANCELLED);
    const { aborted } = await simulator.waitForClose({
      where: ({ body }) => JSON.stringify(body).includes("never"),
    });
    expect(aborted).toBe(true);
    expect((await first.runs.getRun({ runId: endless.id })).status).toBe(RunStatus.CANCELLED);
    expect([await first.stop(), await second.stop()]).toEqual([0, 0]);
  });

  it("notify a reader on another sidecar of each event soon after it was written", async () => {
    const [first, second] = await Promise.all([start(), start()]);
    const slow = { ...request("sim-long:tokens=40,rate=20", "slowly"), background: true };
    const { id } = await first.runs.createRun(slow);
    const arrivals: number[] = [];
    for await (const _ of second.runs.streamRun({ runId: id })) arrivals.push(performance.now());
    // A reader without notices would get the events of several seconds at a time.
    const distinct = arrivals.filter((time, index) => index === 0 || time - (arrivals[index - 1] ?? 0) > 10);
    expect(distinct.length).toBeGreaterThan(15);
    await Promise.all([first.stop(), second.stop()]);
  });

  it("execute the runs of one conversation one after the other", async () => {
    const sidecars = await Promise.all([start(), start()]);
    const root = await sidecars[0]?.runs.createRun(request("sim-text", "root"));
    if (root === undefined) throw new Error("expected a run");
    const turns = Array.from({ length: 6 }, (_, index) => `turn ${index}`);
    const runs = await Promise.all(
      turns.map((text, index) =>
        (sidecars[index % 2] ?? sidecars[0])?.runs.createRun({
          ...request("sim-text", text),
          threadId: root.threadId,
        }),
      ),
    );
    expect(runs.map((run) => run?.status)).toEqual(turns.map(() => RunStatus.COMPLETED));
    const { messages } =
      (await sidecars[1]?.threads.listMessages({ threadId: root.threadId, pageSize: 100 })) ?? {};
    const roles = (messages ?? []).map(({ output }) => output);
    expect(roles).toEqual([false, true, ...turns.flatMap(() => [false, true])]);
    await Promise.all(sidecars.map((sidecar) => sidecar.stop()));
  });

  it("take over the queued runs of one that died, and continue its running ones", async () => {
    const first = await start();
    const running: Run[] = [];
    const queued: Run[] = [];
    const slow = "sim-long:tokens=1000,rate=40";
    for (let index = 0; index < 8; index += 1) {
      running.push(await first.runs.createRun({ ...request(slow, `running ${index}.`), background: true }));
    }
    await expect.poll(() => simulator.requests.length, PATIENCE).toBe(8);
    for (let index = 0; index < 8; index += 1) {
      queued.push(
        await first.runs.createRun({ ...request("sim-text", `queued ${index}.`), background: true }),
      );
    }
    await first.kill();
    const second = await start();
    const getStatus = async ({ id }: Run) => (await second.runs.getRun({ runId: id })).status;
    const statuses = (runs: readonly Run[]) => Promise.all(runs.map(getStatus));
    const calls = () => running.map((_, index) => callsWith(`running ${index}.`));
    await expect.poll(calls, PATIENCE).toEqual(running.map(() => 2));
    for (const { id } of running) await second.runs.cancelRun({ runId: id });
    await expect.poll(() => statuses(queued), PATIENCE).toEqual(queued.map(() => RunStatus.COMPLETED));
    for (const { id } of running) {
      const run = await second.runs.getRun({ runId: id });
      expect(run.attempts[0]?.error?.message).toContain("the sidecar that made the call stopped");
      const events = await read(second, id);
      expect(getEnds(events)).toEqual([RunStatus.CANCELLED]);
      expect(events.filter(({ event }) => event.case === "stepRestart")).toHaveLength(1);
    }
    for (let index = 0; index < 8; index += 1) expect(callsWith(`queued ${index}.`)).toBe(1);
    await second.stop();
  });

  it("lose nothing and record every model call when they are killed at random under load", async () => {
    const random = createRandom(Number(process.env.OUTRIGGER_TEST_SEED ?? Date.now()));
    const sidecars = await Promise.all([start(), start(), start()]);
    const acknowledged = new Map<string, string>();
    let isStopped = false;
    let texts = 0;
    const load = async () => {
      while (!isStopped) {
        texts += 1;
        const text = `work ${texts}.`;
        const sidecar = sidecars[Math.floor(random() * sidecars.length)];
        const tokens = 5 + Math.floor(random() * 60);
        const work = { ...request(`sim-long:tokens=${tokens},rate=100`, text), background: true };
        const run = await sidecar?.runs.createRun(work).catch(ignoreKill);
        if (run !== undefined) acknowledged.set(text, run.id);
        await pause(20 + random() * 60);
      }
    };
    const loads = [load(), load(), load()];
    for (let kill = 0; kill < 3; kill += 1) {
      await pause(600 + random() * 1_500);
      const victim = Math.floor(random() * sidecars.length);
      await sidecars[victim]?.kill();
      sidecars[victim] = await start();
    }
    await pause(500);
    isStopped = true;
    await Promise.all(loads);
    const [sidecar] = sidecars;
    if (sidecar === undefined) throw new Error("expected a sidecar");
    const ids = [...acknowledged.values()];
    expect(ids.length).toBeGreaterThan(30);
    const open = async () => {
      const runs = await Promise.all(ids.map((runId) => sidecar.runs.getRun({ runId })));
      return runs.filter(({ status }) => !TERMINAL.has(status)).map(({ id, status }) => `${id} ${status}`);
    };
    await expect.poll(open, { timeout: 120_000, interval: 500 }).toEqual([]);
    for (const [text, id] of acknowledged) {
      const [run, events] = await Promise.all([sidecar.runs.getRun({ runId: id }), read(sidecar, id)]);
      expect(getEnds(events)).toEqual([run.status]);
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
      expect([RunStatus.COMPLETED, RunStatus.FAILED]).toContain(run.status);
      // Only a run whose model was called twice may fail. The events also show a call that was about to be made.
      if (run.status === RunStatus.FAILED) expect(run.error?.message).toContain("the model was called twice");
      expect(callsWith(text)).toBeLessThanOrEqual(run.attempts.length);
      expect(run.attempts.length).toBeLessThanOrEqual(2);
    }
    await Promise.all(sidecars.map((other) => other.stop()));
  });
});

function request(model: string, prompt: string) {
  return { options: { request: { model, messages: [] }, prompt } };
}

async function read(sidecar: Sidecar, runId: string, afterSequence?: number): Promise<RunEvent[]> {
  const events = [];
  const after = afterSequence === undefined ? {} : { afterSequence };
  for await (const event of sidecar.runs.streamRun({ runId, ...after })) events.push(event);
  return events;
}

function toBytes(events: readonly RunEvent[]): string[] {
  return events.map((event) => Buffer.from(toBinary(RunEventSchema, event)).toString("hex"));
}

/** The terminal statuses in the events of a run. */
function getEnds(events: readonly RunEvent[]): RunStatus[] {
  return events.flatMap(({ event }) =>
    event.case === "run" && TERMINAL.has(event.value.status) ? [event.value.status] : [],
  );
}

/** The codes that a client gets if the sidecar is killed during a call: the run may have been created or not. */
const KILLED: ReadonlySet<Code> = new Set([Code.Unavailable, Code.Internal, Code.Aborted, Code.Canceled]);

function ignoreKill(thrown: unknown): undefined {
  if (!KILLED.has(ConnectError.from(thrown).code)) throw thrown;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
