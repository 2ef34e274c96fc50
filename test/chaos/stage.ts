/** Sidecars on one store, with a simulated provider and a server of tools. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { CallError, call, isTerminal, type JsonEvent, type JsonRun, readEvents } from "./calls.ts";
import type { Evidence } from "./check.ts";
import { type Acknowledged, startLoad } from "./load.ts";
import { type Sidecar, startSidecar } from "./sidecar.ts";
import type { ChaosStore } from "./stores.ts";
import { startWorkServer, type WorkServer } from "./work-server.ts";

/** Longest wait until every acknowledged run has ended, in milliseconds: many times the lease. */
const SETTLE_MS = 60_000;

/** Milliseconds in which starting a sidecar is retried, since the database may be unavailable. */
const START_MS = 60_000;

/** The time after which the runs of a dead process are taken over. */
const LEASE = "1s";

/** Less than a run takes, so that draining interrupts runs. */
const DRAIN_TIMEOUT = "500ms";

/** The store, the simulator, the work server and the sidecars of a case. */
export class Stage {
  readonly store: ChaosStore;
  /** Sidecars that serve, oldest first. */
  readonly sidecars: Sidecar[] = [];
  readonly #simulator: Simulator;
  readonly #work: WorkServer;
  readonly #folder: string;
  #next = 0;

  private constructor(store: ChaosStore, simulator: Simulator, work: WorkServer) {
    this.store = store;
    this.#simulator = simulator;
    this.#work = work;
    this.#folder = mkdtempSync(join(tmpdir(), "outrigger-chaos-"));
    const config = {
      listen: "127.0.0.1:0",
      admin_listen: "off",
      drain_timeout: DRAIN_TIMEOUT,
      providers: { main: { api: "openai-responses", api_key: "any", base_url: simulator.openaiBaseUrl } },
      mcp: { allow_urls: [work.origin] },
      runs: { store: store.location, limits: { lease: LEASE } },
    };
    writeFileSync(this.#config, JSON.stringify(config));
    this.shiftClock(0);
  }

  static async open(store: ChaosStore): Promise<Stage> {
    const simulator = await startSimulator({ requestLog: { maxEntries: 1_000_000, maxBytes: 2 ** 30 } });
    return new Stage(store, simulator, await startWorkServer());
  }

  get #config(): string {
    return join(this.#folder, "outrigger.yaml");
  }

  get #clock(): string {
    return join(this.#folder, "clock");
  }

  /** Starts a sidecar, and tries again if it does not start. */
  async start(): Promise<void> {
    const clock = pathToFileURL(join(import.meta.dirname, "clock.ts"));
    clock.searchParams.set("file", this.#clock);
    for (const end = performance.now() + START_MS; ; await sleep(500)) {
      try {
        this.sidecars.push(await startSidecar(this.#config, ["--import", clock.href]));
        return;
      } catch (error) {
        if (performance.now() > end) throw error;
      }
    }
  }

  /** Starts the sidecars that a case has at first: two if the store can be shared. */
  async startAll(): Promise<void> {
    for (let count = this.store.isShared ? 2 : 1; count > 0; count -= 1) await this.start();
  }

  /** Takes the oldest sidecar out of service, so that callers no longer choose it. */
  takeOldest(): Sidecar {
    const sidecar = this.sidecars.shift();
    if (sidecar === undefined) throw new Error("no sidecar serves");
    return sidecar;
  }

  /** Shifts the clocks of all sidecars relative to the real time. */
  shiftClock(ms: number): void {
    writeFileSync(this.#clock, String(ms));
  }

  /** Starts callers that use the sidecars in turn. */
  startLoad(name: string) {
    return startLoad(name, this.#work, () => this.sidecars[this.#next++ % this.sidecars.length]?.url);
  }

  /** Waits until the runs have ended or the time is over, and collects what is known about them. */
  async collect(acknowledged: readonly Acknowledged[]): Promise<Evidence[]> {
    const end = performance.now() + SETTLE_MS;
    const runs = new Map<string, JsonRun | undefined>();
    for (const { runId } of acknowledged) runs.set(runId, await this.#waitForEnd(runId, end));
    const modelCalls = countModelCalls(this.#simulator);
    const evidence: Evidence[] = [];
    for (const entry of acknowledged) {
      const run = runs.get(entry.runId);
      evidence.push({
        acknowledged: entry,
        run,
        stored: run === undefined ? [] : await this.#readStored(run),
        executions: this.#work.countExecutions(entry.job),
        modelCalls: [...(modelCalls.get(entry.job)?.values() ?? [])],
      });
    }
    return evidence;
  }

  async close(): Promise<void> {
    for (const sidecar of this.sidecars) await sidecar.kill();
    await this.#simulator.close();
    this.#work.close();
    rmSync(this.#folder, { recursive: true });
    await this.store.close();
  }

  async #waitForEnd(runId: string, end: number): Promise<JsonRun | undefined> {
    for (;;) {
      try {
        const run = await call<JsonRun>(this.#anyUrl, "GetRun", { runId });
        if (isTerminal(run.status) || performance.now() > end) return run;
      } catch (error) {
        if (error instanceof CallError && error.status === 404) return undefined;
        if (performance.now() > end) throw error;
      }
      await sleep(100);
    }
  }

  /** The events of a run that has not ended are read for a moment only: more may come at any time. */
  async #readStored(run: JsonRun): Promise<JsonEvent[]> {
    const events: JsonEvent[] = [];
    for await (const event of readEvents(this.#anyUrl, "StreamRun", { runId: run.id })) {
      events.push(event);
      if (event.sequence === (run.lastSequence ?? 0)) break;
    }
    return events;
  }

  get #anyUrl(): string {
    const [sidecar] = this.sidecars;
    if (sidecar === undefined) throw new Error("no sidecar serves");
    return sidecar.url;
  }
}

/** Counts requests by jobs and numbers of tool results. */
function countModelCalls(simulator: Simulator): ReadonlyMap<string, ReadonlyMap<number, number>> {
  const calls = new Map<string, Map<number, number>>();
  for (const { body } of simulator.requests) {
    const text = JSON.stringify(body);
    const [, job] = /Work on ([\w-]+)\./.exec(text) ?? [];
    if (job === undefined) continue;
    const results = text.split('"function_call_output"').length - 1;
    const steps = calls.get(job) ?? new Map<number, number>();
    calls.set(job, steps.set(results, (steps.get(results) ?? 0) + 1));
  }
  return calls;
}
