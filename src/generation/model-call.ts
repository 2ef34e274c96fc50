import { create } from "@bufbuild/protobuf";
import { durationFromMs, durationMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { CallOptions, CallTarget } from "../core/adapter.ts";
import { toSdkError } from "../core/errors.ts";
import { inferenceIdOf } from "../core/inference-id.ts";
import { type Attempt, AttemptSchema } from "../gen/outrigger/v1/attempt_pb.ts";
import type { InferenceError } from "../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { AttemptLog } from "./attempt-log.ts";
import { failureUnder, LinkedSignal } from "./linked-signal.ts";

/** What a call of the model belongs to. */
export interface CallScope {
  /** Number of the step, from 1. */
  readonly step: number;
  /** Ends the generation. */
  readonly signal: AbortSignal;
  /** Maximum duration of the call in milliseconds. 0: none. */
  readonly maxMs: number;
}

/** One call of a client under way: its options, its time limit, and its entry in the list of attempts. */
export class ModelCall {
  readonly options: CallOptions;
  readonly #log: AttemptLog;
  readonly #step: number;
  readonly #inferenceId = inferenceIdOf();
  readonly #startedAt = Date.now();
  readonly #start = performance.now();
  readonly #limit: LinkedSignal | undefined;
  readonly #signal: AbortSignal;
  #target: CallTarget;

  constructor({ provider, model }: Request, { step, signal, maxMs }: CallScope, log: AttemptLog) {
    this.#log = log;
    this.#step = step;
    this.#target = { provider, model };
    this.#limit =
      maxMs > 0 ? new LinkedSignal(signal, { ms: maxMs, what: "the call of the model" }) : undefined;
    this.#signal = this.#limit?.signal ?? signal;
    const onTarget = (target: CallTarget) => {
      this.#target = target;
    };
    this.options = { signal: this.#signal, inferenceId: this.#inferenceId, onTarget };
  }

  /** The call gave an answer. Failed calls that a middleware repeated come before it. */
  succeed({ attempts, provider }: Response): void {
    this.release();
    for (const attempt of attempts) this.#log.add({ ...attempt, step: this.#step });
    const answered = { ...this.#target, provider: provider || this.#target.provider };
    this.#log.add(this.#attempt(answered, endOf(attempts.at(-1)) ?? this.#startedAt));
  }

  /** The call failed. Returns its error. */
  fail(thrown: unknown): unknown {
    this.release();
    const failure = failureUnder(this.#signal, thrown);
    const attempt = this.#attempt(this.#target, this.#startedAt);
    attempt.error = withoutBody(toSdkError(failure).toProto());
    this.#log.add(attempt);
    return failure;
  }

  /** Ends the time limit. */
  release(): void {
    this.#limit?.release();
  }

  /** @param startedAt In milliseconds since 1970. */
  #attempt({ provider, model }: CallTarget, startedAt: number): Attempt {
    const elapsed = performance.now() - this.#start - (startedAt - this.#startedAt);
    return create(AttemptSchema, {
      provider,
      model,
      inferenceId: this.#inferenceId,
      step: this.#step,
      startedAt: timestampFromMs(startedAt),
      elapsed: durationFromMs(Math.max(0, Math.round(elapsed))),
    });
  }
}

/** When what followed an attempt began, in milliseconds since 1970. */
function endOf(attempt: Attempt | undefined): number | undefined {
  if (attempt?.startedAt === undefined) return undefined;
  const { startedAt, elapsed, retryDelay } = attempt;
  const [ran, waited] = [elapsed, retryDelay].map((time) => (time === undefined ? 0 : durationMs(time)));
  return Math.round(timestampMs(startedAt) + (ran ?? 0) + (waited ?? 0));
}

function withoutBody(error: InferenceError): InferenceError {
  if (error.providerFailure !== undefined) error.providerFailure.rawJson = "";
  if (error.cause !== undefined) withoutBody(error.cause);
  return error;
}
