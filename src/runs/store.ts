/** The store of runs: one implementation in `store/`, over a driver for SQLite and one for PostgreSQL. */

import type { TraceContext } from "../core/trace-context.ts";
import type { RunOrigin } from "../gen/outrigger/storage/v1/bodies_pb.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../gen/outrigger/v1/message_pb.ts";
import type { Run, RunEvent, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import type { CreateRunRequest } from "../gen/outrigger/v1/run_service_pb.ts";
import type { Thread, ThreadMessage } from "../gen/outrigger/v1/thread_pb.ts";

/** The conversation that a run continues: up to the end of a run, or of a thread. Empty texts name nothing. */
export interface ContinuedConversation {
  readonly previousRunId: string;
  readonly threadId: string;
}

/** Stored sizes in bytes. */
export interface ConversationSize {
  readonly messages: number;
  /** The previous run, with its request and its steps. 0 if a thread is continued. */
  readonly run: number;
}

/**
 * Keeps threads, messages, runs, steps and events. Each method is one transaction: it completes, or it throws and
 * changes nothing. Completed writes survive the end of the process. Several processes may use one store at a time if
 * `isShared` is true.
 *
 * `owner` is the name of the access key that created something; only that owner finds it.
 *
 * A run is in progress while it is QUEUED or IN_PROGRESS, and while a process has claimed it. Only the latest run of a
 * thread can be in progress or REQUIRES_ACTION. Runs have an order, the sequence of their creation in the store; no
 * rule depends on a clock except retention and the liveness of processes.
 *
 * @throws ServerError if the store cannot be reached; StoreFullError if it has no space; InvalidRequestError if a body
 *   is too large.
 */
export interface RunStore {
  /** Whether other processes may use the same data. */
  readonly isShared: boolean;

  /**
   * Creates a run with its input messages, and with a new thread if it needs one. If it continues a run that is
   * REQUIRES_ACTION, by `previous_run_id` or as the latest of its thread, that run is concluded in the same
   * transaction. The run, and the `run` of its first events, are stored with the thread that it got.
   * @throws StoreFullError while the space for new runs is used up. Runs in progress may use the rest.
   */
  createRun(creation: RunCreation): Promise<RunCreationResult>;
  /** Returns a run without its steps. */
  getRun(owner: string, runId: string): Promise<StoredRun | undefined>;
  /** Returns the latest run of a thread, by the order of creation. */
  findLatestRun(owner: string, threadId: string): Promise<StoredRun | undefined>;
  /** Returns the steps of a run, in order. */
  readSteps(runId: string): Promise<readonly StepResult[]>;
  /** Returns the runs of an owner, the latest created first. */
  listRuns(owner: string, query: RunQuery): Promise<Page<Run>>;
  /**
   * Deletes a run with its steps and events, and its messages unless later runs of its threads read them; otherwise
   * they are deleted with the last of these. Messages of a conversation stay in it. A thread that a run created is
   * deleted with its last run. Notifies the subscribers; a process that holds the run loses it.
   */
  deleteRun(owner: string, runId: string): Promise<boolean>;

  /**
   * Changes a run that this process has claimed. Returns false and writes nothing if the claim is no longer the run's
   * latest one, or the run was deleted. `cancel_requested` is never reset. Messages for a thread that was deleted are
   * dropped.
   * @throws StoreFullError. A write whose run gets a terminal status may use space that other writes may not, so that
   *   every run can end; it should then have few events.
   */
  write(write: RunWrite): Promise<boolean>;
  /**
   * Returns the events after a sequence number, in order: at most `maxEvents` of them, fewer if they are large.
   * @param owner If given, runs of other owners have no events.
   */
  readEvents(
    runId: string,
    afterSequence: number,
    maxEvents: number,
    owner?: string,
  ): Promise<readonly RunEvent[]>;
  /**
   * Sets `cancel_requested` unless the run has ended, and notifies the process that holds it. Returns the run as it is
   * then.
   */
  requestCancel(owner: string, runId: string): Promise<StoredRun | undefined>;
  /**
   * Calls `listener` when another process, or this one, has written events to a run, has asked to cancel it or has
   * deleted it. Notices of one kind may be merged or, rarely, lost, so a reader must read everything new, and must also
   * poll slowly. Returns a function that unsubscribes.
   */
  subscribe(runId: string, listener: (notice: RunNotice) => void): () => void;

  countQueued(owner: string): Promise<QueueLength>;
  /** Calls `listener` whenever runs are queued. Notices may be lost. Returns a function that unsubscribes. */
  subscribeToQueue(listener: () => void): () => void;

  /**
   * Renews the lease of this process: its runs are not abandoned for `timeoutMs`. Called before the process claims or
   * creates a run, and then repeatedly. Returns the ids of the runs that it has claimed and that are to be cancelled.
   */
  renewLease(holder: Holder): Promise<readonly string[]>;
  /**
   * Claims the oldest QUEUED runs without a holder, at most `limit`. Does not change their status.
   * @param exceptOwners Owners whose runs stay in the queue.
   */
  claimQueued(holder: Holder, limit: number, exceptOwners: readonly string[]): Promise<readonly ClaimedRun[]>;
  /** Claims a run that is QUEUED or REQUIRES_ACTION. Returns undefined if a live process has claimed it. */
  claim(runId: string, holder: Holder): Promise<ClaimedRun | undefined>;
  /**
   * Claims runs that are IN_PROGRESS and whose holder is no longer alive. Also claims the runs of this process that are
   * not in `known`: their end could not be written, or an answer of the store was lost. Such runs that are QUEUED or
   * REQUIRES_ACTION are freed instead, so that they are delivered again or can be continued. A run that cannot be read
   * is set to FAILED by the store.
   * @param known Ids of the runs that this process executes, creates or recovers. It claims no run during the call.
   */
  claimAbandoned(holder: Holder, known: readonly string[], limit: number): Promise<readonly ClaimedRun[]>;
  /** Ends the lease of this process. Its claimed runs are abandoned at once. */
  releaseLease(holder: Holder): Promise<void>;

  createThread(owner: string, thread: Thread, messages: readonly StoredMessage[]): Promise<void>;
  getThread(owner: string, threadId: string): Promise<Thread | undefined>;
  /** Replaces the metadata. False if there is no such thread. */
  updateThread(owner: string, thread: Thread): Promise<boolean>;
  /** Removes a thread and its messages, except from its forks. Its runs stay, and cannot be continued. */
  deleteThread(owner: string, threadId: string): Promise<boolean>;
  /** Appends to a thread. `busy` while a run of the thread is in progress; one that is REQUIRES_ACTION is not. */
  appendMessages(owner: string, threadId: string, messages: readonly StoredMessage[]): Promise<AppendResult>;
  /** Returns a page of messages. A page with large messages may end before its limit, with `hasMore`. */
  listMessages(owner: string, query: MessageQuery): Promise<Page<StoredMessage>>;
  /** @param threadId If not empty, finds only a message of this thread. */
  getMessage(owner: string, messageId: string, threadId?: string): Promise<StoredMessage | undefined>;
  /** Returns the latest message of an owner whose first tool call has this id. */
  findCall(owner: string, toolCallId: string): Promise<StoredMessage | undefined>;
  /** Removes a message from a thread. Its forks keep it. */
  deleteMessage(owner: string, threadId: string, messageId: string): Promise<boolean>;
  /** The messages of a run's thread before its input, in order. */
  readHistory(runId: string): Promise<readonly Message[]>;
  /** Returns the stored sizes of a conversation, without reading it. 0 if it does not exist. */
  measureConversation(owner: string, continued: ContinuedConversation): Promise<ConversationSize>;

  /**
   * Deletes runs that ended before a time, and conversations to which nothing was added since then, at most `limit`. A
   * run that is REQUIRES_ACTION counts from its creation. Returns how many were removed.
   */
  removeOld(before: Date, limit: number): Promise<number>;
  close(): Promise<void>;
}

/** A change of a run: its events were written or it was deleted (`change`), or it is to be cancelled (`cancel`). */
export type RunNotice = "change" | "cancel";

/** A process that executes runs, as the holder of a lease. */
export interface Holder {
  /** Id of the process, random. */
  readonly id: string;
  /** Duration of the lease in milliseconds. Without a renewal, its runs are abandoned after that. */
  readonly timeoutMs: number;
}

/** The right to change a run, until a later claim of the same run. */
export interface Claim {
  readonly runId: string;
  readonly holderId: string;
  /** The fencing token: counts the claims of the run. Each write checks it. */
  readonly fence: number;
}

/** A stored run. */
export interface StoredRun {
  /** Without its steps. */
  readonly run: Run;
  readonly owner: string;
  /** The request that created it, without the secrets of MCP servers. */
  readonly request: CreateRunRequest;
  /** Set if an HTTP API created it. */
  readonly origin?: RunOrigin | undefined;
  /** The trace of the call that created it. */
  readonly trace?: TraceContext | undefined;
}

/** A message of a thread, with fields that the contract does not have. */
export interface StoredMessage extends ThreadMessage {
  /** The form in which an HTTP API received it, as JSON text. Empty or absent if it can be derived. */
  readonly originJson?: string | undefined;
}

/** A stored run that this process has claimed. */
export interface ClaimedRun extends StoredRun {
  readonly claim: Claim;
}

/** A run to create. */
export interface RunCreation extends StoredRun {
  /**
   * The run in QUEUED or IN_PROGRESS. Its `thread_id` names a thread that is created for it, unless
   * `previous_run_id` of the request leads to another one, or `thread_id` of the request names it.
   */
  readonly run: Run;
  readonly events: readonly RunEvent[];
  /**
   * The messages that the run adds to its thread at its creation, in order. Called once, in the transaction, with the
   * messages that the run reads before them; again only if the transaction is repeated. If it throws, nothing is
   * written and its error is thrown.
   */
  readonly input: (history: readonly Message[]) => readonly StoredMessage[];
  /** Set if the run begins immediately in this process. Otherwise it is delivered as a queued run. */
  readonly holder?: Holder | undefined;
}

/** The result of creating a run. */
export type RunCreationResult =
  /**
   * `forked` if the previous run was already continued: the thread is a new one with the same messages. `claim` is set
   * if the creation names a holder.
   */
  | {
      readonly case: "created";
      readonly run: Run;
      readonly forked: boolean;
      readonly claim?: Claim | undefined;
    }
  /** Another run of the thread is in progress. */
  | { readonly case: "busy"; readonly activeRunId: string }
  | { readonly case: "missing"; readonly field: "previous_run_id" | "thread_id" }
  /** The previous run is in progress. */
  | { readonly case: "unfinished"; readonly status: RunStatus };

/** The result of appending to a thread. */
export type AppendResult =
  | { readonly case: "appended" }
  | { readonly case: "missing" }
  /** A run of the thread is in progress. */
  | { readonly case: "busy"; readonly activeRunId: string };

/** A change of a run that a process has claimed. Terminal statuses, REQUIRES_ACTION and QUEUED end the claim. */
export interface RunWrite {
  readonly claim: Claim;
  /** The changed run. Absent: only the following fields are written. */
  readonly run?: Run | undefined;
  /** Events to append. If their sequence numbers do not follow the stored ones, `write` throws an InternalError. */
  readonly events?: readonly RunEvent[] | undefined;
  /** Replaces the latest step: some of its calls have results now. Before `steps`. */
  readonly latestStep?: StepResult | undefined;
  readonly steps?: readonly StepResult[] | undefined;
  readonly messages?: readonly StoredMessage[] | undefined;
}

/** Number of runs in the queue. */
export interface QueueLength {
  /** Runs of the requested owner. */
  readonly owner: number;
  readonly total: number;
}

/** Selects runs to list. */
export interface RunQuery extends PageQuery {
  /** Empty: of all threads. */
  readonly threadId: string;
  /** Empty: all. */
  readonly statuses: readonly RunStatus[];
}

/** Selects messages to list: of a thread, or added by a run. */
export interface MessageQuery extends PageQuery {
  readonly threadId?: string | undefined;
  readonly inputRunId?: string | undefined;
  readonly order: "oldest first" | "latest first";
}

/** Selects a page of a list. */
export interface PageQuery {
  /**
   * Id of the last element of the previous page. Empty: the first page. If the list has no such element, the method
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
