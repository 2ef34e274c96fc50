import { randomHex } from "../core/random-hex.ts";

/** Random bytes of the ids of runs and threads, which have twice as many digits. */
const ID_BYTES = 16;

/** Numbers of messages that an id has room for, beside the id of its run. */
const MESSAGE_NUMBERS = 0x1_0000;

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

/** The id of the answer of a step, which is known before the answer is. @param step From 1. */
export function answerMessageId(runId: string, step: number): string {
  const number = (step % MESSAGE_NUMBERS).toString(16).padStart(4, "0");
  return `msg_${runId.slice("run_".length)}${number}`;
}
