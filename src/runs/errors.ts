/** Errors that APIs distinguish from other errors of the same kind. */
import { quote } from "../client/violations.ts";
import {
  InvalidRequestError,
  NotFoundError,
  RateLimitError,
  ServerError,
  toSdkError,
} from "../core/errors.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import type { RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import { statusName } from "./status.ts";

/** Another run of the thread was in progress until the wait timed out. Over the HTTP API: 409. */
export class ThreadBusyError extends RateLimitError {
  /** The run in progress. */
  readonly activeRunId: string;

  constructor(activeRunId: string) {
    const rule = "the runs of a thread are executed one at a time";
    super(`the run ${activeRunId} of the same thread is still in progress; ${rule}`, { retryAfter: 1 });
    this.activeRunId = activeRunId;
  }
}

/** A run is not in the state that the call needs. Over gRPC: FAILED_PRECONDITION. */
export class RunStateError extends InvalidRequestError {
  /** The run. */
  readonly runId: string;
  /** Its status. */
  readonly status: RunStatus;

  /** @param expected Describes the expected run: `one that is over`. */
  constructor(field: string, runId: string, status: RunStatus, expected: string) {
    const description = `the run ${runId} is ${statusName(status)}, expected ${expected}`;
    super(`${field}: ${description}`, { violations: [{ field, description }] });
    this.runId = runId;
    this.status = status;
  }
}

/** A limit on runs is reached. */
export class RunLimitError extends RateLimitError {
  /** Name of the limit in the configuration: `max_foreground_runs`. */
  readonly limit: string;

  constructor(limit: string, max: number, what: string) {
    super(`the limit runs.limits.${limit} of ${max} ${what} is reached`, { retryAfter: 1 });
    this.limit = limit;
  }
}

/**
 * Returns the error for something that does not exist, or belongs to another owner.
 * @param field The field of the request that names it. Empty if the request is about it alone.
 */
export function missing(what: "run" | "thread" | "message", id: string, field = ""): NotFoundError {
  const description = `the ${what} ${quote(id)} does not exist`;
  return field === ""
    ? new NotFoundError(description)
    : new NotFoundError(`${field}: ${description}`, { violations: [{ field, description }] });
}

/** Returns the value. @throws NotFoundError of `missing` if it is undefined. */
export function found<Value>(value: Value | undefined, ...what: Parameters<typeof missing>): Value {
  if (value === undefined) throw missing(...what);
  return value;
}

/**
 * The store is full: its disk is full, or its size limit is reached. Retryable, since
 * runs that end free space.
 */
export class StoreFullError extends RateLimitError {
  constructor(message: string) {
    super(message, { retryAfter: 1 });
  }
}

/** The connection to the database was lost. It is unknown whether the last statements were executed. */
export class StoreUnreachableError extends ServerError {}

/** Reports whether a failure of a store is temporary. */
export function isOutage(thrown: unknown): boolean {
  const { kind, retryable } = toSdkError(thrown);
  return retryable && kind === ErrorKind.SERVER;
}
