import { randomBytes } from "node:crypto";

/** Digits of the ids of runs and threads. */
const ID_DIGITS = 32;

/** Numbers of messages that an id has room for, beside the id of its run. */
const MESSAGE_NUMBERS = 0x1_0000;

/** A new id of a run. */
export function createRunId(): string {
  return `run_${randomBytes(ID_DIGITS / 2).toString("hex")}`;
}

/** A new id of a thread. */
export function createThreadId(): string {
  return `thread_${randomBytes(ID_DIGITS / 2).toString("hex")}`;
}

/** A new id of a message that is not the answer of a model. */
export function createMessageId(): string {
  return `msg_${randomBytes(ID_DIGITS / 2 + 2).toString("hex")}`;
}

/** The id of the answer of a step, which is known before the answer is. @param step From 1. */
export function answerMessageId(runId: string, step: number): string {
  const number = (step % MESSAGE_NUMBERS).toString(16).padStart(4, "0");
  return `msg_${runId.slice("run_".length)}${number}`;
}
