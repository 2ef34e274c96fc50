/**
 * Carries writes of runs over a short outage of the database, such as a failover. A connection that breaks leaves open
 * whether the transaction on it was committed: that is looked up before anything is tried again, so that nothing is
 * written twice.
 */
import { setTimeout as delay } from "node:timers/promises";
import { equals } from "@bufbuild/protobuf";
import { RunEventSchema } from "../../../gen/outrigger/v1/run_pb.ts";
import type { RunCreation, RunCreationResult, RunWrite } from "../../store.ts";
import type { Bodies } from "./bodies.ts";
import type { Queries, Statement } from "./database.ts";
import { readEvents } from "./events.ts";
import { DatabaseUnreachableError, NotConnectedError } from "./failures.ts";
import { RUN_COLUMNS, type RunRow, runOf } from "./run-rows.ts";

/** How long to try, in milliseconds: less than a lease lasts, and than most callers wait. */
const MAX_OUTAGE_MS = 10_000;

/** Pauses between the attempts, in milliseconds: doubled from the first to the last. */
const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 1_000;

const FIND_RUN: Statement = {
  name: "find_created_run",
  text: `SELECT ${RUN_COLUMNS} FROM :schema.runs WHERE id = $1`,
};

/** Calls again while the database is away. Throws the last failure when that lasts too long. */
async function throughOutage<Result>(work: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + MAX_OUTAGE_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(LAST_PAUSE_MS, 2 * pause)) {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof DatabaseUnreachableError) || performance.now() > end) throw thrown;
      await delay(pause);
    }
  }
}

/**
 * Creates a run. Where the outcome is not known, it is looked up.
 * @throws what `work` throws, where the run was not created.
 */
export async function createThroughOutage(
  queries: Queries,
  { run, request }: RunCreation,
  bodies: Bodies,
  work: () => Promise<RunCreationResult>,
): Promise<RunCreationResult> {
  try {
    return await work();
  } catch (thrown) {
    if (!isUncertain(thrown)) throw thrown;
    const [row] = await throughOutage(() => queries.query<RunRow>(FIND_RUN, [run.id]));
    if (row === undefined) throw thrown;
    // A fork is what gets the new thread although it continues a run.
    const forked = request.previousRunId !== "" && row.thread_id === run.threadId;
    return { case: "created", run: runOf(row, bodies), forked };
  }
}

/** Writes of which it is not known whether they were committed. */
export class UncertainWrites {
  readonly #queries: Queries;
  readonly #bodies: Bodies;
  /** The latest write of each run that may or may not have happened. */
  readonly #writes = new Map<string, RunWrite>();

  constructor(queries: Queries, bodies: Bodies) {
    this.#queries = queries;
    this.#bodies = bodies;
  }

  /**
   * Writes what of `write` is not there yet. A later write of the same run may begin with what an earlier one, whose
   * outcome is not known, had already: that part is left out then.
   * @param attempt Writes once.
   */
  async write(write: RunWrite, attempt: (rest: RunWrite) => Promise<boolean>): Promise<boolean> {
    return throughOutage(async () => {
      const uncertain = this.#writes.get(write.runId);
      const isThere = uncertain !== undefined && (await this.#isThere(uncertain));
      const rest = isThere ? without(write, uncertain) : write;
      // Everything was there.
      const isWritten = rest === undefined || (await this.#attempt(write, rest, attempt));
      this.#writes.delete(write.runId);
      return isWritten;
    });
  }

  async #attempt(
    write: RunWrite,
    rest: RunWrite,
    attempt: (rest: RunWrite) => Promise<boolean>,
  ): Promise<boolean> {
    try {
      return await attempt(rest);
    } catch (thrown) {
      if (isUncertain(thrown)) this.#writes.set(write.runId, write);
      throw thrown;
    }
  }

  /** The last event of a write tells: a process that took the run meanwhile has written another one in its place. */
  async #isThere({ runId, events = [] }: RunWrite): Promise<boolean> {
    const last = events.at(-1);
    if (last === undefined) return false;
    const [found] = await readEvents(this.#queries, runId, last.sequence - 1, 1, this.#bodies);
    return found !== undefined && equals(RunEventSchema, found, last);
  }
}

/** Whether what failed may have happened. */
function isUncertain(thrown: unknown): boolean {
  return thrown instanceof DatabaseUnreachableError && !(thrown instanceof NotConnectedError);
}

/** What of a write an earlier one, with which it begins, did not have. Undefined where that is nothing. */
function without(write: RunWrite, written: RunWrite): RunWrite | undefined {
  const last = written.events?.at(-1)?.sequence ?? -1;
  const events = (write.events ?? []).filter(({ sequence }) => sequence > last);
  if (events.length === 0) return undefined;
  return {
    ...write,
    events,
    steps: write.steps?.filter((step) => !written.steps?.includes(step)),
    messages: write.messages?.filter((message) => !written.messages?.includes(message)),
    latestStep: write.latestStep === written.latestStep ? undefined : write.latestStep,
  };
}
