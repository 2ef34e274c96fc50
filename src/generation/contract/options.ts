import { checkDuration, Violations } from "../../client/violations.ts";
import { compact } from "../../core/compact.ts";
import { invalidField } from "../../core/errors.ts";
import { systemMessage, userMessage } from "../../core/message.ts";
import type {
  GenerationOptions,
  GenerationLimits as LimitFields,
  RetryPolicy as RetryFields,
  GenerationTimeouts as TimeoutFields,
} from "../../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { toMilliseconds } from "../../kit/http/timeouts.ts";
import { isRetryCount, MAX_RETRIES } from "../../middleware/retry-policy.ts";
import type { LoopOptions } from "../loop/tool-loop.ts";
import { compileStopCondition } from "./stop-condition/compile.ts";

/** The options of a generation: a caller's options in the form that the loop takes. */
export interface Generation
  extends Pick<LoopOptions, "request" | "maxToolRounds" | "stopWhen" | "retry" | "timeouts" | "limits"> {
  /** Longest wait for one tool of the caller in milliseconds. 0: no limit. Undefined: the default. */
  readonly perToolMs: number | undefined;
}

/** The sidecar's limits, which no caller can exceed. */
export interface GenerationBounds {
  /** Maximum number of model calls in one generation. */
  readonly maxSteps: number;
}

/** The rules by which the APIs that take options of a generation differ. */
export interface OptionRules {
  /** `max_tool_rounds` if it is unset. Default 1. */
  readonly toolRounds?: number | undefined;
  /** Whether there may be no messages, since the conversation comes from elsewhere. Default false. */
  readonly mayHaveNoMessages?: boolean | undefined;
}

/**
 * Reads the options of a generation. The model's request itself is checked by the client that sends it.
 * @param path Path of the options in the caller's message.
 * @throws InvalidRequestError with all invalid fields.
 */
export async function readOptions(
  options: GenerationOptions | undefined,
  path: string,
  { maxSteps }: GenerationBounds,
  { toolRounds = 1, mayHaveNoMessages }: OptionRules = {},
): Promise<Generation> {
  if (options?.request === undefined) {
    const field = options === undefined ? path : `${path}.request`;
    throw invalidField(field, "is missing, expected the object to generate");
  }
  const { request, maxToolRounds, stopWhen, retry, timeouts, limits } = options;
  checkOptions(options, request, path, mayHaveNoMessages);
  return {
    request: { ...request, messages: toMessages(options, request) },
    maxToolRounds: maxToolRounds ?? toolRounds,
    stopWhen: stopWhen === "" ? undefined : await compileStopCondition(stopWhen, `${path}.stop_when`),
    retry: retry === undefined ? {} : toRetryPolicy(retry),
    timeouts: timeouts === undefined ? {} : toLoopTimeouts(timeouts),
    limits: limits === undefined ? { maxSteps } : toLimits(limits, maxSteps),
    perToolMs: timeouts?.perTool && toMilliseconds(timeouts.perTool),
  };
}

function toMessages({ system, prompt }: GenerationOptions, { messages }: Request): Message[] {
  const before = system === "" ? [] : [systemMessage(system)];
  return prompt === "" ? [...before, ...messages] : [...before, userMessage(prompt)];
}

function checkOptions(
  { prompt, system, maxToolRounds, retry, timeouts, limits }: GenerationOptions,
  { messages }: Request,
  path: string,
  mayHaveNoMessages = false,
): void {
  const violations = new Violations();
  if (prompt !== "" && messages.length > 0)
    violations.add(`${path}.prompt`, `expected none, or no messages in ${path}.request`);
  if (prompt === "" && messages.length === 0 && !mayHaveNoMessages)
    violations.add(`${path}.prompt`, `is empty, and so is ${path}.request.messages; expected one of them`);
  if (!prompt.isWellFormed()) violations.add(`${path}.prompt`, "contains an unpaired surrogate");
  if (!system.isWellFormed()) violations.add(`${path}.system`, "contains an unpaired surrogate");
  checkNumber(maxToolRounds, 0, `${path}.max_tool_rounds`, violations);
  if (retry !== undefined) checkRetry(retry, `${path}.retry`, violations);
  if (timeouts !== undefined) checkTimeouts(timeouts, `${path}.timeouts`, violations);
  if (limits !== undefined) checkLimits(limits, `${path}.limits`, violations);
  violations.throwIfAny();
}

function checkRetry(retry: RetryFields, path: string, violations: Violations): void {
  const { maxRetries } = retry;
  if (maxRetries !== undefined && !isRetryCount(maxRetries))
    violations.add(`${path}.max_retries`, `expected a number from 0 to ${MAX_RETRIES}, found ${maxRetries}`);
  checkNumber(retry.backoffMultiplier, 0, `${path}.backoff_multiplier`, violations);
  checkDuration(retry.baseDelay, `${path}.base_delay`, violations);
  checkDuration(retry.maxDelay, `${path}.max_delay`, violations);
}

function checkTimeouts(timeouts: TimeoutFields, path: string, violations: Violations): void {
  checkDuration(timeouts.total, `${path}.total`, violations);
  checkDuration(timeouts.perStep, `${path}.per_step`, violations);
  checkDuration(timeouts.perTool, `${path}.per_tool`, violations);
}

function checkLimits(limits: LimitFields, path: string, violations: Violations): void {
  checkNumber(limits.maxSteps, 1, `${path}.max_steps`, violations);
  checkNumber(limits.maxTotalTokens, 0, `${path}.max_total_tokens`, violations);
  checkNumber(limits.maxCostNanoUsd, 0, `${path}.max_cost_nano_usd`, violations);
  checkNumber(limits.maxToolCalls, 0, `${path}.max_tool_calls`, violations);
}

function checkNumber(
  value: number | bigint | undefined,
  min: number,
  field: string,
  violations: Violations,
): void {
  if (value === undefined || (value >= min && value < Infinity)) return;
  violations.add(field, `expected a number from ${min}, found ${value}`);
}

function toLimits({ maxSteps, ...limits }: LimitFields, max: number): LoopOptions["limits"] {
  return compact({
    maxSteps: Math.min(maxSteps ?? max, max),
    maxTotalTokens: limits.maxTotalTokens,
    maxCostNanoUsd: limits.maxCostNanoUsd,
    maxToolCalls: limits.maxToolCalls,
    allowUnknownPrices: limits.allowUnknownPrices,
  });
}

function toLoopTimeouts({ total, perStep }: TimeoutFields): LoopOptions["timeouts"] {
  return compact({
    totalMs: total && toMilliseconds(total),
    perStepMs: perStep && toMilliseconds(perStep),
  });
}

function toRetryPolicy(fields: RetryFields): LoopOptions["retry"] {
  const { maxRetries, baseDelay, maxDelay, backoffMultiplier, jitter, retryTimeouts } = fields;
  return {
    ...(maxRetries !== undefined && { maxRetries }),
    ...(baseDelay && { baseDelay: toMilliseconds(baseDelay) / 1000 }),
    ...(maxDelay && { maxDelay: toMilliseconds(maxDelay) / 1000 }),
    ...(backoffMultiplier !== undefined && { backoffMultiplier }),
    ...(jitter !== undefined && { jitter }),
    retryTimeouts,
  };
}
