/**
 * The events of a run -> the events of its response. The result depends only on those events, so that a replay of a
 * stored run produces the same bytes, and a resumed stream is a replay without its beginning.
 */
import { withFieldPaths } from "../../client/field-paths.ts";
import { errorFromProto, InternalError, type SDKError, StreamError } from "../../core/errors.ts";
import type { StepFinish } from "../../gen/outrigger/v1/generation_pb.ts";
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { type Run, type RunEvent, RunStatus, type StepRestart } from "../../gen/outrigger/v1/run_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import { answerMessageId } from "../../runs/messages.ts";
import { toErrorObject } from "../openai/errors.ts";
import { type EventOptions, EventOutput, type EventSink } from "./event-output.ts";
import { McpToolEvents } from "./mcp-tool-events.ts";
import { OutputList } from "./output-list.ts";
import type { ResponseSettings } from "./settings.ts";
import { type StepContext, StepEvents } from "./step-events.ts";
import { ItemWriter } from "./write-items.ts";
import { type ResponseMetadata, ResponseWriter, readMetadata } from "./write-response.ts";

/**
 * Types of the events that end a stream, by the status of the run. There is no separate event for a cancelled response.
 */
const LAST_EVENTS: ReadonlyMap<RunStatus, string> = new Map([
  [RunStatus.REQUIRES_ACTION, "response.completed"],
  [RunStatus.COMPLETED, "response.completed"],
  [RunStatus.INCOMPLETE, "response.incomplete"],
  [RunStatus.FAILED, "response.failed"],
  [RunStatus.CANCELLED, "response.incomplete"],
]);

/** Writes the events of one response. */
export class ResponseEvents {
  readonly #output: EventOutput;
  readonly #response: ResponseWriter;
  readonly #list: OutputList;
  readonly #tools: McpToolEvents;
  readonly #context: StepContext;
  readonly #runId: string;
  readonly #warnings: Warning[] = [];
  /** The model call that has not ended. */
  #step: StepEvents | undefined;
  /** Index of the first item of the step. */
  #stepBegin = 0;
  /** Steps whose model call was repeated. */
  #repeated = new Set<number>();
  #model = "";
  #metadata: ResponseMetadata | undefined;
  /** Number of items at the end of the latest step. The response of a failed run has no further items. */
  #kept = 0;
  #hasStarted = false;
  #isInProgress = false;
  /** The run if it requires action. It has not ended: its caller may continue it. */
  #paused: Run | undefined;
  #last: string | undefined;
  #failure: SDKError | undefined;

  /** @param run The run at its creation, or later. */
  static create(
    run: Run,
    sink: EventSink,
    options: EventOptions,
    settings: ResponseSettings,
  ): ResponseEvents {
    const output = new EventOutput(sink, options);
    const list = new OutputList(output);
    const tools = new McpToolEvents(run.id, output, list, settings.approved);
    const context = { output, list, tools, items: new ItemWriter(settings) };
    return new ResponseEvents(run.id, new ResponseWriter(run, settings), context);
  }

  private constructor(runId: string, response: ResponseWriter, context: StepContext) {
    this.#runId = runId;
    this.#response = response;
    this.#context = context;
    this.#output = context.output;
    this.#list = context.list;
    this.#tools = context.tools;
  }

  /** Returns a copy that continues from here, with another sink. */
  copy(sink: EventSink, options: EventOptions): ResponseEvents {
    const output = new EventOutput(sink, options, this.#output.next);
    const list = this.#list.copy(output);
    const tools = this.#tools.copy(output, list);
    const context = { output, list, tools, items: this.#context.items };
    const copy = new ResponseEvents(this.#runId, this.#response, context);
    copy.#warnings.push(...this.#warnings);
    copy.#step = this.#step?.copy(context);
    copy.#stepBegin = this.#stepBegin;
    copy.#repeated = new Set(this.#repeated);
    copy.#model = this.#model;
    copy.#metadata = this.#metadata;
    copy.#kept = this.#kept;
    copy.#hasStarted = this.#hasStarted;
    copy.#isInProgress = this.#isInProgress;
    copy.#paused = this.#paused;
    copy.#last = this.#last;
    copy.#failure = this.#failure;
    return copy;
  }

  /** Number of the next event. */
  get nextNumber(): number {
    return this.#output.next;
  }

  /** UTF-16 units of a copy, approximately. */
  get units(): number {
    return this.#list.units + (this.#step?.units ?? 0) + this.#response.units;
  }

  /** The response object of the last event, as JSON text. Undefined before that. */
  get last(): string | undefined {
    return this.#last;
  }

  /** Whether the run has ended, or waits for its caller, so that no further events are expected. */
  get isComplete(): boolean {
    return this.#last !== undefined || this.#paused !== undefined;
  }

  /** The reason why the run failed. Undefined if it did not fail. */
  get failure(): SDKError | undefined {
    return this.#failure;
  }

  /** Returns the current response object, as JSON text. @param run The run, as of the latest event. */
  toObject(run: Run): string {
    return this.#last ?? this.#write(run, this.#list.length);
  }

  /** Processes events of the run, in order. */
  push(events: readonly RunEvent[]): void {
    for (const event of events) this.#pushEvent(event);
  }

  /** Processes events of a model call. @param step Number of the call, from 1. */
  pushModel(events: readonly StreamEvent[], step: number): void {
    for (const event of events) this.#pushModel(event, step);
  }

  /**
   * Called when there are no more events.
   * @throws StreamError if the run has not ended, because the sent part must not look complete.
   */
  end(): void {
    if (this.#paused !== undefined) this.#finish(this.#paused);
    if (this.#last === undefined) throw new StreamError("the events of the run ended before the run did");
  }

  /** Writes the event of a failure that ends the stream but not the run. A reader may resume after it. */
  interrupt(error: SDKError): void {
    this.#output.emitUnnumbered("error", errorMembers(error));
  }

  #pushEvent({ event, step }: RunEvent): void {
    switch (event.case) {
      case "run":
        return this.#changeRun(event.value);
      case "modelEvent":
        return this.#pushModel(event.value, step);
      case "stepFinish":
        return this.#finishStep(event.value);
      case "mcpToolList":
        return this.#tools.list(event.value);
      case "mcpToolStart":
        return this.#tools.start(event.value);
      case "mcpToolFinish":
        return this.#tools.finish(event.value);
      case "stepRestart":
        return this.#restart(event.value, step);
      default:
        return undefined;
    }
  }

  #changeRun(run: Run): void {
    if (!this.#hasStarted) this.#start(run);
    this.#tools.register(run.mcpTools);
    this.#paused = undefined;
    switch (run.status) {
      case RunStatus.QUEUED:
        return undefined;
      case RunStatus.IN_PROGRESS:
        return this.#progress(run);
      case RunStatus.REQUIRES_ACTION:
        this.#tools.requestApprovals(run.requiredApprovals);
        this.#paused = run;
        return undefined;
      default:
        return this.#finish(run);
    }
  }

  #start(run: Run): void {
    this.#hasStarted = true;
    this.#emitResponse("response.created", run);
    if (run.status === RunStatus.QUEUED) this.#emitResponse("response.queued", run);
  }

  /** Writes the events of a run in progress. The first call also writes the events of its start. */
  #progress(run: Run): void {
    if (!this.#isInProgress) this.#emitResponse("response.in_progress", run);
    this.#isInProgress = true;
  }

  #beginStep(step: number): void {
    const messageId = answerMessageId(this.#runId, step, this.#repeated.has(step));
    this.#step = new StepEvents(this.#context, messageId);
    this.#stepBegin = this.#list.length;
  }

  #pushModel(event: StreamEvent, step: number): void {
    if (event.event.case === "streamStart") this.#beginStep(step);
    this.#step?.push(event);
  }

  /** Ends the items of an answer that was interrupted. The response object contains none of them. */
  #restart({ continuesAnswer, abandonedAttempt }: StepRestart, step: number): void {
    this.#tools.interrupt();
    if (continuesAnswer || abandonedAttempt === undefined) return;
    this.#repeated.add(step);
    if (this.#step === undefined) return;
    this.#step.abandon();
    this.#tools.abandon();
    this.#list.drop(this.#stepBegin);
    this.#step = undefined;
  }

  #finishStep({ result }: StepFinish): void {
    const { response } = result ?? {};
    this.#model = response?.model ?? "";
    this.#metadata = response && readMetadata(response);
    this.#warnings.push(...(response?.warnings ?? []));
    this.#kept = this.#list.length;
    this.#step = undefined;
  }

  #finish(run: Run): void {
    this.#paused = undefined;
    const hasFailed = run.status === RunStatus.FAILED;
    const isWhole = !hasFailed && run.status !== RunStatus.CANCELLED;
    if (isWhole) this.#tools.endUnexecuted();
    if (hasFailed) {
      this.#failure =
        run.error === undefined ? new InternalError("the run failed") : errorFromProto(run.error);
      const error = withFieldPaths(this.#failure, (field) => this.#response.toRequestPath(field));
      this.#output.emit("error", errorMembers(error));
    }
    const items = isWhole ? this.#list.length : this.#kept;
    this.#last = this.#write(run, items);
    this.#output.emit(LAST_EVENTS.get(run.status) ?? "response.incomplete", `"response":${this.#last}`);
  }

  #emitResponse(type: string, run: Run): void {
    this.#output.emit(type, `"response":${this.#write(run, this.#list.length)}`);
  }

  #write(run: Run, items: number): string {
    const output = this.#list.before(items);
    return this.#response.write(run, {
      model: this.#model,
      items: output,
      warnings: this.#warnings,
      metadata: this.#metadata,
    });
  }
}

/**
 * Returns the members of an `error` event as in OpenAI's documentation, and once more within `error`. OpenAI's API
 * sends the second form, the only one that the SDK for Python reads as a failure.
 */
function errorMembers(error: SDKError): string {
  const nested = toErrorObject(error);
  const { code, message, param } = nested;
  return JSON.stringify({ code, message, param, error: nested }).slice(1, -1);
}

/** Returns the event of a failure that ends a relayed stream, as text. Another server numbers such a stream. */
export function writeFailure(error: SDKError): string {
  return `event: error\ndata: {"type":"error",${errorMembers(error)}}\n\n`;
}
