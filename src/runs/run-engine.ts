import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { checkEnum, Violations } from "../client/violations.ts";
import type { Batches } from "../core/batches.ts";
import { anyCaller, type Caller } from "../core/caller.ts";
import { ServerError } from "../core/errors.ts";
import { MemoryAccount } from "../core/memory-account.ts";
import { type RunEvent, RunStatus, RunStatusSchema } from "../gen/outrigger/v1/run_pb.ts";
import {
  type CreateRunRequest,
  type ListRunsRequest,
  type ListRunsResponse,
  ListRunsResponseSchema,
  type SubmitToolResultsRequest,
} from "../gen/outrigger/v1/run_service_pb.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import { Delivery } from "./delivery.ts";
import type {
  OpenConversation,
  RunInput,
  RunObserver,
  RunOptions,
  RunWithOrigin,
  StartedRun,
} from "./engine.ts";
import { found, missing, RunLimitError, RunStateError, StoreUnreachableError } from "./errors.ts";
import { RunFeeds } from "./event-hub.ts";
import { type EngineParts, Executions, KnownRuns } from "./executions.ts";
import {
  ConcurrencyLimiter,
  DEFAULT_RUN_LIMITS,
  HistoryMemory,
  HistoryShare,
  type RunLimits,
} from "./limits.ts";
import { hasSecrets, readRunInput } from "./read-request.ts";
import { cancelClaimedRun, failClaimedRun, releaseRun, submitResults } from "./recovery.ts";
import { createStatusEvent } from "./run-log.ts";
import { type CreatedRun, createRun, type NewRun, planCreated, planStored } from "./run-plan.ts";
import { waitForRun } from "./run-reader.ts";
import { NO_SERVER_TOOLS, type ServerTools } from "./server-tools.ts";
import { isQueuedOrRunning, isTerminal, withStatus } from "./status.ts";
import type { ClaimedRun, ContinuedConversation, RunStore, StoredRun } from "./store.ts";
import { Threads } from "./threads.ts";

/** Options of an engine. */
export interface RunEngineOptions {
  readonly client: ModelClient;
  /** Returns the caller with the name of an owner, for background runs. Default: a caller that may use all models. */
  readonly callerNamed?: ((owner: string) => Caller) | undefined;
  /** Stores the runs. The engine closes it. */
  readonly store: RunStore;
  readonly limits?: Partial<RunLimits> | undefined;
  /** Executes the tools of MCP servers. Default: there are none. */
  readonly serverTools?: ServerTools | undefined;
  readonly observer?: RunObserver | undefined;
  /** The memory of the process, and how much of each limit one owner may take. Default: a new account. */
  readonly account?: MemoryAccount | undefined;
}

/** How long CancelRun waits for the end of a run, in milliseconds. */
const CANCEL_WAIT_MS = 10_000;

/** Runs in a page of a list: by default, and at most. */
const PAGE_SIZE = { default: 20, max: 100 };

/** Describes the run that a submission expects, if the MCP servers of its run have credentials. */
const CREDENTIALS_ELSEWHERE =
  "one whose MCP servers need no credentials, or whose credentials this sidecar has; they are not stored, so that " +
  "only a new run with previous_run_id and mcp_servers can continue it here";

/**
 * Creates, executes and stores runs. All methods throw SDKErrors: InvalidRequestError with field violations,
 * NotFoundError for what does not exist or belongs to another owner, RateLimitError if a limit on runs is reached.
 */
export class RunEngine {
  readonly threads: Threads;
  readonly #parts: EngineParts;
  readonly #executions: Executions;
  readonly #delivery: Delivery;
  #isDraining = false;

  /** Starts executing queued runs immediately. */
  constructor({
    client,
    callerNamed = (name) => ({ ...anyCaller, name }),
    store,
    limits: overrides,
    serverTools = NO_SERVER_TOOLS,
    observer = {},
    account = new MemoryAccount(),
  }: RunEngineOptions) {
    const limits = { ...DEFAULT_RUN_LIMITS, ...overrides };
    const { maxForegroundRuns, maxBackgroundRuns, maxToolExecutions, maxStreamReaders } = limits;
    this.#parts = {
      client,
      callerNamed,
      store,
      limits,
      serverTools,
      observer,
      holder: { id: randomUUID(), timeoutMs: limits.leaseMs },
      known: new KnownRuns(),
      account,
      limiters: {
        foreground: new ConcurrencyLimiter(
          "max_foreground_runs",
          maxForegroundRuns,
          "foreground runs",
          account,
        ),
        background: new ConcurrencyLimiter(
          "max_background_runs",
          maxBackgroundRuns,
          "background runs",
          account,
        ),
        tools: new ConcurrencyLimiter("max_tool_executions", maxToolExecutions, "tool executions", account),
        readers: new ConcurrencyLimiter("max_stream_readers", maxStreamReaders, "readers of events", account),
      },
      histories: new HistoryMemory(account),
      live: new Map(),
      feeds: new RunFeeds(),
    };
    this.threads = new Threads(this.#parts);
    this.#executions = new Executions(this.#parts);
    this.#delivery = new Delivery(this.#parts, (claimed, share) => this.#executeClaimed(claimed, share));
  }

  /** Creates a run and starts it, or queues it if it is in the background. Resolves when it is stored. */
  async createRun(input: RunInput, options: RunOptions): Promise<StartedRun> {
    const { request, conversation } = input;
    const { previousRunId, threadId, inheritTools } = request;
    const share = conversation?.share ?? new HistoryShare(this.#parts.histories, options.owner);
    try {
      this.#refuseWhileDraining();
      const continues = conversation !== undefined || previousRunId !== "" || threadId !== "";
      const find = () => this.#findPrevious(request, options.owner, share);
      const previous = continues ? (conversation?.previous ?? (await find())) : undefined;
      const draft = await readRunInput(input, previous, this.#parts.limits);
      if (continues) share.keepPrevious(inheritTools ? previous : undefined);
      const begins = !request.background || !draft.isStored || draft.hasSecrets;
      return await this.#start({ draft, options, share, begins });
    } catch (thrown) {
      share.release();
      throw thrown;
    }
  }

  async #start(newRun: NewRun): Promise<StartedRun> {
    const { draft, options, share, begins } = newRun;
    const { owner } = options;
    const { servers, request } = draft;
    if (servers.length > 0) this.#parts.serverTools.check(servers);
    if (!begins) {
      await this.#checkQueue(owner);
      const { run } = await this.#create(newRun);
      share.release();
      // Another process may have claimed it already.
      return this.#executions.readInBackground(run, options, -1);
    }
    return this.#enter(request.background, owner, share, async (leave) => {
      const created = await this.#create(newRun);
      const plan = planCreated(this.#parts, newRun, created);
      const { claim } = created;
      return this.#executions.startForCaller(plan, claim && { claim, owner, request }, leave, options);
    });
  }

  /**
   * Takes memory for a conversation alongside the conversations of the runs in progress, before it is read, since many
   * small requests may continue a large one at once; then reads the previous run. A RunInput hands both to `createRun`.
   * @throws RateLimitError; NotFoundError for the field `previous_run_id`.
   */
  async openConversation(owner: string, continued: ContinuedConversation): Promise<OpenConversation> {
    const { histories, store } = this.#parts;
    const { previousRunId } = continued;
    const share = new HistoryShare(histories, owner);
    share.reserve(await store.measureConversation(owner, continued));
    try {
      const previous = previousRunId === "" ? undefined : await this.#getPrevious(owner, previousRunId);
      previous?.run.steps.push(...(await store.readSteps(previousRunId)));
      share.keepPrevious(previous);
      return { previous, share };
    } catch (thrown) {
      share.release();
      throw thrown;
    }
  }

  async submitToolResults(request: SubmitToolResultsRequest, options: RunOptions): Promise<StartedRun> {
    this.#refuseWhileDraining();
    const { runId } = request;
    const stored = found(await this.#parts.store.getRun(options.owner, runId), "run", runId, "run_id");
    const { background, status } = stored.run;
    const needsSecrets = stored.request.mcpServers.some(hasSecrets);
    if (background && !needsSecrets) {
      const { claimed } = await this.#submit(request, stored, RunStatus.QUEUED);
      return this.#executions.readInBackground(claimed.run, options);
    }
    const servers = this.#executions.serversWithSecrets(runId);
    if (needsSecrets && servers === undefined && status === RunStatus.REQUIRES_ACTION)
      throw new RunStateError("run_id", runId, status, CREDENTIALS_ELSEWHERE);
    const share = new HistoryShare(this.#parts.histories, options.owner);
    return this.#enter(background, options.owner, share, async (leave) => {
      // Once the submission is written, nothing may refuse the run: `settle` counts its memory even if that exceeds the
      // limit.
      share.take([], "run_id");
      const { claimed, steps } = await this.#submit(request, stored, RunStatus.IN_PROGRESS);
      const planned = await this.#orFail(claimed, () => planStored(this.#parts, claimed, share));
      const {
        client = planned.client,
        deadline,
        isStreamed = true,
      }: Partial<RunOptions> = background ? {} : options;
      const earlier = { approvedResults: [], ...planned.earlier, steps, isSubmitted: true, isFinished: true };
      const plan = { ...planned, client, deadline, isStreamed, earlier, servers: servers ?? planned.servers };
      share.settle([...plan.conversation.history, ...plan.conversation.input]);
      return this.#executions.startForCaller(plan, claimed, leave, options);
    });
  }

  /** Returns a stored run. @param withSteps Whether its steps are read. */
  getRun(owner: string, runId: string, withSteps = true): Promise<RunWithOrigin> {
    return this.#executions.getRun(owner, runId, withSteps);
  }

  /**
   * Returns the events of a stored run after a sequence number (-1: all), past ones first, until it is over or requires
   * action. Ends when the signal is aborted.
   */
  streamRun(owner: string, runId: string, after: number, signal: AbortSignal): Batches<RunEvent> {
    return this.#executions.read({ owner, runId, after }, signal, true);
  }

  /** Resolves when the run has ended, or after a few seconds with `cancel_requested`. */
  async cancelRun(owner: string, runId: string): Promise<RunWithOrigin> {
    const { store, live, holder, known } = this.#parts;
    found(await store.getRun(owner, runId), "run", runId);
    // If the end of the run is being written, it stands. A run that is being handed over can be cancelled afterwards.
    if (live.get(runId)?.isEnding === true) await live.get(runId)?.ended;
    const running = live.get(runId);
    running?.cancel();
    const stored = await store.requestCancel(owner, runId);
    if (stored !== undefined && !isTerminal(stored.run.status)) {
      const isIdle = running === undefined && stored.run.status !== RunStatus.IN_PROGRESS;
      const cancelIdle = async () => {
        await this.#delivery.ensureAlive();
        const claimed = await store.claim(runId, holder);
        if (claimed !== undefined) await cancelClaimedRun(this.#parts, claimed);
      };
      if (isIdle) await known.during(runId, cancelIdle, () => false);
      await waitForRun(this.#parts, { owner, runId }, CANCEL_WAIT_MS);
    }
    return this.getRun(owner, runId);
  }

  async listRuns(
    owner: string,
    { pageSize, pageToken, threadId, statuses }: ListRunsRequest,
  ): Promise<ListRunsResponse> {
    const violations = new Violations();
    if (pageSize < 0 || pageSize > PAGE_SIZE.max)
      violations.add("page_size", `expected a number from 1 to ${PAGE_SIZE.max}, found ${pageSize}`);
    for (const [index, status] of statuses.entries())
      checkEnum(RunStatusSchema, status, `statuses[${index}]`, violations);
    violations.throwIfAny();
    const limit = pageSize === 0 ? PAGE_SIZE.default : pageSize;
    const query = { threadId, statuses, after: pageToken, limit };
    const { elements, hasMore } = await this.#parts.store.listRuns(owner, query);
    const nextPageToken = hasMore ? (elements.at(-1)?.id ?? "") : "";
    return create(ListRunsResponseSchema, { runs: [...elements], nextPageToken });
  }

  async deleteRun(owner: string, runId: string): Promise<void> {
    const { run } = found(await this.#parts.store.getRun(owner, runId), "run", runId);
    if (isQueuedOrRunning(run.status)) await this.cancelRun(owner, runId);
    if (!(await this.#parts.store.deleteRun(owner, runId))) throw missing("run", runId);
  }

  /**
   * Refuses new runs and puts background runs back into the queue, for another process or the next start. Resolves when
   * the other ones have ended.
   */
  async drain(): Promise<void> {
    this.#isDraining = true;
    const stopped = this.#delivery.stopClaiming();
    await this.#executions.drain();
    await stopped;
    await this.#executions.drain();
  }

  /** Ends all runs and closes the store. */
  async close(): Promise<void> {
    this.#isDraining = true;
    this.#executions.close();
    await this.drain();
    await this.#delivery.close();
    await this.#parts.store.close();
  }

  #refuseWhileDraining(): void {
    if (this.#isDraining) throw new ServerError("the sidecar is shutting down and does not start more runs");
  }

  /** Takes memory for a conversation. Returns the run that it continues, if the new run needs to know it. */
  async #findPrevious(
    { previousRunId, threadId, approvals, inheritTools, store: isStored }: CreateRunRequest,
    owner: string,
    share: HistoryShare,
  ): Promise<StoredRun | undefined> {
    const { store } = this.#parts;
    if (isStored === false || (previousRunId === "" && threadId === "")) return undefined;
    share.reserve(await store.measureConversation(owner, { previousRunId, threadId }));
    if (!inheritTools && approvals.length === 0) return undefined;
    return previousRunId === ""
      ? store.findLatestRun(owner, threadId)
      : this.#getPrevious(owner, previousRunId);
  }

  async #getPrevious(owner: string, runId: string): Promise<StoredRun> {
    return found(await this.#parts.store.getRun(owner, runId), "run", runId, "previous_run_id");
  }

  async #checkQueue(owner: string): Promise<void> {
    const { store, limits, account } = this.#parts;
    const queued = await store.countQueued(owner);
    const max = limits.maxQueuedRuns;
    if (queued.total >= max) throw new RunLimitError("max_queued_runs", max, "queued runs");
    const ownerMax = account.getOwnerLimit(max, owner);
    if (owner !== "" && queued.owner >= ownerMax)
      throw new RunLimitError("max_queued_runs", ownerMax, "queued runs of one access key");
  }

  async #create(newRun: NewRun): Promise<CreatedRun> {
    if (newRun.begins && newRun.draft.isStored) await this.#delivery.ensureAlive();
    const created = await createRun(this.#parts, newRun);
    this.#parts.observer.runCreated?.(created.run);
    return created;
  }

  /** Executes a queued run that this process has claimed, if it continues here. */
  async #executeClaimed(claimed: ClaimedRun, share: HistoryShare): Promise<void> {
    const { store } = this.#parts;
    const { run: queued, claim, owner } = claimed;
    const plan = await this.#orFail(claimed, async () => {
      if (queued.cancelRequested) return void (await cancelClaimedRun(this.#parts, claimed));
      const stored = await planStored(this.#parts, claimed, share);
      share.settle([...stored.conversation.history, ...stored.conversation.input], owner);
      if (this.#isDraining) return void (await releaseRun(this.#parts, claimed));
      const startedAt = queued.startedAt ?? timestampNow();
      const lastSequence = queued.lastSequence + 1;
      const run = withStatus(queued, RunStatus.IN_PROGRESS, { startedAt, lastSequence });
      const isClaimed = await store.write({ claim, run, events: [createStatusEvent(lastSequence, run)] });
      return isClaimed ? { ...stored, run } : undefined;
    });
    if (plan !== undefined)
      await this.#executions.start(plan, { stored: claimed, onEnd: () => undefined }).ended;
  }

  /**
   * Prepares the start of a claimed run. If that fails, the run is marked as FAILED, unless the store is unavailable:
   * then the run is claimed again later.
   */
  async #orFail<Result>(claimed: ClaimedRun, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof StoreUnreachableError)) await failClaimedRun(this.#parts, claimed, thrown);
      throw thrown;
    }
  }

  async #submit(request: SubmitToolResultsRequest, stored: StoredRun, status: RunStatus) {
    await this.#delivery.ensureAlive();
    const submit = () => submitResults(this.#parts, request, stored, status);
    return this.#parts.known.during(stored.run.id, submit, () => status !== RunStatus.QUEUED);
  }

  /** Acquires a slot for a run, which the work must release at its end together with the run's memory. */
  async #enter(
    background: boolean,
    owner: string,
    share: HistoryShare,
    work: (leave: () => void) => Promise<StartedRun>,
  ): Promise<StartedRun> {
    const { limiters } = this.#parts;
    const limiter = background ? limiters.background : limiters.foreground;
    limiter.acquire(owner);
    const leave = () => {
      share.release();
      limiter.release(owner);
      if (background) this.#delivery.wake();
    };
    try {
      return await work(leave);
    } catch (thrown) {
      leave();
      throw thrown;
    }
  }
}
