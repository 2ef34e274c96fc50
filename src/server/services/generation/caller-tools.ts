import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ExecuteToolSchema,
  RejectedOutput_Reason as Reason,
  type ToolOutput,
} from "../../../gen/outrigger/v1/generation_service_pb.ts";
import type { ToolCall, ToolResult } from "../../../gen/outrigger/v1/message_pb.ts";
import { failedResult } from "../../../generation/loop/failed-result.ts";
import type { StepContext, ToolExecutor, ToolOutcome } from "../../../generation/loop/step-tools.ts";
import { LONGEST_TIMER_MS } from "../../../kit/http/timeouts.ts";
import { isWrongKind, toEffect, type Wanted } from "./tool-outputs.ts";
import type { ToolsStart } from "./tools-start.ts";

/** Options for the tools that a caller executes. */
export interface CallerToolsOptions
  extends Pick<ToolsStart, "active" | "toolArguments" | "repairCalls" | "perToolMs"> {
  /** Sends an `execute`. */
  readonly announce: (execute: MessageInitShape<typeof ExecuteToolSchema>, step: number) => void;
  /** Called when a tool is to be executed. Returns the function to call with its result. */
  readonly onExecution: (call: ToolCall, step: number) => (hasFailed: boolean) => void;
}

/** A call that was announced and has no result yet. */
interface PendingCall {
  readonly call: ToolCall;
  readonly step: number;
  /** The most recent request to the caller. */
  wanted: Wanted;
  repairedCall: ToolCall | undefined;
  timer: NodeJS.Timeout | undefined;
  readonly onResult: (hasFailed: boolean) => void;
  readonly settle: (outcome: ToolOutcome) => void;
}

/** Lets the caller of an RPC execute tools: announces the calls of a step, and takes the outputs in any order. */
export class CallerTools implements ToolExecutor {
  readonly #options: CallerToolsOptions;
  readonly #pending = new Map<string, PendingCall>();
  /** The reasons to reject further outputs, by the ids of all calls that have their result. */
  readonly #settled = new Map<string, Reason>();
  #isClosed = false;

  constructor(options: CallerToolsOptions) {
    this.#options = options;
  }

  isActive(toolName: string): boolean {
    return this.#options.active.has(toolName);
  }

  execute(calls: readonly ToolCall[], { step }: StepContext): Promise<readonly ToolOutcome[]> {
    return Promise.all(calls.map((call) => this.#begin(call, step)));
  }

  /** Takes an output. Returns the reason if the output is rejected, otherwise undefined. */
  take(output: ToolOutput): Reason | undefined {
    const { toolCallId } = output;
    const pending = this.#pending.get(toolCallId);
    if (pending === undefined) return this.#settled.get(toolCallId) ?? Reason.UNKNOWN_CALL;
    if (isWrongKind(output, pending.wanted)) return Reason.WRONG_KIND;
    const effect = toEffect(output, pending.call, this.#options.toolArguments);
    if (effect.case === "result") this.#settle(pending, effect.result);
    else this.#executeRepaired(pending, effect.call);
    return undefined;
  }

  /** The caller has closed its side: calls get error results from now on. */
  close(): void {
    this.#isClosed = true;
    for (const pending of this.#pending.values()) this.#fail(pending, CALLER_CLOSED);
  }

  /** The loop has ended: no further output is awaited. */
  stop(): void {
    for (const { timer } of this.#pending.values()) clearTimeout(timer);
    this.#pending.clear();
  }

  #begin(call: ToolCall, step: number): Promise<ToolOutcome> | ToolOutcome {
    const { repairCalls, toolArguments } = this.#options;
    // Ids are unique in a conversation; of two calls with one id only one could be answered.
    if (this.#pending.has(call.id) || this.#settled.has(call.id))
      return { result: failedResult(call, "another call has the same id") };
    const problem = toolArguments.toProblem(call);
    if (problem !== undefined && !repairCalls) return { result: failedResult(call, problem) };
    if (this.#isClosed) return { result: failedResult(call, CALLER_CLOSED) };
    return new Promise((settle) => {
      const wanted = problem === undefined ? "execution" : "repair";
      const onResult = this.#options.onExecution(call, step);
      const state = { wanted, repairedCall: undefined, timer: undefined } as const;
      const pending: PendingCall = { ...state, call, step, onResult, settle };
      this.#pending.set(call.id, pending);
      this.#announce(pending, call, problem);
    });
  }

  #announce(pending: PendingCall, toolCall: ToolCall, problem = ""): void {
    const { perToolMs, announce } = this.#options;
    clearTimeout(pending.timer);
    if (perToolMs > 0) pending.timer = this.#timer(pending, perToolMs);
    const timeout = perToolMs > 0 ? { timeout: durationFromMs(perToolMs) } : {};
    announce({ toolCall, problem, ...timeout }, pending.step);
  }

  #timer(pending: PendingCall, ms: number): NodeJS.Timeout {
    const expire = () => this.#fail(pending, `the tool did not answer within ${ms} ms`, Reason.TOO_LATE);
    return setTimeout(expire, Math.min(ms, LONGEST_TIMER_MS));
  }

  #executeRepaired(pending: PendingCall, call: ToolCall): void {
    pending.repairedCall = call;
    pending.wanted = "execution";
    this.#announce(pending, call);
  }

  #fail(pending: PendingCall, problem: string, reason?: Reason): void {
    this.#settle(pending, failedResult(pending.call, problem), reason);
  }

  #settle(pending: PendingCall, result: ToolResult, reason: Reason = Reason.ALREADY_ANSWERED): void {
    const { call, repairedCall, timer, settle, onResult } = pending;
    clearTimeout(timer);
    onResult(result.failed);
    this.#pending.delete(call.id);
    this.#settled.set(call.id, reason);
    settle({ result, repairedCall });
  }
}

const CALLER_CLOSED = "the tool was not executed: the caller no longer accepts tool calls";
