import { randomUUID } from "node:crypto";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { type Batches, lazyBatches } from "../core/batches.ts";
import { anyCaller, type Caller } from "../core/caller.ts";
import { AbortError, invalidField, ServerError } from "../core/errors.ts";
import { MemoryAccount } from "../core/memory-account.ts";
import type { StepResult } from "../gen/outrigger/v1/generation_pb.ts";
import { type McpServer, type Run, type RunEvent, RunStatus } from "../gen/outrigger/v1/run_pb.ts";
import type {
  CreateRunRequest,
  ListRunsRequest,
  ListRunsResponse,
  SubmitToolResultsRequest,
} from "../gen/outrigger/v1/run_service_pb.ts";
import type { ModelClient } from "../generation/model-calls.ts";
import { BoundedMap } from "../middleware/bounded-map.ts";
import { BackgroundRuns } from "./background-runs.ts";
import { createCallerClient } from "./caller-client.ts";
import { cancelHeldRun, failHeldRun } from "./end-held-run.ts";
import type { RunEngine, RunInput, RunOptions, StartedRun } from "./engine.ts";
import { drain, type EngineParts, readRun, waitForRun } from "./engine-parts.ts";
import { missing, RunLimitError } from "./errors.ts";
import { Gate } from "./gate.ts";
import { HistoryMemory, type HistoryShare } from "./history-memory.ts";
import { DEFAULT_RUN_LIMITS, type RunLimits } from "./limits.ts";
import { listRuns } from "./list-runs.ts";
import { LiveRun, type LiveRunOptions } from "./live-run.ts";
import type { RunObserver } from "./observer.ts";
import { hasSecrets, type RunDraft, readRunInput, readStoredRequest } from "./read-request.ts";
import { type CreatedRun, createInStore } from "./run-creation.ts";
import { createStatusEvent } from "./run-event.ts";
import { NO_SERVER_TOOLS, type RunPlan } from "./run-execution.ts";
import { RunReader } from "./run-reader.ts";
import type { ServerTools } from "./server-tools.ts";
import { isTerminal, isUnderWay, withStatus } from "./status.ts";
import type { RunNotice, RunStore, StoredRun } from "./store.ts";
import { MemoryStore } from "./stores/memory-store.ts";
import { readInputOf, readSubmission } from "./submission.ts";
import { ThreadMethods } from "./thread-methods.ts";

/** Options of an engine. */
export interface RunEngineOptions {
  /** Calls the models. */
  readonly client: ModelClient;
  /** Returns the caller with the name of an owner, for background runs. Default: a caller that may use all models. */
  readonly callerNamed?: ((owner: string) => Caller) | undefined;
  /** Stores the runs. The engine closes it. */
  readonly store: RunStore;
  readonly limits?: Partial<RunLimits> | undefined;
  /** Executes the tools of MCP servers. Default: there are none. */
  readonly serverTools?: ServerTools | undefined;
  readonly observer?: RunObserver | undefined;
  /** The memory of the process, and how much of each limit one owner may take. Default: an account of its own. */
  readonly account?: MemoryAccount | undefined;
}

/** Maximum number of runs that require action whose servers are kept in memory with their secrets. */
const MAX_KEPT_SERVERS = 1000;

/** How long CancelRun waits for the end of a run, in milliseconds. */
const CANCEL_WAIT_MS = 10_000;

/** Creates an engine, which begins to execute queued runs at once. */
export function createRunEngine(options: RunEngineOptions): RunEngine {
  return new Engine(options);
}

class Engine extends ThreadMethods implements RunEngine {
  readonly #parts: EngineParts;
  readonly #background: BackgroundRuns;
  /** Servers of runs that require action, with the secrets that are not stored. */
  readonly #servers = new BoundedMap<readonly McpServer[]>(MAX_KEPT_SERVERS);
  #isDraining = false;
  #isClosing = false;

  constructor({
    client,
    callerNamed = (name) => ({ ...anyCaller, name }),
    store,
    limits: own,
    serverTools = NO_SERVER_TOOLS,
    observer = {},
    account = new MemoryAccount(),
  }: RunEngineOptions) {
    const limits = { ...DEFAULT_RUN_LIMITS, ...own };
    const parts: EngineParts = {
      client,
      callerNamed,
      store,
      limits,
      serverTools,
      observer,
      lease: { holder: randomUUID(), durationMs: limits.leaseMs },
      gates: gatesOf(limits, account),
      histories: new HistoryMemory(account),
      live: new Map(),
    };
    super(parts);
    this.#parts = parts;
    this.#background = new BackgroundRuns(parts, (stored, share) => this.#runTaken(stored, share));
  }

  async createRun(input: RunInput, options: RunOptions): Promise<StartedRun> {
    this.#refuseWhileDraining();
    const { background } = input.request;
    if (background && input.request.store !== false) return this.#createInBackground(input, options);
    return this.#enter("foreground", options.owner, async (leave, share) => {
      const draft = await this.#read(input, options.owner);
      const store = draft.isStored ? this.#parts.store : new MemoryStore({ keepsEvents: false });
      const created = await this.#create(store, draft, input, options, share);
      return this.#startForCaller(store, this.#planOf(draft, created, input, options, share), options, leave);
    });
  }

  async submitToolResults(request: SubmitToolResultsRequest, options: RunOptions): Promise<StartedRun> {
    this.#refuseWhileDraining();
    const { store } = this.#parts;
    const found = await store.getRun(options.owner, request.runId);
    if (found === undefined) throw missing("run", request.runId, "run_id");
    if (found.run.background) {
      return this.#enter("background", options.owner, async (leave, share) => {
        const plan = await this.#resume(request, found, options, share);
        this.#start(
          {
            store,
            plan: { ...plan, client: this.#clientOf(options.owner, share) },
            events: [statusEventOf(plan.run)],
          },
          leave,
        );
        await this.#heedEarlierCancel(options.owner, plan.run.id);
        return this.#startedInBackground(plan.run, options, plan.run.lastSequence - 1);
      });
    }
    return this.#enter("foreground", options.owner, async (leave, share) => {
      const plan = await this.#resume(request, found, options, share);
      const started = this.#startForCaller(store, plan, options, leave);
      await this.#heedEarlierCancel(options.owner, plan.run.id);
      return started;
    });
  }

  /** Cancels a run that was to be cancelled while it was being continued: it did not listen yet. */
  async #heedEarlierCancel(owner: string, runId: string): Promise<void> {
    const stored = await this.#parts.store.getRun(owner, runId);
    if (stored?.run.cancelRequested === true) this.#parts.live.get(runId)?.cancel();
  }

  async getRun(owner: string, runId: string): Promise<Run> {
    const { store } = this.#parts;
    const stored = await store.getRun(owner, runId);
    if (stored === undefined) throw missing("run", runId);
    return withSteps(stored.run, await store.readSteps(runId));
  }

  streamRun(owner: string, runId: string, afterSequence: number, signal: AbortSignal): Batches<RunEvent> {
    return lazyBatches(async () => {
      if (afterSequence < -1)
        throw invalidField("after_sequence", `expected a number from -1, found ${afterSequence}`);
      // The events themselves are found by the id of their run alone.
      if ((await this.#parts.store.getRun(owner, runId)) === undefined) throw missing("run", runId);
      return this.#limitedReader({ owner, runId, after: afterSequence }, signal);
    });
  }

  async cancelRun(owner: string, runId: string): Promise<Run> {
    const { store, live } = this.#parts;
    if ((await store.getRun(owner, runId)) === undefined) throw missing("run", runId);
    const own = live.get(runId);
    // What its last event will say is settled already.
    if (own?.isEnding === true) await own.ended;
    else {
      own?.cancel();
      const stored = await store.requestCancel(owner, runId);
      const isIdle = own === undefined && stored !== undefined && stored.run.status !== RunStatus.IN_PROGRESS;
      if (isIdle && !isTerminal(stored.run.status)) await this.#cancelIdle(runId);
      await waitForRun(this.#parts, { owner, runId }, CANCEL_WAIT_MS);
    }
    return this.getRun(owner, runId);
  }

  listRuns(owner: string, request: ListRunsRequest): Promise<ListRunsResponse> {
    return listRuns(this.#parts.store, owner, request);
  }

  async deleteRun(owner: string, runId: string): Promise<void> {
    const { run } = (await this.#parts.store.getRun(owner, runId)) ?? {};
    if (run === undefined) throw missing("run", runId);
    if (isUnderWay(run.status)) await this.cancelRun(owner, runId);
    if (!(await this.#parts.store.deleteRun(owner, runId))) throw missing("run", runId);
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    const stopped = this.#background.stopTaking();
    while (this.#parts.live.size > 0)
      await Promise.all([...this.#parts.live.values()].map(({ ended }) => ended));
    await stopped;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const live of this.#parts.live.values()) live.abort(closingError());
    await this.drain();
    this.#background.close();
    await this.#parts.store.close();
  }

  #refuseWhileDraining(): void {
    if (this.#isDraining) throw new ServerError("the sidecar is shutting down and starts no more runs");
  }

  async #read(input: RunInput, owner: string): Promise<RunDraft> {
    const previous = await this.#previousOf(input.request, owner);
    const draft = await readRunInput(input, previous, this.#parts.limits);
    this.#parts.serverTools.check(draft.servers, "mcp_servers");
    return draft;
  }

  /** The run to continue, if the new run needs to know it. */
  async #previousOf(request: CreateRunRequest, owner: string): Promise<StoredRun | undefined> {
    const { previousRunId, threadId, approvals, inheritTools, store: isStored } = request;
    const { store } = this.#parts;
    if (isStored === false || (!inheritTools && approvals.length === 0)) return undefined;
    if (previousRunId !== "") {
      const previous = await store.getRun(owner, previousRunId);
      if (previous === undefined) throw missing("run", previousRunId, "previous_run_id");
      return previous;
    }
    if (threadId === "") return undefined;
    const [latest] = (await store.listRuns(owner, { threadId, statuses: [], after: "", limit: 1 })).elements;
    return latest === undefined ? undefined : store.getRun(owner, latest.id);
  }

  async #create(
    store: RunStore,
    draft: RunDraft,
    input: RunInput,
    { owner, signal, deadline }: RunOptions,
    share: HistoryShare,
    isQueued = false,
  ): Promise<CreatedRun> {
    const created = await createInStore(this.#parts, store, draft, {
      owner,
      origin: input.origin,
      inputPath: inputPathOf(input),
      lease: isQueued ? undefined : this.#parts.lease,
      signal,
      deadline,
      onConversation: (messages, field) =>
        isQueued ? share.check(messages, field) : share.take(messages, field),
    });
    this.#parts.observer.runCreated?.(created.run);
    return created;
  }

  async #createInBackground(input: RunInput, options: RunOptions): Promise<StartedRun> {
    const { store, limits, histories } = this.#parts;
    const draft = await this.#read(input, options.owner);
    if (!draft.hasSecrets) {
      const { maxQueuedRuns } = limits;
      if ((await store.countQueued()) >= maxQueuedRuns)
        throw new RunLimitError("max_queued_runs", maxQueuedRuns, "queued runs");
      const { run } = await this.#create(store, draft, input, options, histories.begin(options.owner), true);
      return this.#startedInBackground(run, options, -1);
    }
    return this.#enter("background", options.owner, async (leave, share) => {
      const created = await this.#create(store, draft, input, options, share);
      const plan = this.#planOf(draft, created, input, options, share);
      const own = { ...plan, client: this.#clientOf(options.owner, share), deadline: undefined };
      this.#start({ store, plan: own, events: [statusEventOf(plan.run)] }, leave);
      return this.#startedInBackground(created.run, options, -1);
    });
  }

  #planOf(
    { generation, request, servers, knownTools }: RunDraft,
    { run, conversation }: CreatedRun,
    input: RunInput,
    { owner, client, deadline }: RunOptions,
    share: HistoryShare,
  ): RunPlan {
    return {
      run,
      client: client ?? this.#clientOf(owner, share),
      generation,
      system: request.options?.system ?? "",
      conversation,
      inputPath: inputPathOf(input),
      previousSteps: [],
      servers,
      knownTools,
      serverTools: this.#parts.serverTools,
      toolGate: this.#parts.gates.tools,
      deadline,
    };
  }

  /** Executes a queued run that this process has taken. */
  async #runTaken(stored: StoredRun, share: HistoryShare): Promise<void> {
    const { run: queued } = stored;
    let isCancelled = queued.cancelRequested;
    // From its start on the run listens itself.
    const unsubscribe = this.#parts.store.subscribe(queued.id, (notice) => {
      isCancelled ||= notice === "cancel";
    });
    try {
      const plan = await this.#orFail(queued, () => this.#beginTaken(stored, share, () => isCancelled));
      if (plan === undefined) return;
      const options = { store: this.#parts.store, plan, events: [statusEventOf(plan.run)] };
      const live = this.#start(options, () => undefined);
      if (isCancelled) live.cancel();
      await live.ended;
    } finally {
      unsubscribe();
    }
  }

  /** Does what comes before the start of a run that this process holds. Where that fails, the run has failed. */
  async #orFail<Result>(run: Run, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (thrown) {
      await failHeldRun(this.#parts, run, thrown);
      throw thrown;
    }
  }

  /** Writes that a queued run is in progress. Undefined where it does not go on here. */
  async #beginTaken(
    stored: StoredRun,
    share: HistoryShare,
    isCancelled: () => boolean,
  ): Promise<RunPlan | undefined> {
    const { store, lease } = this.#parts;
    const { run: queued } = stored;
    const giveBack = () => store.write({ runId: queued.id, lease, run: queued });
    if (queued.status !== RunStatus.QUEUED) {
      // It was delivered twice, and requires action by now.
      await giveBack();
      return undefined;
    }
    const plan = await this.#storedPlan(stored, share);
    share.settle([...plan.conversation.history, ...plan.conversation.input], stored.owner);
    if (isCancelled()) {
      await cancelHeldRun(this.#parts, queued);
      return undefined;
    }
    if (this.#isDraining) {
      await giveBack();
      return undefined;
    }
    const run = withStatus(queued, RunStatus.IN_PROGRESS, {
      startedAt: timestampNow(),
      lastSequence: queued.lastSequence + 1,
    });
    const isHeld = await store.write({ runId: run.id, lease, run, events: [statusEventOf(run)] });
    return isHeld ? { ...plan, run } : undefined;
  }

  /** The client for a run that is not executed for a waiting caller. */
  #clientOf(owner: string, share: HistoryShare): ModelClient {
    const { client, callerNamed } = this.#parts;
    return createCallerClient(client, () => callerNamed(owner), share.openAnswers(owner));
  }

  /** The plan of a stored run, as far as the store has it. */
  async #storedPlan({ run, owner, request }: StoredRun, share: HistoryShare): Promise<RunPlan> {
    const { store, limits, serverTools, gates } = this.#parts;
    const generation = await readStoredRequest(request, limits.maxSteps);
    const history = await store.readHistory(run.id);
    const input = await readInputOf(store, owner, run.id);
    return {
      run,
      client: this.#clientOf(owner, share),
      generation,
      system: request.options?.system ?? "",
      conversation: { history, input, approvals: request.approvals },
      inputPath: "options.request.messages",
      previousSteps: [],
      servers: this.#servers.get(run.id) ?? request.mcpServers,
      knownTools: run.serverTools,
      serverTools,
      toolGate: gates.tools,
    };
  }

  /** Continues a run that requires action. */
  async #resume(
    request: SubmitToolResultsRequest,
    found: StoredRun,
    { owner, client, deadline }: RunOptions,
    share: HistoryShare,
  ): Promise<RunPlan> {
    // Once the submission is written nothing may refuse the run: what it takes is counted even where it is too much.
    this.#parts.histories.check(0, "run_id", owner, 0);
    const submission = await readSubmission(this.#parts, request, found);
    const plan = await this.#orFail(submission.run, () => this.#storedPlan(submission.stored, share));
    const { input, history, approvals } = plan.conversation;
    share.settle([...history, ...input]);
    const own = input.filter((message) => !submission.isResult(message));
    return {
      ...plan,
      run: submission.run,
      client: client ?? plan.client,
      deadline,
      conversation: { history, input: own, approvals },
      previousSteps: submission.steps,
    };
  }

  /** Cancels a run that no process executes. */
  async #cancelIdle(runId: string): Promise<void> {
    const taken = await this.#parts.store.take(runId, this.#parts.lease);
    if (taken !== undefined) await cancelHeldRun(this.#parts, taken.run);
  }

  /** Takes a place and memory for a run, which the work must give back at its end. */
  async #enter(
    kind: "foreground" | "background",
    owner: string,
    work: (leave: () => void, share: HistoryShare) => Promise<StartedRun>,
  ): Promise<StartedRun> {
    const { gates, histories } = this.#parts;
    gates[kind].enter(owner);
    const share = histories.begin(owner);
    const leave = () => {
      share.release();
      gates[kind].leave(owner);
    };
    try {
      return await work(leave, share);
    } catch (thrown) {
      leave();
      throw thrown;
    }
  }

  #start(options: Omit<LiveRunOptions, "lease" | "onEnd">, leave: () => void): LiveRun {
    const { live, lease, observer } = this.#parts;
    const { id } = options.plan.run;
    const run = new LiveRun({
      ...options,
      lease,
      onEnd: (ended) => {
        if (live.get(id) === run) live.delete(id);
        unsubscribe();
        leave();
        if (ended.status === RunStatus.REQUIRES_ACTION) this.#keepServers(options.plan);
        if (!isUnderWay(ended.status)) observer.runEnded?.(ended);
      },
    });
    const onNotice = (notice: RunNotice) => {
      if (notice === "cancel") run.cancel();
    };
    const unsubscribe = options.plan.run.stored ? options.store.subscribe(id, onNotice) : () => undefined;
    live.set(id, run);
    if (this.#isClosing) run.abort(closingError());
    return run;
  }

  /** Keeps the secrets for a run that continues in this process. */
  #keepServers({ run, servers }: RunPlan): void {
    if (servers.some(hasSecrets)) this.#servers.getOrCreate(run.id, () => servers);
  }

  /** Starts a run whose caller reads its events. */
  #startForCaller(
    store: RunStore,
    plan: RunPlan,
    { owner, signal }: RunOptions,
    leave: () => void,
  ): StartedRun {
    const { run } = plan;
    const live = this.#start({ store, plan, signal, events: [statusEventOf(run)] }, leave);
    const source = { store, owner, runId: run.id, findHub: () => live.hub };
    const reader = new RunReader(source, run.lastSequence - 1, {
      onLeave: () => {
        live.abort(new AbortError("the caller disconnected"));
        return live.ended;
      },
    });
    live.hub.setCaller(reader);
    return { run, events: reader, result: () => this.#resultOf(live, reader, owner) };
  }

  async #resultOf(live: LiveRun, reader: RunReader, owner: string): Promise<Run> {
    if (!reader.hasBegun) await drain(reader);
    await live.ended;
    const { end } = live.hub;
    if (end?.case === "failed") throw end.error;
    return end?.case === "lost" ? this.getRun(owner, live.run.id) : withSteps(live.run, live.steps);
  }

  #startedInBackground(run: Run, { owner, signal }: RunOptions, after: number): StartedRun {
    const reader = this.#limitedReader({ owner, runId: run.id, after }, signal);
    return {
      run,
      events: reader,
      result: async () => {
        await drain(reader);
        return this.getRun(owner, run.id);
      },
    };
  }

  #limitedReader(
    place: { readonly owner: string; readonly runId: string; readonly after: number },
    signal: AbortSignal,
  ): RunReader {
    const { readers } = this.#parts.gates;
    return readRun(this.#parts, place, {
      signal,
      onBegin: () => readers.enter(place.owner),
      onEnd: () => readers.leave(place.owner),
    });
  }
}

function closingError(): ServerError {
  return new ServerError("the sidecar stopped before the run was over");
}

function gatesOf(limits: RunLimits, account: MemoryAccount): EngineParts["gates"] {
  const { maxForegroundRuns, maxBackgroundRuns, maxToolExecutions, maxStreamReaders } = limits;
  return {
    foreground: new Gate("max_foreground_runs", maxForegroundRuns, "runs in the foreground", account),
    background: new Gate("max_background_runs", maxBackgroundRuns, "runs in the background", account),
    tools: new Gate("max_tool_executions", maxToolExecutions, "tool executions", account),
    readers: new Gate("max_stream_readers", maxStreamReaders, "readers of events", account),
  };
}

function statusEventOf(run: Run): RunEvent {
  return createStatusEvent(run.lastSequence, run);
}

function withSteps(run: Run, steps: readonly StepResult[]): Run {
  return { ...run, steps: [...steps] };
}

function inputPathOf({ input }: RunInput): string {
  return input === undefined ? "options.request.messages" : "input";
}
