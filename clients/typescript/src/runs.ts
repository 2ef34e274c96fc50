import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { CallOptions as ConnectCallOptions, Client as ServiceClient } from "@connectrpc/connect";
import { type RequestInput, type ToolInput, toRequest } from "../../../src/client/request-input.ts";
import { errorFromProto, RequestTimeoutError, type SDKError, StreamError } from "../../../src/core/errors.ts";
import { closeAtOnce } from "../../../src/core/item-iterator.ts";
import type { MessageInput } from "../../../src/core/message.ts";
import type { ActiveTool } from "../../../src/core/tool-input.ts";
import type { ToolResult } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  type McpServer,
  type Run,
  type RunEvent,
  RunStatus,
  type ToolApproval,
} from "../../../src/gen/outrigger/v1/run_pb.ts";
import {
  type CreateRunRequest,
  CreateRunRequestSchema,
  type RunService,
} from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import { isActiveTool } from "../../../src/generation/local-executor.ts";
import type { GenerationLimits } from "../../../src/generation/loop/loop-limits.ts";
import { findAnswer, getAnswer, type RunCallOptions } from "./answer.ts";
import { toFailure } from "./failure.ts";
import { limitsInit } from "./loop-start.ts";
import { isUnsent } from "./reconnect.ts";

/** The input of a run, and how the run is kept. */
export interface RunOptions extends Omit<RequestInput, "messages" | "tools"> {
  /** Text of one user message, in place of `messages`. */
  readonly prompt?: string | undefined;
  /** The conversation so far, oldest first, in place of `prompt`. */
  readonly messages?: readonly MessageInput[] | undefined;
  /** Text of a system message that is put before the conversation. */
  readonly system?: string | undefined;
  /** Tools. A run executes no function of this program: their calls end it with REQUIRES_ACTION. */
  readonly tools?: readonly (ToolInput | ActiveTool)[] | undefined;
  /** How many times tools of MCP servers are executed, at most. */
  readonly maxToolRounds?: number | undefined;
  /** Ends the run early: a CEL expression over `steps`. */
  readonly stopWhen?: string | undefined;
  /** Limits of the run, over all steps. */
  readonly limits?: GenerationLimits | undefined;
  /** Time limit of the whole run, in milliseconds. */
  readonly timeout?: number | undefined;
  /** Retries of each call of the model, at most. Defaults to 2. */
  readonly maxRetries?: number | undefined;
  /** The run to continue. Not together with `threadId`. */
  readonly previousRunId?: string | undefined;
  /** The thread to continue. Default: a new one, or the thread of the previous run. */
  readonly threadId?: string | undefined;
  /** Whether the run continues when the caller is gone. `create` then returns at once. Default false. */
  readonly background?: boolean | undefined;
  /** Whether the run is stored. Default true. */
  readonly store?: boolean | undefined;
  /** Stored with the run: at most 16. `metadata` is for the provider. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** MCP servers whose tools the model may call. The sidecar executes them. */
  readonly mcpServers?: readonly McpServer[] | undefined;
  /** Decisions on calls that need approval. */
  readonly approvals?: readonly ToolApproval[] | undefined;
  /** Whether the tools and MCP servers of the previous run are used if there are none here. */
  readonly inheritTools?: boolean | undefined;
}

/** Which runs are listed. Absent fields include all. */
export interface RunFilter {
  readonly threadId?: string | undefined;
  readonly statuses?: readonly RunStatus[] | undefined;
  /** Runs that are fetched at once, up to 100. Default 20. */
  readonly pageSize?: number | undefined;
}

type Service = ServiceClient<typeof RunService>;

/** Pause between two attempts to resume, in milliseconds, unless the sidecar names a longer one. */
const RESUME_DELAY_MS = 250;

/** The run engine: generations that are stored, and that can continue in the background. */
export class Runs {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /**
   * Creates a run. Returns a background run at once, any other when it has ended or requires action. A run that failed
   * does not throw: its `status` and `error` say so.
   */
  create(options: RunOptions, call: RunCallOptions = {}): Promise<Run> {
    return getAnswer(call, (connect) => this.#service.createRun(toRunRequest(options), connect));
  }

  /**
   * Creates a run and returns its events. Leaving the loop cancels the run, unless it is in the background; the events
   * of one in the background resume automatically when the connection is lost. A run that failed ends with its `run`
   * event, and then throws.
   */
  createStream(options: RunOptions, call: RunCallOptions = {}): AsyncGenerator<RunEvent> {
    const request = toRunRequest(options);
    return this.#follow((connect) => this.#service.createRunStream(request, connect), new Position(), call);
  }

  /**
   * Returns the events of a run, past ones first, until it has ended or requires action. They resume automatically when
   * the connection is lost, after an outage of any length: `signal` or `return()` ends them. They throw at once if
   * there is no sidecar at the beginning. Leaving the loop does not affect the run. A run that failed ends with its
   * `run` event, and then throws.
   * @param after Only the events after this number.
   */
  events(
    runId: string,
    { after, ...call }: RunCallOptions & { readonly after?: number | undefined } = {},
  ): AsyncGenerator<RunEvent> {
    const position = new Position(runId, after);
    return this.#follow((connect) => this.#resume(position, connect), position, call);
  }

  /** Returns a run with its steps; undefined if there is none. */
  get(runId: string, call: RunCallOptions = {}): Promise<Run | undefined> {
    return findAnswer(call, (connect) => this.#service.getRun({ runId }, connect));
  }

  /** Waits until a run has ended or requires action, and returns it with its steps. */
  async wait(runId: string, call: RunCallOptions = {}): Promise<Run> {
    for (;;) {
      const run = await getAnswer(call, (connect) => this.#service.getRun({ runId }, connect));
      if (!isUnderWay(run)) return run;
      const position = new Position(runId, run.lastSequence);
      try {
        for await (const _ of this.#follow((connect) => this.#resume(position, connect), position, call));
      } catch (error) {
        // A failure of the run is in what the next look finds.
        if (!position.isOver) throw error;
      }
    }
  }

  /** Continues a run that requires action, with a result for each required one. Returns as `create` does. */
  submitToolResults(
    runId: string,
    results: readonly ToolResult[],
    { approvals = [], ...call }: RunCallOptions & { readonly approvals?: readonly ToolApproval[] } = {},
  ): Promise<Run> {
    const request = { runId, results: [...results], approvals: [...approvals] };
    return getAnswer(call, (connect) => this.#service.submitToolResults(request, connect));
  }

  /** Cancels a run. Has no effect on one that has ended. */
  cancel(runId: string, call: RunCallOptions = {}): Promise<Run> {
    return getAnswer(call, (connect) => this.#service.cancelRun({ runId }, connect));
  }

  /** Deletes a run with its steps and events. One in progress is cancelled first. */
  async delete(runId: string, call: RunCallOptions = {}): Promise<void> {
    await getAnswer(call, (connect) => this.#service.deleteRun({ runId }, connect));
  }

  /** Returns the caller's runs, newest first, without their steps. Fetches page after page. */
  async *list(
    { threadId = "", statuses = [], pageSize = 0 }: RunFilter = {},
    call: RunCallOptions = {},
  ): AsyncGenerator<Run> {
    let pageToken = "";
    do {
      const request = { threadId, statuses: [...statuses], pageSize, pageToken };
      const page = await getAnswer(call, (connect) => this.#service.listRuns(request, connect));
      yield* page.runs;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  #resume(position: Position, connect: ConnectCallOptions): AsyncIterable<RunEvent> {
    return this.#service.streamRun(
      { runId: position.runId, ...(position.last === undefined ? {} : { afterSequence: position.last }) },
      connect,
    );
  }

  #follow(
    open: (connect: ConnectCallOptions) => AsyncIterable<RunEvent>,
    position: Position,
    { signal }: RunCallOptions,
  ): AsyncGenerator<RunEvent> {
    const left = new AbortController();
    const ended = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]);
    const events = this.#read(open, position, ended, left.signal);
    return closeAtOnce(events, () => left.abort());
  }

  async *#read(
    open: (connect: ConnectCallOptions) => AsyncIterable<RunEvent>,
    position: Position,
    signal: AbortSignal,
    left: AbortSignal,
  ): AsyncGenerator<RunEvent> {
    let events = open({ signal });
    for (;;) {
      let lost: SDKError | undefined;
      try {
        for await (const event of events) {
          position.take(event);
          yield event;
        }
      } catch (thrown) {
        if (left.aborted) return;
        lost = toFailure(thrown, signal);
      }
      if (!position.mustResume(lost)) return;
      await pause(Math.max(RESUME_DELAY_MS, (lost?.retryAfter ?? 0) * 1000), signal);
      events = this.#resume(position, { signal });
    }
  }
}

/** Waits, unless it is aborted: then the next call throws. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

/** How far the events of a run have been read, and whether they can be resumed. */
class Position {
  runId: string;
  last: number | undefined;
  /** Whether the run has ended or requires action. */
  isOver = false;
  #failure: SDKError | undefined;
  /** Whether there was a sidecar to send a call to. */
  #wasReached = false;

  constructor(runId = "", last?: number) {
    this.runId = runId;
    this.last = last;
  }

  take({ sequence, event }: RunEvent): void {
    this.last = sequence;
    if (event.case !== "run") return;
    const { status, error } = event.value;
    this.isOver = !isUnderWay(event.value);
    this.#failure = status === RunStatus.FAILED && error !== undefined ? errorFromProto(error) : undefined;
    if (event.value.background) this.runId = event.value.id;
  }

  /**
   * Reports whether there may be further events after a stream ended like this. Throws if it failed for good, or if the
   * run failed: only the stream that created it says so itself. A sidecar that drains, or whose store is away, fails a
   * stream with an error that may be retried.
   * @param lost Undefined for an end without the run's last event.
   */
  mustResume(lost: SDKError | undefined): boolean {
    if (this.isOver) {
      const failure = lost ?? this.#failure;
      if (failure === undefined) return false;
      throw failure;
    }
    this.#wasReached ||= !isUnsent(lost?.cause);
    const mayGoOn = lost === undefined || (lost.retryable && !(lost instanceof RequestTimeoutError));
    if (this.runId !== "" && this.#wasReached && mayGoOn) return true;
    throw lost ?? new StreamError("the events of the run ended without its last one");
  }
}

function isUnderWay({ status }: Run): boolean {
  return status === RunStatus.QUEUED || status === RunStatus.IN_PROGRESS;
}

function toRunRequest(options: RunOptions): CreateRunRequest {
  const {
    prompt = "",
    system = "",
    messages = [],
    tools = [],
    maxToolRounds,
    stopWhen = "",
    limits,
    timeout,
    maxRetries,
    previousRunId = "",
    threadId = "",
    background = false,
    store,
    labels = {},
    mcpServers = [],
    approvals = [],
    inheritTools = false,
    ...request
  } = options;
  return create(CreateRunRequestSchema, {
    options: {
      request: toRequest({
        ...request,
        messages,
        tools: tools.map((tool) => (isActiveTool(tool) ? tool.definition : tool)),
      }),
      prompt,
      system,
      stopWhen,
      limits: limitsInit(limits),
      ...(maxToolRounds === undefined ? {} : { maxToolRounds }),
      ...(timeout === undefined ? {} : { timeouts: { total: durationFromMs(timeout) } }),
      ...(maxRetries === undefined ? {} : { retry: { maxRetries } }),
    },
    previousRunId,
    threadId,
    background,
    ...(store === undefined ? {} : { store }),
    metadata: labels,
    mcpServers: [...mcpServers],
    approvals: [...approvals],
    inheritTools,
  });
}
