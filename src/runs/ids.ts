import { randomHex } from "../core/random-hex.ts";
import type { Attempt } from "../gen/outrigger/v1/attempt_pb.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";

/** Random bytes of the ids of runs and threads, which have twice as many digits. */
const ID_BYTES = 16;

/** Steps that an id of a message has room for, beside the id of its run. */
const MAX_STEPS = 0x8000;

/** A new id of a run. */
export function createRunId(): string {
  return `run_${randomHex(ID_BYTES)}`;
}

/** A new id of a thread. */
export function createThreadId(): string {
  return `thread_${randomHex(ID_BYTES)}`;
}

/** A new id of a message that is not the answer of a model. */
export function createMessageId(): string {
  return `msg_${randomHex(ID_BYTES + 2)}`;
}

/**
 * The id of the answer of a step, which is known before the answer is.
 * @param step From 1.
 * @param isRepeated Whether the model was called again after a call without an answer, parts of which were published.
 */
export function answerMessageId(runId: string, step: number, isRepeated: boolean): string {
  const number = (step % MAX_STEPS) + (isRepeated ? MAX_STEPS : 0);
  return `msg_${runId.slice("run_".length)}${number.toString(16).padStart(4, "0")}`;
}

/** Whether a step has a model call that had no answer when its process stopped. */
export function isRepeated(attempts: readonly Attempt[], step: number): boolean {
  return attempts.some((attempt) => isAbandoned(attempt, step));
}

/** Whether an attempt is of a model call of a step that had no answer when its process stopped. */
export function isAbandoned({ step, error }: Attempt, ofStep: number): boolean {
  return step === ofStep && error?.kind === ErrorKind.ABORT;
}
