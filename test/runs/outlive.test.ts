/** A background run outlives the sidecar that executes it: processes, over a file and over a database. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { type Run, type RunEvent, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { killLeftovers } from "../cli/support/spawn-outrigger.ts";
import { Postgres } from "../support/postgres/start-postgres.ts";
import { type Sidecar, startSidecarProcess } from "../support/sidecar.ts";

const postgres = await Postgres.start();
const folder = mkdtempSync(join(tmpdir(), "outrigger-outlive-"));
const config = join(folder, "outrigger.yaml");
writeFileSync(config, "drain_timeout: 60s\nruns:\n  limits: { lease: 1500ms }\n");

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterEach(async () => {
  await killLeftovers();
  simulator.clearRequests();
});

afterAll(async () => {
  await simulator.close();
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

function startOn(store: string): Promise<Sidecar> {
  return startSidecarProcess(config, {
    OPENAI_API_KEY: "any",
    OPENAI_BASE_URL: simulator.openaiBaseUrl,
    OUTRIGGER_RUNS_STORE: store,
  });
}

/** Starts a run whose model writes for two minutes. Resolves when it writes. */
async function startLongRun({ runs }: Sidecar): Promise<Run> {
  const options = { request: { model: "sim-long:tokens=600,rate=5" }, prompt: "Count." };
  const run = await runs.createRun({ background: true, options });
  const reader = new AbortController();
  const read = async () => {
    for await (const { event } of runs.streamRun({ runId: run.id }, { signal: reader.signal }))
      if (event.case === "modelEvent" && event.value.event.case === "textDelta") reader.abort();
  };
  await expect(read()).rejects.toMatchObject({ code: Code.Canceled });
  return run;
}

async function readAll({ runs }: Sidecar, runId: string): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of runs.streamRun({ runId })) events.push(event);
  return events;
}

/** Waits until another sidecar has called the model for the run, and ends the run. */
async function expectContinued(sidecar: Sidecar, { id }: Run): Promise<void> {
  await expect.poll(() => simulator.requests.length, { timeout: 30_000 }).toBe(2);
  const running = await sidecar.runs.getRun({ runId: id });
  expect(running.status).toBe(RunStatus.IN_PROGRESS);
  await sidecar.runs.cancelRun({ runId: id });
  const events = await readAll(sidecar, id);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  const restarts = events.filter(({ event }) => event.case === "stepRestart");
  expect(restarts).toMatchObject([{ step: 1, event: { value: { abandonedAttempt: { step: 1 } } } }]);
  const statuses = events.flatMap(({ event }) => (event.case === "run" ? [event.value.status] : []));
  expect(statuses).toEqual([
    RunStatus.QUEUED,
    RunStatus.IN_PROGRESS,
    RunStatus.QUEUED,
    RunStatus.IN_PROGRESS,
    RunStatus.CANCELLED,
  ]);
}

/** Expects that a call waits neither for the model, which writes for two minutes, nor for the drain timeout. */
async function expectSoon(work: Promise<unknown>): Promise<void> {
  const late = new Promise((resolve) => setTimeout(resolve, 20_000, "too late"));
  expect(await Promise.race([work, late])).not.toBe("too late");
}

describe("a background run in a file", { timeout: 120_000 }, () => {
  it.each(["stop", "kill"] as const)("continues after a restart of the sidecar (%s)", async (end) => {
    const store = join(folder, `${end}.db`);
    const first = await startOn(store);
    const run = await startLongRun(first);
    await expectSoon(first[end]());
    await expectContinued(await startOn(store), run);
  });
});

describe.skipIf(postgres === undefined)("a background run in PostgreSQL", { timeout: 120_000 }, () => {
  it.each(["stop", "kill"] as const)("continues in another sidecar (%s)", async (end) => {
    await postgres?.query(`CREATE DATABASE outlive_${end}`);
    const store = postgres?.url(`outlive_${end}`) ?? "";
    const first = await startOn(store);
    const run = await startLongRun(first);
    const second = await startOn(store);
    await expectSoon(first[end]());
    await expectContinued(second, run);
  });
});
