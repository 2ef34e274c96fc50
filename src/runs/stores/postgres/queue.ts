/**
 * The queue of background runs: who gets which run, and who gets it when that process died. pg-boss keeps it, in a schema
 * of its own beside that of the runs; docs/architecture.md says why this library.
 *
 * A job is the id of a run. It is added in the transaction that puts the run into the queue, so that neither is there
 * without the other, and it is a hint only: whether a run is executed, and by whom, the row of the run decides (see
 * `take`). A job that is delivered twice therefore executes nothing twice.
 */
import { type Db, PgBoss } from "pg-boss";
import type { Database, Queries, Statement } from "./database.ts";
import { storeFailure } from "./failures.ts";
import { queueSchemaOf } from "./migrate.ts";
import { NOW } from "./run-rows.ts";

const QUEUE = "runs";

/** How often the queue is looked at where no notice came, in milliseconds. */
const LOOK_INTERVAL_MS = 2_000;

/** How long a job waits that could not be handled, in seconds. */
const RETRY_DELAY_SECONDS = 5;

/** Jobs fetched at a time. */
const MAX_FETCHED = 100;

/** Beyond all use: a job is there for as long as its run waits, however often it has to be delivered. */
const FOREVER_SECONDS = 10 * 365 * 24 * 3600;
const ANY_NUMBER = 1_000_000_000;

/** The longest that the library allows. A job that takes longer is delivered again, and its run is not. */
const MAX_ACTIVE_SECONDS = 24 * 3600;

/** Status 1 is QUEUED. */
const READ_QUEUED: Statement = {
  name: "read_queued_runs",
  text: `
    SELECT id, coalesce(lease_until >= ${NOW}, FALSE) AS is_held FROM :schema.runs
    WHERE id = ANY ($1::text[]) AND status = 1`,
};

/** How the queue works. */
export interface QueueOptions {
  /** A process that has not been heard of for this long has died: what it had fetched is delivered again. In seconds. */
  readonly heartbeatSeconds: number;
  /** Told of what fails in the background. */
  readonly onProblem: (error: unknown) => void;
}

interface QueuedJob {
  readonly id: string;
  readonly runId: string;
}

/** The queue as one process sees it. */
export class RunQueue {
  readonly #database: Database;
  readonly #options: QueueOptions;
  readonly #boss: PgBoss;

  constructor(database: Database, options: QueueOptions) {
    this.#database = database;
    this.#options = options;
    this.#boss = new PgBoss({
      db: { executeSql: (text, values) => database.executeRaw(text, values) },
      schema: queueSchemaOf(database.schema),
      createSchema: false,
      // Finds the jobs of processes that died.
      superviseIntervalSeconds: RETRY_DELAY_SECONDS,
      monitorIntervalSeconds: RETRY_DELAY_SECONDS,
      schedule: false,
      persistWarnings: false,
      registerInstance: false,
      monitorVacuum: false,
      openTelemetry: { enabled: false },
    });
    this.#boss.on("error", (error) => options.onProblem(storeFailure(error)));
  }

  async open(): Promise<void> {
    try {
      await this.#start();
    } catch (thrown) {
      throw storeFailure(thrown);
    }
  }

  async #start(): Promise<void> {
    await this.#boss.start();
    await this.#boss.createQueue(QUEUE, {
      heartbeatSeconds: this.#options.heartbeatSeconds,
      retryLimit: ANY_NUMBER,
      retryDelay: RETRY_DELAY_SECONDS,
      retentionSeconds: FOREVER_SECONDS,
      expireInSeconds: MAX_ACTIVE_SECONDS,
      deleteAfterSeconds: MAX_ACTIVE_SECONDS,
      warningQueueSize: ANY_NUMBER,
    });
  }

  async close(): Promise<void> {
    await this.#boss.stop({ graceful: false, close: false });
  }

  /** Adds a run, inside of the transaction that puts it into the queue. */
  async add(queries: Queries, runId: string): Promise<void> {
    const db: Db = { executeSql: (text, values) => queries.execute(text, values) };
    await this.#boss.send(QUEUE, { runId }, { db });
  }

  /** Delivers runs, see RunStore. */
  deliver(handle: (runId: string) => Promise<void>, concurrency: number): Deliveries {
    return new Deliveries(this, handle, concurrency, this.#options);
  }

  /** Fetches jobs, and drops those whose runs do not wait any more. */
  async fetch(limit: number): Promise<{ jobs: QueuedJob[]; hasMore: boolean }> {
    const batchSize = Math.min(limit, MAX_FETCHED);
    const fetched = await this.#boss.fetch<{ runId: string }>(QUEUE, { batchSize });
    const jobs = fetched.map(({ id, data }) => ({ id, runId: data.runId }));
    const queued = await this.#readQueued(jobs);
    const ids = (state: boolean | undefined) =>
      jobs.filter(({ runId }) => queued.get(runId) === state).map(({ id }) => id);
    await this.#drop(ids(undefined));
    // Taken by a process that has not begun yet. If it died, the run is to be delivered when its lease has run out.
    await this.#postpone(ids(true));
    return {
      jobs: jobs.filter(({ runId }) => queued.get(runId) === false),
      hasMore: fetched.length === batchSize,
    };
  }

  /** Ends a job that was handled; one whose run still waits is delivered again in a while. */
  async finish(job: QueuedJob): Promise<void> {
    const queued = await this.#readQueued([job]);
    await (queued.has(job.runId) ? this.#postpone([job.id]) : this.#drop([job.id]));
  }

  /** Says of jobs that their process lives. */
  async touch(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#boss.touch(QUEUE, [...ids]);
  }

  async #drop(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#boss.deleteJob(QUEUE, [...ids]);
  }

  async #postpone(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#boss.fail(QUEUE, [...ids]);
  }

  /** Those of the runs that wait, and whether a process holds them. */
  async #readQueued(jobs: readonly QueuedJob[]): Promise<Map<string, boolean>> {
    if (jobs.length === 0) return new Map();
    const rows = await this.#database.query<{ id: string; is_held: boolean }>(READ_QUEUED, [
      jobs.map(({ runId }) => runId),
    ]);
    return new Map(rows.map(({ id, is_held }) => [id, is_held]));
  }
}

/** Deliveries to one handler. */
export class Deliveries {
  readonly #queue: RunQueue;
  readonly #handle: (runId: string) => Promise<void>;
  readonly #concurrency: number;
  readonly #onProblem: (error: unknown) => void;
  readonly #lookTimer: NodeJS.Timeout;
  readonly #touchTimer: NodeJS.Timeout;
  /** Deliveries under way, by the ids of their jobs. */
  readonly #underWay = new Map<string, Promise<void>>();
  #fetching: Promise<void> | undefined;
  #isFetching = false;
  #isWoken = false;
  #isStopped = false;

  constructor(
    queue: RunQueue,
    handle: (runId: string) => Promise<void>,
    concurrency: number,
    { heartbeatSeconds, onProblem }: QueueOptions,
  ) {
    this.#queue = queue;
    this.#handle = handle;
    this.#concurrency = concurrency;
    this.#onProblem = onProblem;
    this.#lookTimer = setInterval(() => this.wake(), LOOK_INTERVAL_MS).unref();
    this.#touchTimer = setInterval(() => this.#touch(), (heartbeatSeconds * 1000) / 3).unref();
  }

  /** Looks whether there is something to deliver. */
  wake(): void {
    this.#isWoken = true;
    if (!this.#isFetching && !this.#isStopped) this.#fetching = this.#fetch();
  }

  /** Delivers nothing more. Resolves after the deliveries under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#lookTimer);
    await this.#fetching;
    await Promise.all(this.#underWay.values());
    clearInterval(this.#touchTimer);
  }

  async #fetch(): Promise<void> {
    this.#isFetching = true;
    while (this.#isWoken && !this.#isStopped && this.#underWay.size < this.#concurrency) {
      this.#isWoken = false;
      try {
        const { jobs, hasMore } = await this.#queue.fetch(this.#concurrency - this.#underWay.size);
        this.#isWoken ||= hasMore;
        if (this.#isStopped) await Promise.all(jobs.map((job) => this.#queue.finish(job)));
        else for (const job of jobs) this.#underWay.set(job.id, this.#deliver(job));
      } catch (thrown) {
        this.#onProblem(storeFailure(thrown));
        break;
      }
    }
    this.#isFetching = false;
  }

  async #deliver(job: QueuedJob): Promise<void> {
    try {
      await this.#handle(job.runId);
    } catch (thrown) {
      this.#onProblem(thrown);
    }
    // Where that fails, the job is delivered again when this process has not been heard of for a while.
    await this.#queue.finish(job).catch((thrown) => this.#onProblem(storeFailure(thrown)));
    this.#underWay.delete(job.id);
    this.wake();
  }

  #touch(): void {
    const ids = [...this.#underWay.keys()];
    this.#queue.touch(ids).catch((thrown) => this.#onProblem(storeFailure(thrown)));
  }
}
