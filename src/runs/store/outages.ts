/**
 * Bridges short outages of the database, such as a failover. A connection that breaks leaves open whether its
 * transaction was committed: that is looked up before anything is repeated, so that nothing is written twice.
 */
import { setTimeout as delay } from "node:timers/promises";
import { equals } from "@bufbuild/protobuf";
import { RunEventSchema } from "../../gen/outrigger/v1/run_pb.ts";
import { StoreUnreachableError } from "../errors.ts";
import type { RunCreation, RunWrite } from "../store.ts";
import { type Bodies, RUN_COLUMNS, type RunRow } from "./bodies.ts";
import { type Driver, NotConnectedError } from "./driver.ts";
import { readEvents } from "./reads.ts";
import { createRevision, type NumberedResult } from "./writes.ts";

/**
 * How long a call is repeated, in milliseconds: not as long as a process keeps its runs without a heartbeat, or as
 * callers wait.
 */
const MAX_OUTAGE_MS = 10_000;

/** Pauses between attempts, in milliseconds: doubled from the first to the last. */
const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 1_000;

const FIND_RUN = `
  SELECT runs.holder, runs.fence, ${RUN_COLUMNS} FROM :schema.runs WHERE runs.id = $1`;

type CreatedRow = RunRow & { readonly holder: string | null; readonly fence: number };

/** Repeats work while the database is unavailable. The work must change nothing if it fails. */
export async function repeatThroughOutage<Result>(work: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + MAX_OUTAGE_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(LAST_PAUSE_MS, 2 * pause)) {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof StoreUnreachableError) || performance.now() > end) throw thrown;
      await delay(pause);
    }
  }
}

/**
 * Creates a run. If the outcome is unknown, it is looked up, and the run is created if it is not there.
 * @param attempt Creates it once.
 */
export function createThroughOutage(
  driver: Driver,
  { run, request }: RunCreation,
  bodies: Bodies,
  attempt: () => Promise<NumberedResult>,
): Promise<NumberedResult> {
  let isUncertain = false;
  return repeatThroughOutage(async (): Promise<NumberedResult> => {
    if (isUncertain) {
      const [row] = await driver.read<CreatedRow>(FIND_RUN, [run.id], "run");
      if (row !== undefined) {
        const { id: runId, holder, fence } = row;
        // A fork is a run with the new thread although it continues another one.
        const forked = request.previousRunId !== "" && row.thread_id === run.threadId;
        const claim = holder === null ? {} : { claim: { runId, holderId: holder, fence } };
        return { case: "created", run: bodies.readRun(row), forked, ...claim };
      }
    }
    try {
      return await attempt();
    } catch (thrown) {
      isUncertain ||= isOutcomeUnknown(thrown);
      throw thrown;
    }
  });
}

const READ_REVISION = "SELECT revision FROM :schema.runs WHERE id = $1";

interface UncertainWrite {
  readonly write: RunWrite;
  readonly revision: number;
}

/** Writes whose outcome is unknown. */
export class UncertainWrites {
  readonly #driver: Driver;
  readonly #bodies: Bodies;
  /** The latest write of each run that may have been committed. */
  readonly #writes = new Map<string, UncertainWrite>();

  constructor(driver: Driver, bodies: Bodies) {
    this.#driver = driver;
    this.#bodies = bodies;
  }

  /**
   * Writes the part of `write` that is not stored yet. A later write of the same run may begin with the content of an
   * earlier one whose outcome is unknown; that content is left out if it is stored.
   * @param attempt Writes once, under a revision.
   */
  write(write: RunWrite, attempt: (rest: RunWrite, revision: number) => Promise<boolean>): Promise<boolean> {
    const { runId } = write.claim;
    const revision = createRevision();
    return repeatThroughOutage(async () => {
      const uncertain = this.#writes.get(runId);
      const isStored = uncertain !== undefined && (await this.#isStored(uncertain));
      const rest = isStored ? getRest(write, uncertain.write) : write;
      try {
        const isWritten = rest === undefined || (await attempt(rest, revision));
        this.#writes.delete(runId);
        return isWritten;
      } catch (thrown) {
        if (isOutcomeUnknown(thrown)) this.#writes.set(runId, { write, revision });
        throw thrown;
      }
    });
  }

  /**
   * The last event shows it: a process that claimed the run in the meantime would have written another event under its
   * number.
   */
  async #isStored({ write: { claim, events = [] }, revision }: UncertainWrite): Promise<boolean> {
    const last = events.at(-1);
    if (last === undefined) {
      const [row] = await this.#driver.read<{ revision: number | null }>(READ_REVISION, [claim.runId], "run");
      return row?.revision === revision;
    }
    const range = { runId: claim.runId, afterSequence: last.sequence - 1, maxEvents: 1 };
    const [found] = await readEvents(this.#driver, range, this.#bodies);
    return found !== undefined && equals(RunEventSchema, found, last);
  }
}

function isOutcomeUnknown(thrown: unknown): boolean {
  return thrown instanceof StoreUnreachableError && !(thrown instanceof NotConnectedError);
}

/** Returns the part of a write that an earlier one, with which it begins, did not have. Undefined: none. */
function getRest(write: RunWrite, written: RunWrite): RunWrite | undefined {
  const last = written.events?.at(-1)?.sequence ?? -1;
  const rest = {
    claim: write.claim,
    run: write.run === written.run ? undefined : write.run,
    events: write.events?.filter(({ sequence }) => sequence > last),
    steps: write.steps?.filter((step) => !written.steps?.includes(step)),
    messages: write.messages?.filter((message) => !written.messages?.includes(message)),
    latestStep: write.latestStep === written.latestStep ? undefined : write.latestStep,
  };
  const lists = [rest.events, rest.steps, rest.messages];
  const isEmpty =
    rest.run === undefined && rest.latestStep === undefined && lists.every((list) => !list?.length);
  return isEmpty ? undefined : rest;
}
