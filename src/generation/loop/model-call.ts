import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { CallOptions, CallTarget } from "../../core/adapter.ts";
import { toSdkError } from "../../core/errors.ts";
import { getInferenceId } from "../../core/ids.ts";
import type { RepeatLimit } from "../../core/repeat-limit.ts";
import type { Attempt } from "../../gen/outrigger/v1/attempt_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import { failureUnder, LinkedSignal } from "../../kit/call/linked-signal.ts";
import { type AttemptStart, attemptsUntil, endedAttempt, startAttempt } from "../../middleware/attempts.ts";
import type { AttemptLog } from "./attempt-log.ts";

/** The step that a call of the model belongs to. */
export interface StepScope {
  /** Number of the step, from 1. */
  readonly step: number;
  /** Whether further steps may follow it. */
  readonly isLoop: boolean;
  /** Ends the generation. */
  readonly signal: AbortSignal;
  /** Deadline of the generation, in milliseconds of `performance.now()`. */
  readonly deadline: number;
  /** Maximum duration of the call in milliseconds. 0: no limit. */
  readonly maxMs: number;
  /** Limits the retries and fallbacks of all steps together. */
  readonly repeats: RepeatLimit;
}

/** One call of a client in progress: its options, its time limit, and its entry in the list of attempts. */
export class ModelCall {
  readonly options: CallOptions;
  readonly #log: AttemptLog;
  readonly #step: number;
  readonly #start = startAttempt();
  readonly #limit: LinkedSignal | undefined;
  readonly #signal: AbortSignal;
  #target: CallTarget;

  constructor({ provider, model }: CallTarget, scope: StepScope, log: AttemptLog) {
    const { step, isLoop, signal, maxMs, repeats } = scope;
    this.#log = log;
    this.#step = step;
    this.#target = { provider, model };
    this.#limit =
      maxMs > 0 ? new LinkedSignal(signal, { ms: maxMs, what: "the call of the model" }) : undefined;
    this.#signal = this.#limit?.signal ?? signal;
    const onTarget = (target: CallTarget) => {
      this.#target = target;
    };
    const callDeadline = maxMs > 0 ? performance.now() + maxMs : Infinity;
    const deadline = Math.min(scope.deadline, callDeadline);
    this.options = {
      signal: this.#signal,
      deadline,
      inferenceId: getInferenceId(),
      repeats,
      onTarget,
      ...(isLoop && { step }),
    };
  }

  /**
   * Records that the call succeeded. Calls that failed before it, and that a middleware repeated, are in the response.
   */
  succeed({ attempts, provider }: Response): void {
    this.release();
    this.#add(attempts);
    const target = { ...this.#target, provider: provider || this.#target.provider };
    this.#add([endedAttempt(target, this.options, startAfter(attempts.at(-1), this.#start))]);
  }

  /** Records that the call failed, and returns its error. */
  fail(thrown: unknown): unknown {
    this.release();
    const failure = failureUnder(this.#signal, thrown);
    const error = toSdkError(failure);
    this.#add(attemptsUntil(error, this.#target, this.options, this.#start));
    return failure;
  }

  /** Ends the time limit. */
  release(): void {
    this.#limit?.release();
  }

  #add(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) this.#log.add({ ...attempt, step: this.#step });
  }
}

/** Returns the start of an attempt that followed a failed one. */
function startAfter(failed: Attempt | undefined, first: AttemptStart): AttemptStart {
  if (failed?.startedAt === undefined) return first;
  const { startedAt, elapsed, retryDelay } = failed;
  const [ran, waited] = [elapsed, retryDelay].map((time) => (time === undefined ? 0 : durationMs(time)));
  const at = timestampMs(startedAt) + (ran ?? 0) + (waited ?? 0);
  return { at, monotonic: first.monotonic + (at - first.at) };
}
