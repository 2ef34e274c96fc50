/** The interface between the run engine and its callers, RunService and the HTTP APIs. */
import type { Batches } from "../core/batches.ts";
import type { TraceContext } from "../core/trace-context.ts";
import type { RunOrigin } from "../gen/outrigger/storage/v1/bodies_pb.ts";
import type { Run, RunEvent } from "../gen/outrigger/v1/run_pb.ts";
import type { CreateRunRequest } from "../gen/outrigger/v1/run_service_pb.ts";
import type { ThreadMessage } from "../gen/outrigger/v1/thread_pb.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import type { HistoryShare } from "./limits.ts";
import type { StoredMessage, StoredRun } from "./store.ts";

/**
 * A run with its origin, if an HTTP API created it. This is not part of the contract, so callers of RunService never
 * get it.
 */
export interface RunWithOrigin extends Run {
  readonly origin?: RunOrigin | undefined;
}

/** A message to add, and the form in which an HTTP API received it. */
export interface NewMessage extends Pick<StoredMessage, "message"> {
  /** See StoredMessage. Empty if it can be derived. */
  readonly originJson: string;
}

/** A thread that a caller creates. */
export interface ThreadInput {
  readonly metadata: Readonly<Record<string, string>>;
  readonly messages: readonly NewMessage[];
}

/** A run to create. */
export interface RunInput {
  /** The request as RunService receives it. */
  readonly request: CreateRunRequest;
  /**
   * The messages of the request with the forms in which an HTTP API received them; the lists in the request are then
   * empty.
   */
  readonly input?: readonly NewMessage[] | undefined;
  /** The origin, if an HTTP API creates the run. */
  readonly origin?: RunOrigin | undefined;
  /** The conversation that the request continues, if it is already open. `createRun` releases it, even if it throws. */
  readonly conversation?: OpenConversation | undefined;
}

/** A conversation with memory to continue it. */
export interface OpenConversation {
  /** The run that `previous_run_id` names, with its steps. */
  readonly previous: StoredRun | undefined;
  readonly share: HistoryShare;
}

/** The owner of a run, and its limits. */
export interface RunOptions {
  /** Name of the access key. Empty if the sidecar requires none. */
  readonly owner: string;
  /** Aborted when the caller disconnects or its deadline expires. Cancels the run unless it is in the background. */
  readonly signal: AbortSignal;
  /** The caller's deadline, in milliseconds of `performance.now()`. */
  readonly deadline?: number | undefined;
  /** The trace of the call that creates the run. Kept with the run, for the calls that it makes without its caller. */
  readonly trace?: TraceContext | undefined;
  /**
   * Calls the models for this run instead of the engine's client, for instance to report to a log. Not used in the
   * background.
   */
  readonly client?: ModelClient | undefined;
  /** Gets the answers of a run that is not stored, as the messages that a stored run would add to its thread. */
  readonly onMessages?: ((messages: readonly ThreadMessage[]) => void) | undefined;
  /**
   * Whether the models of a foreground run are called for streams. Otherwise they are called for whole answers, and the
   * events of a step come at once when the model has answered. Default true.
   */
  readonly isStreamed?: boolean | undefined;
}

/** A run that was created or continued. */
export interface StartedRun {
  /** The run at its creation: QUEUED or IN_PROGRESS. */
  readonly run: Run;
  /**
   * Its events from the first one that this call added, until it is over or requires action. A foreground run proceeds
   * only while they are read, so that a slow reader slows down the provider's stream; ending the iteration early
   * cancels it. If they are not read for `stallTimeoutMs`, they end with an error, and the run continues if it is
   * stored. They need not be read for a run in the background, or if `result` is called first. A run that is neither
   * stored nor streamed has events of its answers only if it has MCP servers.
   */
  readonly events: Batches<RunEvent>;
  /** Waits for the end. Returns the run with its steps. */
  result(): Promise<Run>;
}

/** Is notified about runs, for logs and metrics. Must not throw. */
export interface RunObserver {
  runCreated?(run: Run): void;
  /** A run that this process executed has ended or requires action. */
  runEnded?(run: Run): void;
  /** Number of queued runs of all processes, and of stored runs that this one executes. Called every few seconds. */
  runsMeasured?(queued: number, inProgress: number): void;
  /** A background task has failed, for instance the removal of old runs. */
  failed?(what: string, error: unknown): void;
}
