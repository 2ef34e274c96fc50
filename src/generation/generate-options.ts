import type { RequestInput, ToolInput } from "../client/request-input.ts";
import type { MessageInput } from "../core/message.ts";
import type { ActiveTool } from "../core/tool-input.ts";
import type { RetryPolicy } from "../middleware/retry-policy.ts";
import type { RepairToolCall } from "./local-executor.ts";
import type { StepResult, StopCondition } from "./loop/generate-result.ts";
import type { GenerationLimits } from "./loop/loop-limits.ts";
import type { ModelClient } from "./loop/model-calls.ts";
import type { LoopTimeouts } from "./loop/tool-loop.ts";

/** Time limits of a generation in milliseconds. 0 or absent: none. */
export interface GenerationTimeouts extends LoopTimeouts {
  /**
   * Time limit of each execution of a tool. A tool that exceeds it gets an error result, and the generation continues.
   */
  readonly perToolMs?: number | undefined;
}

/** Options of a generation: the fields of a request, and settings of the generation. */
export interface GenerateOptions extends Omit<RequestInput, "messages" | "tools"> {
  /** Text of one user message, instead of `messages`. */
  readonly prompt?: string | undefined;
  /** The conversation so far, oldest first, instead of `prompt`. */
  readonly messages?: readonly MessageInput[] | undefined;
  /** Text of a system message that is placed before the conversation. */
  readonly system?: string | undefined;
  /** Tools that the model may call. Tools with a function are executed; calls of the others are returned. */
  readonly tools?: readonly (ToolInput | ActiveTool)[] | undefined;
  /**
   * Maximum number of rounds in which tools are executed and their results sent to the model; the model is called at
   * most once more than that. Defaults to 1. With 0, no tool is executed.
   */
  readonly maxToolRounds?: number | undefined;
  /** Ends the generation early. Called after each step whose tools were executed, with all steps so far. */
  readonly stopWhen?: StopCondition | undefined;
  /**
   * Called after each step, when its tools were executed, and awaited before the next one: for instance to store the
   * step. An error that it throws ends the generation.
   */
  readonly onStepFinish?: ((step: StepResult) => void | Promise<void>) | undefined;
  /** Repairs calls whose arguments do not match the tool's schema. Without it, the model gets the problem. */
  readonly repairToolCall?: RepairToolCall | undefined;
  /**
   * Maximum number of retries of each call of the model, from 0 to 10. Defaults to 2; 0 disables retries. Takes
   * precedence over `retry`.
   */
  readonly maxRetries?: number | undefined;
  /** When and how often a call of the model is repeated. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** Called before each wait for a retry, like `retry.onRetry`. */
  readonly onRetry?: RetryPolicy["onRetry"];
  /** Time limit of the whole generation in milliseconds, or several limits. */
  readonly timeout?: number | GenerationTimeouts | undefined;
  /** Limits of the generation, over all steps. */
  readonly limits?: GenerationLimits | undefined;
  /** Cancels the generation at once, in any phase. */
  readonly signal?: AbortSignal | undefined;
  /** The client that calls the model. Default: the module's client, see `getDefaultClient`. */
  readonly client?: ModelClient | undefined;
}
