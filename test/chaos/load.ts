/** Callers that create runs, follow their events and connect again when a connection breaks. */
import { setTimeout as sleep } from "node:timers/promises";
import { call, isTerminal, type JsonEvent, type JsonRun, readEvents } from "./calls.ts";
import type { WorkServer } from "./work-server.ts";

/** Callers at the same time, each with one run. */
const BACKGROUND_CALLERS = 12;
const FOREGROUND_CALLERS = 4;

/** Calls of the tool in a run. */
export const ROUNDS = 6;

/** A run takes two to three seconds. */
const MODEL = `sim-tools:rounds=${ROUNDS},delay_ms=200`;
const RETRY_MS = 100;

/** A run that a sidecar acknowledged. */
export interface Acknowledged {
  readonly job: string;
  readonly runId: string;
  readonly background: boolean;
  /** The events that its caller received, in the order in which they came. */
  readonly events: JsonEvent[];
}

/** The callers. */
export interface Load {
  readonly acknowledged: readonly Acknowledged[];
  /** Creates no more runs. Resolves when the callers have followed theirs to the end, or when the time is over. */
  stop(timeoutMs: number): Promise<void>;
}

/**
 * Starts callers.
 * @param getUrl An address of a sidecar that serves; undefined if there is none at the moment.
 */
export function startLoad(name: string, work: WorkServer, getUrl: () => string | undefined): Load {
  const acknowledged: Acknowledged[] = [];
  let jobs = 0;
  let isStopping = false;
  let isOver = false;

  const createRequest = (job: string, background: boolean) => ({
    options: { prompt: `Work on ${job}.`, request: { model: MODEL }, maxToolRounds: ROUNDS + 1 },
    background,
    mcpServers: [{ serverLabel: "work", serverUrl: work.getUrl(job), approval: "APPROVAL_POLICY_NEVER" }],
  });
  const createInBackground = async (url: string, job: string) => {
    const run = await call<JsonRun>(url, "CreateRun", createRequest(job, true));
    const entry = { job, runId: run.id, background: true, events: [] };
    acknowledged.push(entry);
    return entry;
  };
  /** The caller of a run in the foreground gets its events at once; the first one acknowledges it. */
  const createInForeground = async (url: string, job: string) => {
    let entry: Acknowledged | undefined;
    try {
      for await (const event of readEvents(url, "CreateRunStream", createRequest(job, false))) {
        if (entry === undefined) {
          entry = { job, runId: event.run?.id ?? "", background: false, events: [] };
          acknowledged.push(entry);
        }
        entry.events.push(event);
      }
    } catch {
      // Followed on another connection.
    }
    return entry;
  };
  const follow = async (entry: Acknowledged) => {
    while (!isOver && !isTerminal(entry.events.at(-1)?.run?.status)) {
      const url = getUrl();
      try {
        const after = entry.events.at(-1)?.sequence;
        const request = { runId: entry.runId, ...(after === undefined ? {} : { afterSequence: after }) };
        if (url !== undefined)
          for await (const event of readEvents(url, "StreamRun", request)) entry.events.push(event);
      } catch {
        // Tried again.
      }
      await sleep(RETRY_MS);
    }
  };
  const act = async (background: boolean) => {
    while (!isStopping) {
      const url = getUrl();
      const job = `${name}-${jobs++}`;
      const create = background ? createInBackground : createInForeground;
      const entry = url === undefined ? undefined : await create(url, job).catch(() => undefined);
      if (entry === undefined) await sleep(RETRY_MS);
      else await follow(entry);
    }
  };
  const callers = Promise.all(
    Array.from({ length: BACKGROUND_CALLERS + FOREGROUND_CALLERS }, (_, index) =>
      act(index < BACKGROUND_CALLERS),
    ),
  );
  return {
    acknowledged,
    async stop(timeoutMs) {
      isStopping = true;
      await Promise.race([callers, sleep(timeoutMs)]);
      isOver = true;
      await callers;
    },
  };
}
