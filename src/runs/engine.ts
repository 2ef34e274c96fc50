/** What the APIs of runs use: RunService and the HTTP APIs. Implemented by `createRunEngine`. */
import type { Batches } from "../core/batches.ts";
import type { Run, RunEvent, RunOrigin } from "../gen/outrigger/v1/run_pb.ts";
import type {
  CreateRunRequest,
  ListRunsRequest,
  ListRunsResponse,
  SubmitToolResultsRequest,
} from "../gen/outrigger/v1/run_service_pb.ts";
import type { Thread, ThreadMessage } from "../gen/outrigger/v1/thread_pb.ts";
import type { ModelClient } from "../generation/model-calls.ts";
import type { MessageQuery, Page } from "./store.ts";

/**
 * Runs generations that are kept. All methods throw SDKErrors: InvalidRequestError with field violations, NotFoundError
 * for what does not exist or belongs to another owner, RateLimitError where a limit on runs is reached.
 */
export interface RunEngine {
  /** Creates a run and starts it, or queues it where it is in the background. Resolves when it is written. */
  createRun(input: RunInput, options: RunOptions): Promise<StartedRun>;
  /** Continues a run that requires action. */
  submitToolResults(request: SubmitToolResultsRequest, options: RunOptions): Promise<StartedRun>;
  /** A stored run with its steps. */
  getRun(owner: string, runId: string): Promise<Run>;
  /**
   * The events of a stored run after a sequence number (-1: all), past ones first, until it is over or requires action.
   * Ends where the signal is aborted.
   */
  streamRun(owner: string, runId: string, afterSequence: number, signal: AbortSignal): Batches<RunEvent>;
  /** Resolves when the run is over, or at the latest after some seconds with `cancel_requested`. */
  cancelRun(owner: string, runId: string): Promise<Run>;
  listRuns(owner: string, request: ListRunsRequest): Promise<ListRunsResponse>;
  deleteRun(owner: string, runId: string): Promise<void>;

  /** Ids and times are set here. */
  createThread(owner: string, input: ThreadInput): Promise<Thread>;
  getThread(owner: string, threadId: string): Promise<Thread>;
  updateThread(owner: string, threadId: string, metadata: Readonly<Record<string, string>>): Promise<Thread>;
  deleteThread(owner: string, threadId: string): Promise<void>;
  /** Waits for a run of the thread that is under way. */
  appendMessages(
    owner: string,
    threadId: string,
    messages: readonly NewMessage[],
  ): Promise<readonly ThreadMessage[]>;
  listMessages(owner: string, query: MessageQuery): Promise<Page<ThreadMessage>>;
  getMessage(owner: string, messageId: string): Promise<ThreadMessage>;
  deleteMessage(owner: string, threadId: string, messageId: string): Promise<void>;

  /** No new runs. Resolves when those in the foreground are over; background ones are given back to the queue or failed. */
  drain(): Promise<void>;
  /** Ends all runs and closes the store. */
  close(): Promise<void>;
}

/** A message to add: its parts of the contract, and the form in which an HTTP API received it. */
export interface NewMessage extends Pick<ThreadMessage, "message"> {
  /** See ThreadMessage. Empty where it can be derived. */
  readonly originJson: string;
}

/** A thread that a caller creates. */
export interface ThreadInput {
  readonly metadata: Readonly<Record<string, string>>;
  readonly messages: readonly NewMessage[];
}

/** What to run. */
export interface RunInput {
  /** As over gRPC. */
  readonly request: CreateRunRequest;
  /** The messages of the request with the forms in which an HTTP API received them; those of the request are then empty. */
  readonly input?: readonly NewMessage[] | undefined;
  /** How an HTTP API creates it. */
  readonly origin?: RunOrigin | undefined;
}

/** Who runs it, and for how long. */
export interface RunOptions {
  /** Name of the access key. Empty where there are none. */
  readonly owner: string;
  /** Aborted when the caller disconnects or its deadline runs out. Cancels the run unless it is in the background. */
  readonly signal: AbortSignal;
  /** When the caller's time is over, in milliseconds of `performance.now()`. */
  readonly deadline?: number | undefined;
  /** Calls the models for this run in place of the engine's client, for instance to report to a log. Not used in the background. */
  readonly client?: ModelClient | undefined;
}

/** A run that was created or continued. */
export interface StartedRun {
  /** As it was created: QUEUED or IN_PROGRESS. */
  readonly run: Run;
  /**
   * Its events from the first one that this call added, until it is over or requires action. A run in the foreground
   * goes on only while they are read, so that a slow reader holds back the provider; leaving the iteration cancels it.
   * They need not be read for a run in the background.
   */
  readonly events: Batches<RunEvent>;
  /** Reads the events to their end where nobody else does. The run with its steps, as it is then. */
  result(): Promise<Run>;
}
