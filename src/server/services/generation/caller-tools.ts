import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ExecuteToolSchema,
  RejectedOutput_Reason as Reason,
  type ToolOutput,
} from "../../../gen/outrigger/v1/generation_service_pb.ts";
import { type ToolCall, ToolCallSchema } from "../../../gen/outrigger/v1/message_pb.ts";
import { failedResult } from "../../../generation/failed-result.ts";
import type { StepContext, ToolExecutor, ToolOutcome } from "../../../generation/step-tools.ts";
import { LONGEST_TIMER_MS } from "../../../kit/http/timeouts.ts";
import type { ToolArguments } from "./tool-arguments.ts";

/** How the tools of a caller are executed. */
export interface CallerToolsOptions {
  /** Names of the tools that the caller executes. */
  readonly active: ReadonlySet<string>;
  readonly arguments: ToolArguments;
  /** Whether calls with invalid arguments are sent to the caller for repair. */
  readonly repairCalls: boolean;
  /** Longest wait for an output, in milliseconds. 0: none. */
  readonly perToolMs: number;
  /** Sends an `execute`. */
  readonly announce: (execute: MessageInitShape<typeof ExecuteToolSchema>, step: number) => void;
}

/** A call that was announced and has no result yet. */
interface PendingCall {
  readonly call: ToolCall;
  readonly step: number;
  /** What the caller was asked for last. */
  wants: "execution" | "repair";
  repairedCall: ToolCall | undefined;
  timer: NodeJS.Timeout | undefined;
  readonly settle: (outcome: ToolOutcome) => void;
}

/** Lets the caller of an RPC execute tools: announces the calls of a step, and takes the outputs in any order. */
export class CallerTools implements ToolExecutor {
  readonly #options: CallerToolsOptions;
  readonly #pending = new Map<string, PendingCall>();
  /** Why a further output is not used, by the ids of all calls that have their result. */
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

  /** Takes an output. Returns why it is not used; undefined where it is. */
  take({ toolCallId, output }: ToolOutput): Reason | undefined {
    const pending = this.#pending.get(toolCallId);
    if (pending === undefined) return this.#settled.get(toolCallId) ?? Reason.UNKNOWN_CALL;
    const { call, repairedCall, wants } = pending;
    switch (output.case) {
      case "result":
        if (wants === "repair") return Reason.WRONG_KIND;
        this.#settle(pending, { result: { ...output.value, toolCallId }, repairedCall });
        return undefined;
      case "repairedCall":
        if (wants === "execution") return Reason.WRONG_KIND;
        this.#repair(pending, output.value);
        return undefined;
      case "error":
        this.#fail(pending, output.value.message || "the tool failed");
        return undefined;
      case "refusal":
        this.#fail(pending, output.value.reason || "the call was refused");
        return undefined;
      default:
        throw new TypeError(`an output of the call ${call.id} that was not checked`);
    }
  }

  /** The caller has closed its side: calls get error results from now on. */
  close(): void {
    this.#isClosed = true;
    for (const pending of this.#pending.values()) this.#fail(pending, CALLER_CLOSED);
  }

  /** The loop has ended: no output is waited for any more. */
  stop(): void {
    for (const { timer } of this.#pending.values()) clearTimeout(timer);
    this.#pending.clear();
  }

  #begin(call: ToolCall, step: number): Promise<ToolOutcome> | ToolOutcome {
    const { repairCalls, arguments: rules } = this.#options;
    // Ids are unique in a conversation; of two calls with one id only one could be answered.
    if (this.#pending.has(call.id) || this.#settled.has(call.id))
      return { result: failedResult(call, "another call has the same id") };
    const problem = rules.problemOf(call);
    if (problem !== undefined && !repairCalls) return { result: failedResult(call, problem) };
    if (this.#isClosed) return { result: failedResult(call, CALLER_CLOSED) };
    return new Promise((settle) => {
      const wants = problem === undefined ? "execution" : "repair";
      const pending: PendingCall = { call, step, wants, repairedCall: undefined, timer: undefined, settle };
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

  #repair(pending: PendingCall, { id, name, input }: ToolCall): void {
    const { call } = pending;
    const isOther = (id !== "" && id !== call.id) || (name !== "" && name !== call.name);
    if (isOther) return this.#fail(pending, "the call was repaired to a call with another id or name");
    const repaired = create(ToolCallSchema, { id: call.id, name: call.name, input });
    const problem = this.#options.arguments.problemOf(repaired);
    if (problem !== undefined) return this.#fail(pending, problem);
    pending.repairedCall = repaired;
    pending.wants = "execution";
    this.#announce(pending, repaired);
  }

  #fail(pending: PendingCall, problem: string, reason?: Reason): void {
    const { call, repairedCall } = pending;
    this.#settle(pending, { result: failedResult(call, problem), repairedCall }, reason);
  }

  #settle(pending: PendingCall, outcome: ToolOutcome, reason: Reason = Reason.ALREADY_ANSWERED): void {
    const { id } = pending.call;
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    this.#settled.set(id, reason);
    pending.settle(outcome);
  }
}

const CALLER_CLOSED = "the tool was not executed: the program that executes tools has ended its side";
