/** The answer of a single call -> a response: whole, or as a stream. */
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { errorFromProto, type SDKError } from "../../core/errors.ts";
import { toolCallsOf } from "../../core/message.ts";
import {
  type GenerateResult,
  GenerateResultSchema,
  StepFinishSchema,
  StepResultSchema,
  GenerateResult_StopReason as StopReason,
} from "../../gen/outrigger/v1/generation_pb.ts";
import { FinishReason_Reason, type Response } from "../../gen/outrigger/v1/response_pb.ts";
import { type Run, RunSchema, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { EventWriter } from "../../http/event-body.ts";
import { answerMessageId, createId } from "../../runs/messages.ts";
import { createRunEvent, createStatusEvent } from "../../runs/run-log.ts";
import { runAfter, runAfterFailure } from "../../runs/status.ts";
import type { AnswerFormat } from "../answers/answer-request.ts";
import type { ModelTarget } from "../models/model-directory.ts";
import { SseSink } from "./event-output.ts";
import type { ResponseSettings } from "./settings.ts";
import { DONE_LINE } from "./stream-body.ts";
import { ResponseEvents, writeFailure } from "./write-events.ts";
import { writeRun } from "./write-response.ts";

/** The facts about a response that are known before its answer. */
export interface ResponseFacts {
  readonly settings: ResponseSettings;
  readonly target: Pick<ModelTarget, "model" | "provider">;
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether deltas are padded. */
  readonly pads: boolean;
}

/** The only step of a run that stands for a single call. */
const STEP = 1;

/** Creates a run that is not stored, and has begun. */
export function createUnstoredRun({ target, metadata }: Pick<ResponseFacts, "target" | "metadata">): Run {
  const now = timestampNow();
  const { model, provider } = target;
  const status = RunStatus.IN_PROGRESS;
  const times = { createdAt: now, startedAt: now };
  return create(RunSchema, { id: createId("run"), status, ...times, model, provider, metadata });
}

/** Writes the answer of one call. */
export class SingleCallFormat implements AnswerFormat {
  readonly hasWarnings = true;
  readonly #facts: ResponseFacts;
  #run: Run | undefined;

  constructor(facts: ResponseFacts) {
    this.#facts = facts;
  }

  /** The response, before its answer. Created when it is needed: a relayed answer has its provider's id. */
  get #begun(): Run {
    this.#run ??= createUnstoredRun(this.#facts);
    return this.#run;
  }

  getAnswerId(): string {
    return answerMessageId(this.#begun.id, STEP, false);
  }

  /** @throws SDKError if the answer ended with an error. */
  writeAnswer(response: Response): string {
    const result = toResult(response);
    const run = runAfter(this.#begun, result, needsApproval);
    if (run.error !== undefined) throw errorFromProto(run.error);
    return writeRun({ ...run, steps: result.steps }, this.#facts.settings);
  }

  createWriter(): EventWriter {
    return new SingleCallWriter(() => this.#begun, this.#facts);
  }
}

/** Writes the events of one call. */
class SingleCallWriter implements EventWriter {
  readonly #begin: () => Run;
  readonly #facts: ResponseFacts;
  readonly #sink = new SseSink();
  #events: ResponseEvents | undefined;
  #sequence = 0;

  constructor(begin: () => Run, facts: ResponseFacts) {
    this.#begin = begin;
    this.#facts = facts;
  }

  write(batch: readonly StreamEvent[]): string {
    const events = this.#open();
    events.pushModel(batch, STEP);
    const last = batch.at(-1)?.event;
    if (last?.case === "finish" && last.value.response !== undefined) this.#finish(last.value.response);
    return this.#sink.takeText();
  }

  /** A relayed stream ends with the error alone. */
  fail(error: SDKError): string {
    if (this.#events === undefined) return writeFailure(error);
    this.#end(runAfterFailure(this.#begin(), error));
    return this.#sink.takeText();
  }

  #open(): ResponseEvents {
    if (this.#events !== undefined) return this.#events;
    const { settings, pads } = this.#facts;
    const run = this.#begin();
    this.#events = ResponseEvents.create(run, this.#sink, { startingAfter: -1, pads }, settings);
    this.#events.push([createStatusEvent(this.#nextSequence(), run)]);
    return this.#events;
  }

  #finish(response: Response): void {
    const result = toResult(response);
    const run = runAfter(this.#begin(), result, needsApproval);
    const [step] = result.steps;
    const value = create(StepFinishSchema, step === undefined ? {} : { result: step });
    this.#open().push([createRunEvent(this.#nextSequence(), STEP, { case: "stepFinish", value })]);
    // The caller of `write` then calls `fail`.
    if (run.error !== undefined) throw errorFromProto(run.error);
    this.#end(run);
  }

  #end(run: Run): void {
    const events = this.#open();
    events.push([createStatusEvent(this.#nextSequence(), run)]);
    events.end();
    this.#sink.writeLine(DONE_LINE);
  }

  #nextSequence(): number {
    this.#sequence += 1;
    return this.#sequence - 1;
  }
}

/** No call needs an approval, since the caller executes all of them. */
function needsApproval(): boolean {
  return false;
}

/** Returns the result of a generation with one step. */
function toResult(response: Response): GenerateResult {
  const { finishReason, usage } = response;
  const isCalling =
    finishReason?.reason === FinishReason_Reason.TOOL_CALLS && toolCallsOf(response).length > 0;
  return create(GenerateResultSchema, {
    steps: [create(StepResultSchema, { response })],
    stopReason: isCalling ? StopReason.TOOL_CALLS : StopReason.COMPLETED,
    ...(usage && { totalUsage: usage }),
  });
}
