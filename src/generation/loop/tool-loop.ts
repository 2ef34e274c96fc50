import { create } from "@bufbuild/protobuf";
import { responseWithoutContent } from "../../client/final-response.ts";
import { AbortError, ConfigurationError, SDKError, withEarlierSteps } from "../../core/errors.ts";
import { closeAtOnce } from "../../core/item-iterator.ts";
import { toolCallsOf } from "../../core/message.ts";
import { RepeatLimit } from "../../core/repeat-limit.ts";
import { type CompleteResponse, completeResponse, isPause } from "../../core/response.ts";
import { toolMessage } from "../../core/tools.ts";
import { addUsages } from "../../core/usage.ts";
import type { Attempt } from "../../gen/outrigger/v1/attempt_pb.ts";
import {
  type GenerateResult,
  GenerateResultSchema,
  type StepResult,
  StepResultSchema,
  GenerateResult_StopReason as StopReason,
} from "../../gen/outrigger/v1/generation_pb.ts";
import type { Message, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { FinalResponse, type Request } from "../../gen/outrigger/v1/request_pb.ts";
import {
  FinishReason_Reason,
  type Response,
  ResponseSchema,
  type Warning,
} from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { failureUnder, LinkedSignal, untilAborted } from "../../kit/call/linked-signal.ts";
import { warning } from "../../kit/call/loss-report.ts";
import { noteAttempts } from "../../middleware/attempts.ts";
import type { RetryPolicy } from "../../middleware/retry-policy.ts";
import { AttemptLog } from "./attempt-log.ts";
import { StepResult as StepResultView, toStepMessages } from "./generate-result.ts";
import { type GenerationLimits, isCostUnknown, limitField, limitReached } from "./loop-limits.ts";
import { ModelCalls, type ModelClient, type StepStream } from "./model-calls.ts";
import { getOpenCalls, withProgress } from "./open-calls.ts";
import { type StepContext, type StepOutcomes, StepTools, type ToolExecutor } from "./step-tools.ts";

/** Time limits of a loop in milliseconds. 0 or absent: none. */
export interface LoopTimeouts {
  /** Time limit of the whole loop: calls, tools and waits between retries. Exceeding it is a RequestTimeoutError. */
  readonly totalMs?: number | undefined;
  /** Time limit of each attempt of a call of the model. Exceeding it is a RequestTimeoutError. */
  readonly perStepMs?: number | undefined;
}

/** Decides after each step whose tools were executed whether the generation ends. */
export type LoopStopCondition = (steps: readonly StepResult[]) => boolean | Promise<boolean>;

/** Options of a tool loop. */
export interface LoopOptions {
  readonly client: ModelClient;
  /** The request to the model, with the whole conversation before the loop. */
  readonly request: Request;
  readonly executor: ToolExecutor;
  /** Whether the model's answers are streamed. Otherwise there are no `events` items. */
  readonly isStreamed: boolean;
  /** Maximum number of rounds in which tools are executed and their results sent to the model. */
  readonly maxToolRounds: number;
  readonly stopWhen?: LoopStopCondition | undefined;
  readonly retry?: Partial<RetryPolicy> | undefined;
  readonly timeouts?: LoopTimeouts | undefined;
  readonly limits?: GenerationLimits | undefined;
  /** Ends the loop at once, in any phase. */
  readonly signal?: AbortSignal | undefined;
  /** The caller's deadline, see CallOptions. It is passed on; only the signal ends the loop. */
  readonly deadline?: number | undefined;
  /** Limits the retries and fallbacks of several loops together. Default: a limit for this loop. */
  readonly repeats?: RepeatLimit | undefined;
  /**
   * Steps of the continued loop, each with the results of all its calls. They come after the messages of the request,
   * count for all limits, and are part of the result. `stopWhen` is asked about them first.
   */
  readonly previousSteps?: readonly StepResult[] | undefined;
  /**
   * The step after the previous ones, if the model has answered it and its calls are not concluded yet. Its results are
   * kept.
   */
  readonly answeredStep?: StepResult | undefined;
  /** Attempts of the previous steps. */
  readonly previousAttempts?: readonly Attempt[] | undefined;
  /** Takes the attempts instead of the loop's log; `previousAttempts` are not read then. */
  readonly log?: AttemptLog | undefined;
  /** Called with the step when the model has answered. The loop waits for the promise before it executes the tools. */
  readonly onAnswer?: ((step: number, result: StepResult) => Promise<void>) | undefined;
}

/** The items of a loop: the model's events in their original batches, and each step when it is complete. */
export type LoopItem =
  | { readonly case: "events"; readonly step: number; readonly events: readonly StreamEvent[] }
  | { readonly case: "stepFinish"; readonly step: number; readonly result: StepResult };

/** A client that can run loops elsewhere, like a sidecar's client. */
interface LoopClient extends ModelClient {
  /** Returns undefined if the client cannot run this loop. */
  runToolLoop(options: LoopOptions): AsyncGenerator<LoopItem, GenerateResult> | undefined;
}

/** Lets the client run the loop if it can, as a sidecar's client does. Otherwise runs it in this process. */
export function openToolLoop(options: LoopOptions): AsyncGenerator<LoopItem, GenerateResult> {
  const { client } = options;
  return (runsLoops(client) ? client.runToolLoop(options) : undefined) ?? runToolLoop(options);
}

function runsLoops(client: ModelClient): client is LoopClient {
  return "runToolLoop" in client;
}

/**
 * Calls the model, executes the tools that it calls, sends their results, and repeats until the model answers or a
 * limit is reached. Begins at the first read. Leaving the iteration cancels everything that is in progress.
 *
 * Tools are not executed if their results could not be sent, or if the answer was cut: such calls are in the result. A
 * failure after the first answer has the usage of all answers.
 */
export function runToolLoop(options: LoopOptions): AsyncGenerator<LoopItem, GenerateResult> {
  const loop = new ToolLoop(options);
  return closeAtOnce(loop.run(), loop.cancel);
}

/** Maximum number of consecutive times that a paused turn is resumed. */
const MAX_PAUSES = 10;

class ToolLoop {
  readonly #options: LoopOptions;
  /** Created for the first answer with calls. */
  #tools: StepTools | undefined;
  readonly #log: AttemptLog;
  readonly #steps: StepResult[];
  /** Grows with each step. The requests of all steps after the first share the list. */
  readonly #messages: Message[];
  #usage: Usage | undefined;
  /** Whether an answer had no usage, so that the sum of the usage lacks its price. */
  #lacksUsage = false;
  #toolCalls = 0;
  /** Steps whose tools were executed. */
  #rounds = 0;
  /** Number of consecutive times that the provider paused its turn. */
  #pauses = 0;
  #hasAnswer = false;
  /** The signal of the loop while it runs. */
  #scope: LinkedSignal | undefined;

  constructor(options: LoopOptions) {
    const { request, previousSteps = [], previousAttempts, log } = options;
    this.#options = options;
    this.#log = log ?? new AttemptLog(previousAttempts);
    this.#steps = [...previousSteps];
    this.#messages = [...request.messages, ...previousSteps.flatMap(toStepMessages)];
    this.#rounds = previousSteps.length;
    for (const { response, toolResults } of previousSteps) this.#count(response, toolResults.length);
  }

  readonly cancel = (): void => {
    this.#scope?.abort(new AbortError("the generation was cancelled before its end"));
  };

  async *run(): AsyncGenerator<LoopItem, GenerateResult> {
    const { request, isStreamed, answeredStep, signal: caller, timeouts = {} } = this.#options;
    const scope = new LinkedSignal(caller, { ms: timeouts.totalMs ?? 0, what: "the generation" });
    this.#scope = scope;
    const calls = this.#callsUnder(scope.signal, timeouts);
    let stream: StepStream | undefined;
    try {
      if (answeredStep?.response !== undefined) {
        const { result, stopReason } = await this.#conclude(answeredStep, scope.signal);
        yield { case: "stepFinish", step: this.#steps.length, result };
        if (stopReason !== undefined) return this.#result(stopReason);
      }
      while (!(await this.#isStopWanted(scope.signal))) {
        const step = this.#steps.length + 1;
        // The first request is the caller's object, which may have been validated already.
        const isFirst = this.#messages.length === request.messages.length;
        const stepRequest = isFirst ? request : { ...request, messages: this.#messages };
        let response: CompleteResponse;
        if (isStreamed) {
          stream = await calls.open(stepRequest, step);
          for (let events = await stream.next(); events !== undefined; events = await stream.next())
            yield { case: "events", step, events };
          response = stream.response;
        } else response = await calls.complete(stepRequest, step);
        const answered = create(StepResultSchema, { response });
        const { result, stopReason } = await this.#conclude(answered, scope.signal);
        yield { case: "stepFinish", step, result };
        if (stopReason !== undefined) return this.#result(stopReason);
      }
      return this.#result(StopReason.STOP_WHEN);
    } catch (thrown) {
      const failure = this.#toFailure(failureUnder(scope.signal, thrown));
      // Aborts tools that are still running.
      scope.abort(failure);
      throw failure;
    } finally {
      scope.release();
      this.#scope = undefined;
      await stream?.close();
    }
  }

  #callsUnder(signal: AbortSignal, { totalMs = 0, perStepMs = 0 }: LoopTimeouts): ModelCalls {
    const { request, maxToolRounds, client, retry = {}, repeats = new RepeatLimit() } = this.#options;
    const { deadline: callersDeadline = Infinity } = this.#options;
    const isLoop = request.tools.length > 0 && maxToolRounds > 0;
    const deadline = Math.min(callersDeadline, totalMs > 0 ? performance.now() + totalMs : Infinity);
    const limits = { maxMs: perStepMs, signal, deadline, repeats };
    return new ModelCalls({ client, isLoop, retry, ...limits, log: this.#log });
  }

  async #isStopWanted(signal: AbortSignal): Promise<boolean> {
    const { stopWhen } = this.#options;
    if (stopWhen === undefined || this.#steps.length === 0) return false;
    return untilAborted(Promise.resolve(stopWhen(this.#steps)), signal);
  }

  /** Takes the model's answer: executes its calls without results if that is allowed, and adds the step. */
  async #conclude(answered: StepResult, signal: AbortSignal): Promise<Conclusion> {
    const step = this.#steps.length + 1;
    const response = completeResponse(answered.response ?? create(ResponseSchema));
    this.#messages.push(response.message);
    this.#pauses = isPause(response.finishReason) ? this.#pauses + 1 : 0;
    const isCalling = response.finishReason.reason === FinishReason_Reason.TOOL_CALLS;
    const calls = isCalling ? toolCallsOf(response) : [];
    this.#count(response, calls.length);
    const reason = this.#findStopReason(calls, step);
    if (reason === undefined) this.#checkCost(response);
    const execution =
      reason === undefined
        ? await this.#execute(answered, { step, messages: this.#messages, signal })
        : undefined;
    const warned = { ...answered, response: this.#withWarnings(response, calls, reason) };
    const result = execution === undefined ? warned : withOutcomes(warned, execution);
    this.#steps.push(result);
    if (result.toolResults.length > 0) this.#rounds += 1;
    this.#messages.push(...result.toolResults.map(toolMessage));
    const stopReason = execution?.hasPassive === true ? StopReason.TOOL_CALLS : reason;
    return { result, stopReason };
  }

  async #execute(answered: StepResult, context: StepContext): Promise<StepOutcomes> {
    const { executor, onAnswer, request } = this.#options;
    const calls = getOpenCalls(answered);
    if (calls.some(({ name }) => executor.isActive(name))) await onAnswer?.(context.step, answered);
    this.#tools ??= new StepTools(request.tools, executor);
    return this.#tools.execute(calls, context);
  }

  /**
   * Returns why the loop ends without executing the calls of a step, for instance because there are none. Undefined if
   * they are executed.
   */
  #findStopReason(calls: readonly ToolCall[], step: number): StopReason | undefined {
    const { maxToolRounds, limits = {} } = this.#options;
    const isPaused = this.#pauses > 0 && this.#pauses <= MAX_PAUSES;
    if (calls.length === 0 && !isPaused) return StopReason.COMPLETED;
    if (calls.length > 0 && maxToolRounds === 0) return StopReason.TOOL_CALLS;
    if (calls.length > 0 && this.#rounds >= maxToolRounds) return StopReason.MAX_TOOL_ROUNDS;
    return limitReached(limits, { steps: step, usage: this.#usage, toolCalls: this.#toolCalls });
  }

  /** Throws if the cost of the generation is unknown, and it must not continue without a limit. */
  #checkCost({ provider, model }: Response): void {
    const { limits = {} } = this.#options;
    if (limits.allowUnknownPrices === true || !isCostUnknown(limits, this.#totalUsage())) return;
    const found = `the price of ${JSON.stringify(model)} of ${JSON.stringify(provider)} is unknown`;
    throw new ConfigurationError(
      `a cost limit applies, but ${found}; add the price to the catalog's models, or allow unknown prices in the limits`,
    );
  }

  /** Returns the answer with warnings about the limits that the caller should know. */
  #withWarnings(
    response: CompleteResponse,
    calls: readonly ToolCall[],
    stopReason: StopReason | undefined,
  ): CompleteResponse {
    const warnings: Warning[] = [];
    if (isCostUnknown(this.#options.limits ?? {}, response.usage))
      warnings.push(
        warning(
          "limits.max_cost_nano_usd",
          "unknown_price",
          "the price of this step is unknown; it does not count for the limit",
        ),
      );
    if (stopReason !== undefined && this.#pauses > 0)
      warnings.push(
        warning("", "turn_paused", "the provider paused its turn, so that the answer is not complete"),
      );
    const field = stopReason === undefined || calls.length === 0 ? undefined : limitField(stopReason);
    if (field !== undefined) {
      const names = `${calls.length} tool ${calls.length === 1 ? "call was" : "calls were"}`;
      warnings.push(
        warning(
          field,
          "tool_rounds_exhausted",
          `the limit was reached while the model called tools; ${names} not executed`,
        ),
      );
    }
    return warnings.length === 0 ? response : { ...response, warnings: [...response.warnings, ...warnings] };
  }

  #count(response: Response | undefined, toolCalls: number): void {
    this.#hasAnswer = true;
    const usage = response?.usage;
    this.#lacksUsage ||= usage === undefined;
    this.#usage = this.#usage === undefined ? usage : addUsages(this.#usage, usage);
    this.#toolCalls += toolCalls;
  }

  #result(stopReason: StopReason): GenerateResult {
    const last = this.#steps.at(-1)?.response;
    const isWhole = this.#options.request.finalResponse !== FinalResponse.WITHOUT_CONTENT;
    const response = last === undefined || isWhole ? last : responseWithoutContent(last);
    return create(GenerateResultSchema, {
      steps: this.#steps,
      attempts: [...this.#log.attempts],
      stopReason,
      ...(response === undefined ? {} : { response }),
      ...(this.#usage === undefined ? {} : { totalUsage: this.#totalUsage() }),
    });
  }

  #totalUsage(): Usage | undefined {
    const usage = this.#usage;
    if (usage?.costNanoUsd === undefined || !this.#lacksUsage) return usage;
    return { ...usage, costIncomplete: true };
  }

  /** Returns the failure of the loop: after the first answer, with the usage of all answers. */
  #toFailure(thrown: unknown): unknown {
    if (!(thrown instanceof SDKError)) return thrown;
    const steps = this.#steps.map((step) => new StepResultView(step));
    const error = this.#hasAnswer ? withEarlierSteps(thrown, this.#totalUsage(), steps) : thrown;
    noteAttempts(error, this.#log.attempts);
    return error;
  }
}

function withOutcomes(step: StepResult, { outcomes }: StepOutcomes): StepResult {
  return withProgress(step, {
    results: outcomes.map((outcome) => outcome.result),
    repairedCalls: outcomes.flatMap(({ repairedCall }) => repairedCall ?? []),
  });
}

/** The end of a step. */
interface Conclusion {
  readonly result: StepResult;
  /** Why the loop ends after this step. Undefined if it continues. */
  readonly stopReason: StopReason | undefined;
}
