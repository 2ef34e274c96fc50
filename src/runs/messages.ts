/** Ids, and the messages that runs add to threads. */
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { randomHex } from "../core/ids.ts";
import { toolMessage } from "../core/tools.ts";
import type { Attempt } from "../gen/outrigger/v1/attempt_pb.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import type { Run } from "../gen/outrigger/v1/run_pb.ts";
import { type ThreadMessage, ThreadMessageSchema } from "../gen/outrigger/v1/thread_pb.ts";
import type { NewMessage } from "./engine.ts";
import type { StoredMessage } from "./store.ts";

/** Hex digits of ids by prefix. A message id is longer by the four digits that number the steps of a run. */
const ID_DIGITS = { run: 32, thread: 32, msg: 36 };

/** Hex digits of the time that an id begins with, in milliseconds since 1970. */
const TIME_DIGITS = 12;

/** Maximum number of steps: a message id has room for this many, next to the id of its run. */
const MAX_STEPS = 0x8000;

/**
 * Returns a new id of a run, a thread, or a message that no model wrote: the time, then at least 80 random bits. Ids of
 * the same time are neighbours in the indexes of a store, so that one write changes few pages.
 */
export function createId(prefix: keyof typeof ID_DIGITS): string {
  const time = Date.now().toString(16).padStart(TIME_DIGITS, "0");
  return `${prefix}_${time}${randomHex((ID_DIGITS[prefix] - TIME_DIGITS) / 2)}`;
}

/**
 * Returns the id of the answer of a step, which is known before the answer is.
 * @param step From 1.
 * @param isRepeated Whether the model was called again after a call without an answer, parts of which were published.
 */
export function answerMessageId(runId: string, step: number, isRepeated: boolean): string {
  const number = (step % MAX_STEPS) + (isRepeated ? MAX_STEPS : 0);
  return `msg_${runId.slice("run_".length)}${number.toString(16).padStart(4, "0")}`;
}

/** Reports whether a step has a model call that had no answer when its process stopped. */
export function isRepeated(attempts: readonly Attempt[], step: number): boolean {
  for (const attempt of attempts) if (isAbandoned(attempt, step)) return true;
  return false;
}

/** Reports whether an attempt is of a model call of a step that had no answer when its process stopped. */
export function isAbandoned({ step, error }: Attempt, ofStep: number): boolean {
  return step === ofStep && error?.kind === ErrorKind.ABORT;
}

/** Returns a message for a thread. */
export function newThreadMessage(
  { message, originJson }: NewMessage,
  { runId = "", output = false }: { readonly runId?: string; readonly output?: boolean } = {},
): StoredMessage {
  const content = message === undefined ? {} : { message };
  const fields = { id: createId("msg"), runId, output, createdAt: timestampNow(), ...content };
  return { ...create(ThreadMessageSchema, fields), originJson };
}

/** Returns the answer of a step and the results of its tools. @param step From 1. */
export function createStepOutputs(
  { id, attempts }: Run,
  step: number,
  { response, toolResults }: StepResult,
): ThreadMessage[] {
  const message = response?.message;
  const answerId = answerMessageId(id, step, isRepeated(attempts, step));
  const answer = { id: answerId, runId: id, output: true, createdAt: timestampNow() };
  const answers = message === undefined ? [] : [create(ThreadMessageSchema, { ...answer, message })];
  return [...answers, ...createResultOutputs(id, toolResults)];
}

/** Returns the results of tools that a run has executed. */
export function createResultOutputs(runId: string, results: readonly ToolResult[]): ThreadMessage[] {
  return results.map((result) =>
    newThreadMessage({ message: toolMessage(result), originJson: "" }, { runId, output: true }),
  );
}
