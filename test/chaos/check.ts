/** Checks the outcome of the runs that sidecars acknowledged. */
import { isTerminal, type JsonEvent, type JsonRun } from "./calls.ts";
import { type Acknowledged, ROUNDS } from "./load.ts";

/** The final knowledge about an acknowledged run. */
export interface Evidence {
  readonly acknowledged: Acknowledged;
  /** Undefined if no sidecar knows it. */
  readonly run: JsonRun | undefined;
  /** Its events as they are stored. */
  readonly stored: readonly JsonEvent[];
  /** How often its tool was executed. */
  readonly executions: number;
  /** How often the model was called, by the number of tool results in the request. */
  readonly modelCalls: readonly number[];
}

/** The expectations about the runs of a case. */
export interface Expectation {
  /** Background runs continue after their process ended, so that they complete. */
  readonly handover: boolean;
}

/** Counts of runs. Those from `missing` to `notContinued` must be zero. */
export interface Verdict {
  readonly acknowledged: number;
  readonly missing: number;
  readonly doubled: number;
  readonly gaps: number;
  readonly stuck: number;
  readonly notContinued: number;
  readonly completed: number;
  /** Runs that failed, whether or not that is allowed. */
  readonly failed: number;
  /** One line for each run with a fault. */
  readonly faults: readonly string[];
}

/** A step that was interrupted may call the model once more. */
const MAX_MODEL_CALLS = 2;

/** Counts the faults of runs. */
export function judge(evidence: readonly Evidence[], { handover }: Expectation): Verdict {
  const faults = evidence.map((entry) => listFaults(entry, handover));
  const count = (kind: Fault["kind"]) =>
    faults.filter((list) => list.some((fault) => fault.kind === kind)).length;
  return {
    acknowledged: evidence.length,
    missing: count("missing"),
    doubled: count("doubled"),
    gaps: count("gaps"),
    stuck: count("stuck"),
    notContinued: count("not continued"),
    completed: evidence.filter(({ run }) => run?.status === "RUN_STATUS_COMPLETED").length,
    failed: evidence.filter(({ run }) => run?.status === "RUN_STATUS_FAILED").length,
    faults: evidence.flatMap(({ acknowledged }, index) =>
      (faults[index] ?? []).map(
        ({ kind, text }) => `${acknowledged.job} (${acknowledged.runId}) ${kind}: ${text}`,
      ),
    ),
  };
}

/** Whether a verdict has a fault. If no run completed, it says nothing. */
export function isFaulty({ missing, doubled, gaps, stuck, notContinued, completed }: Verdict): boolean {
  return missing + doubled + gaps + stuck + notContinued > 0 || completed === 0;
}

interface Fault {
  readonly kind: "missing" | "doubled" | "gaps" | "stuck" | "not continued";
  readonly text: string;
}

function listFaults(evidence: Evidence, handover: boolean): Fault[] {
  const { run, acknowledged } = evidence;
  if (run === undefined) return [{ kind: "missing", text: "no sidecar knows it" }];
  const faults = [...findDoubled(evidence), ...findGaps(evidence)];
  if (!isTerminal(run.status)) faults.push({ kind: "stuck", text: run.status });
  else if (handover && acknowledged.background && run.status !== "RUN_STATUS_COMPLETED" && !isCutTwice(run)) {
    faults.push({ kind: "not continued", text: `${run.status} ${run.error?.message ?? ""}` });
  }
  return faults;
}

/** Whether a run failed because two processes stopped during its step: it is documented to end then. */
function isCutTwice({ error }: JsonRun): boolean {
  return error?.message?.startsWith("the model was called twice for step") === true;
}

function findDoubled({ executions, modelCalls, acknowledged }: Evidence): Fault[] {
  const faults: Fault[] = [];
  if (executions > ROUNDS) {
    faults.push({ kind: "doubled", text: `${executions} executions of the tool instead of ${ROUNDS}` });
  }
  const most = Math.max(0, ...modelCalls);
  const allowed = acknowledged.background ? MAX_MODEL_CALLS : 1;
  if (most > allowed) faults.push({ kind: "doubled", text: `${most} calls of the model in one step` });
  return faults;
}

function findGaps({ run, stored, acknowledged }: Evidence): Fault[] {
  const faults: Fault[] = [];
  const add = (text: string) => faults.push({ kind: "gaps", text });
  const wrong = stored.findIndex(({ sequence }, index) => sequence !== index);
  if (wrong >= 0) add(`event ${stored[wrong]?.sequence} is stored at place ${wrong}`);
  if (stored.length - 1 !== (run?.lastSequence ?? 0)) {
    add(`${stored.length} events are stored, the last sequence is ${run?.lastSequence}`);
  }
  const ends = stored.filter((event) => isTerminal(event.run?.status));
  if (isTerminal(run?.status) && (ends.length !== 1 || ends[0] !== stored.at(-1))) {
    add(`${ends.length} events tell its end, expected one, as the last`);
  }
  const received = acknowledged.events;
  const skipped = received.findIndex(({ sequence }, index) => sequence !== index);
  if (skipped >= 0) add(`its caller received event ${received[skipped]?.sequence} at place ${skipped}`);
  const other = received.find(({ sequence, text }) => stored[sequence]?.text !== text);
  if (other !== undefined) add(`its caller received another event ${other.sequence} than the stored one`);
  return faults;
}
