/** The store of runs. The implementations are in `stores/`; one contract test suite covers all of them. */

import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../gen/outrigger/v1/message_pb.ts";
import type { Run, RunEvent, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import type { CreateRunRequest } from "../gen/outrigger/v1/run_service_pb.ts";
import type { Thread, ThreadMessage } from "../gen/outrigger/v1/thread_pb.ts";

/**
 * Keeps threads, messages, runs, steps and events. Each method is one transaction: it completes, or it throws and
 * changes nothing. Completed writes survive the end of the process. Several processes may use one store at a time where
 * `isShared` says so.
 *
 * `owner` is the name of the access key that created something; what another owner created is not found.
 *
 * A run is under way while it is QUEUED or IN_PROGRESS, and while a process holds it. Only the latest run of a thread
 * can be under way or REQUIRES_ACTION.
 *
 * @throws ServerError where the store cannot be reached or is full; InvalidRequestError where a body is too large.
 */
export interface RunStore {
  /** Whether other processes may use the same data. */
  readonly isShared: boolean;

  /**
   * Creates a run with its input messages, and its thread where it needs a new one. Where it continues a run that is
   * REQUIRES_ACTION, by `previous_run_id` or as the latest of its thread, that run is concluded in the same transaction.
   * The run, and the `run` of its first events, are stored with the thread that it got.
   */
  createRun(creation: RunCreation): Promise<RunCreationResult>;
  /** A run without its steps. */
  getRun(owner: string, runId: string): Promise<StoredRun | undefined>;
  /** The steps of a run, in order. */
  readSteps(runId: string): Promise<readonly StepResult[]>;
  /** The runs of an owner, newest first; those of the same millisecond by descending id. */
  listRuns(owner: string, query: RunQuery): Promise<Page<Run>>;
  /**
   * Deletes a run with its steps and events, and its messages unless later runs of its threads read them; otherwise
   * they are deleted with the last of these. Messages of a conversation stay in it. A thread that a run created is
   * deleted with its last run. Notifies the subscribers; a process that holds the run loses its lease.
   */
  deleteRun(owner: string, runId: string): Promise<boolean>;

  /**
   * Changes a run that this process holds. Returns false and writes nothing if the process no longer holds it: its
   * lease expired and another process has taken the run or marked it as failed, or the run was deleted. Renews the
   * lease. `cancel_requested` is never reset. Messages for a thread that was deleted are dropped.
   */
  write(write: RunWrite): Promise<boolean>;
  /** The events after a sequence number, in order: at most `maxEvents` of them, fewer where they are large. */
  readEvents(runId: string, afterSequence: number, maxEvents: number): Promise<readonly RunEvent[]>;
  /**
   * Sets `cancel_requested` unless the run has ended, and notifies the process that holds it. Returns the run as it is
   * then.
   */
  requestCancel(owner: string, runId: string): Promise<StoredRun | undefined>;
  /**
   * Calls back when another process, or this one, has written events to a run, has asked to cancel it or has deleted
   * it. Notices of one kind may be merged, so a reader must read everything new. Returns a function that ends the
   * subscription.
   */
  subscribe(runId: string, onNotice: (notice: RunNotice) => void): () => void;
  /** Number of QUEUED runs of all owners. */
  countQueued(): Promise<number>;

  /**
   * Delivers the ids of queued runs, each to one process; again where that process died before it took the run, and, a
   * while later, where `handle` has settled and the run is still QUEUED and not held. At most `concurrency` at a time:
   * one is over when the promise of `handle` settles. Returns what ends it, after the deliveries under way.
   */
  deliverQueued(handle: (runId: string) => Promise<void>, concurrency: number): Promise<() => Promise<void>>;
  /**
   * Takes a run that is QUEUED or REQUIRES_ACTION and that no process holds, or held under a lease that has run out.
   * Undefined if that fails. Does not change its status.
   */
  take(runId: string, lease: Lease): Promise<StoredRun | undefined>;
  /** Renews the leases of a process. Returns the runs that it holds and that are to be cancelled. */
  renewLeases(lease: Lease): Promise<readonly string[]>;
  /**
   * Takes runs that are IN_PROGRESS and whose lease has expired, at most `limit`, so that one process marks them as
   * failed.
   */
  takeAbandoned(lease: Lease, limit: number): Promise<readonly StoredRun[]>;

  createThread(owner: string, thread: Thread, messages: readonly ThreadMessage[]): Promise<void>;
  getThread(owner: string, threadId: string): Promise<Thread | undefined>;
  /** Replaces the metadata. False where there is no such thread. */
  updateThread(owner: string, thread: Thread): Promise<boolean>;
  /** Removes a thread and its messages, except from its forks. Its runs stay, and cannot be continued. */
  deleteThread(owner: string, threadId: string): Promise<boolean>;
  /** Appends to a thread. `busy` while a run of the thread is under way; one that is REQUIRES_ACTION is not. */
  appendMessages(
    owner: string,
    threadId: string,
    messages: readonly ThreadMessage[],
  ): Promise<"appended" | "busy" | "missing">;
  /** Messages in pages. One with large messages may end before its limit, with `hasMore`. */
  listMessages(owner: string, query: MessageQuery): Promise<Page<ThreadMessage>>;
  getMessage(owner: string, messageId: string): Promise<ThreadMessage | undefined>;
  /** The latest message of an owner whose first tool call has this id. */
  findCall(owner: string, toolCallId: string): Promise<ThreadMessage | undefined>;
  /** Removes a message from a thread. Its forks keep it. */
  deleteMessage(owner: string, threadId: string, messageId: string): Promise<boolean>;
  /** All messages that a run reads: those of its thread before its own input, in order. */
  readHistory(runId: string): Promise<readonly Message[]>;

  /**
   * Deletes runs that ended before that time, and conversations without additions since then, at most `limit`. A run
   * that is REQUIRES_ACTION counts from its creation. Returns how many were removed.
   */
  removeOld(before: Date, limit: number): Promise<number>;
  close(): Promise<void>;
}

/** What happened to a run: its events were written or it was deleted (`change`), or it is to be cancelled (`cancel`). */
export type RunNotice = "change" | "cancel";

/** The right of one process to change a run. */
export interface Lease {
  /** Id of the process. */
  readonly holder: string;
  /** How long it lasts without renewal. */
  readonly durationMs: number;
}

/** A stored run. */
export interface StoredRun {
  /** Without its steps. */
  readonly run: Run;
  readonly owner: string;
  /** The request that created it, without the secrets of MCP servers. */
  readonly request: CreateRunRequest;
}

/** A run to create. */
export interface RunCreation extends StoredRun {
  /**
   * The run in QUEUED or IN_PROGRESS. Its `thread_id` is that of a thread that is created for it, unless
   * `previous_run_id` of the request leads to another one, or `thread_id` of the request names it.
   */
  readonly run: Run;
  /** Its first events. */
  readonly events: readonly RunEvent[];
  /**
   * The messages that the run adds to its thread at its creation, in order. Called once, in the transaction, with the
   * messages that the run reads before them. If it throws, nothing is written and its error is thrown.
   */
  readonly input: (history: readonly Message[]) => readonly ThreadMessage[];
  /** Set if the run begins immediately in this process. Otherwise it is delivered as a queued run. */
  readonly lease?: Lease | undefined;
  /** Returns the previous run as it is after being continued. Called if it is REQUIRES_ACTION. */
  readonly concludePrevious: (previous: Run) => RunChange;
}

/** The result of creating a run. */
export type RunCreationResult =
  /** `forked` if the previous run was already continued: the thread is a new one with the same messages. */
  | { readonly case: "created"; readonly run: Run; readonly forked: boolean }
  /** Another run of the thread is under way. */
  | { readonly case: "busy"; readonly activeRunId: string }
  | { readonly case: "missing"; readonly field: "previous_run_id" | "thread_id" }
  /** The previous run is under way. */
  | { readonly case: "unfinished"; readonly status: RunStatus };

/** A change of a run. */
export interface RunChange {
  /** The changed run. Absent: only the following fields are written. */
  readonly run?: Run | undefined;
  /** Events to append; their sequence numbers follow those that are there: an InternalError where they do not. */
  readonly events?: readonly RunEvent[] | undefined;
}

/** A change of a run that a process holds. Terminal states, REQUIRES_ACTION and QUEUED end the lease. */
export interface RunWrite extends RunChange {
  readonly runId: string;
  readonly lease: Lease;
  /** Replaces the latest step: some of its calls have results now. Before `steps`. */
  readonly latestStep?: StepResult | undefined;
  /** Steps to append. */
  readonly steps?: readonly StepResult[] | undefined;
  /** Messages to append to the thread. */
  readonly messages?: readonly ThreadMessage[] | undefined;
}

/** Selects runs to list. */
export interface RunQuery extends PageQuery {
  /** Empty: of all threads. */
  readonly threadId: string;
  /** Empty: all. */
  readonly statuses: readonly RunStatus[];
}

/** Which messages to list: those of a thread, or those that a run added. */
export interface MessageQuery extends PageQuery {
  readonly threadId?: string | undefined;
  /** The input of this run. */
  readonly inputOfRunId?: string | undefined;
  readonly order: "oldest first" | "latest first";
}

/** Selects a page of a list. */
export interface PageQuery {
  /**
   * Id of the last element of the previous page. Empty: the first page. Where the list has no such element, the method
   * throws an InvalidRequestError with a violation of the field `after`.
   */
  readonly after: string;
  readonly limit: number;
}

/** A part of a list. */
export interface Page<Element> {
  readonly elements: readonly Element[];
  readonly hasMore: boolean;
}
