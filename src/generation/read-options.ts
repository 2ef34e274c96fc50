import { withTypeScriptPaths } from "../client/field-paths.ts";
import { requestFields, toRequest } from "../client/request-input.ts";
import { compact } from "../core/compact.ts";
import { SDKError } from "../core/errors.ts";
import { systemMessage, userMessage } from "../core/message.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { checkOptions } from "./check-options.ts";
import { defaultModelClient } from "./default-model-client.ts";
import type { GenerateOptions, GenerationTimeouts } from "./generate-options.ts";
import { isActiveTool, LocalExecutor } from "./local-executor.ts";
import { stepsCondition } from "./loop/generate-result.ts";
import type { LoopOptions } from "./loop/tool-loop.ts";

/**
 * Converts options to the loop of a generation.
 * @throws InvalidRequestError with every option of a wrong name, type or range.
 */
export function toLoopOptions(options: GenerateOptions, isStreamed: boolean): LoopOptions {
  const { maxToolRounds = 1, stopWhen, repairToolCall, limits, signal, client, timeout = {} } = options;
  const { retry, maxRetries, onRetry } = options;
  checkOptions(options);
  const caller = client ?? defaultModelClient();
  const given: GenerationTimeouts = typeof timeout === "number" ? { totalMs: timeout } : timeout;
  const { perToolMs = 0, ...timeouts } = given;
  return {
    client: caller,
    request: toRequestFields(options),
    executor: new LocalExecutor(options.tools ?? [], {
      perToolMs,
      repairToolCall,
      hideErrors: caller.hideToolErrors,
    }),
    isStreamed,
    maxToolRounds,
    stopWhen: stopWhen && stepsCondition(stopWhen),
    retry: { ...retry, ...compact({ maxRetries, onRetry }) },
    timeouts,
    limits,
    signal,
  };
}

/** Returns the request, without the options that belong to the generation alone. */
function toRequestFields(options: GenerateOptions): Request {
  const { maxToolRounds, stopWhen, onStepFinish, repairToolCall, maxRetries, retry, onRetry, ...rest } =
    options;
  const { timeout, limits, signal, client, prompt, system, messages, tools, ...fields } = rest;
  const conversation = prompt === undefined ? (messages ?? []) : [userMessage(prompt)];
  try {
    const input = {
      ...fields,
      messages: system === undefined ? conversation : [systemMessage(system), ...conversation],
      ...(tools === undefined
        ? {}
        : { tools: tools.map((tool) => (isActiveTool(tool) ? tool.definition : tool)) }),
    };
    return toRequest(input, [...requestFields, ...OPTION_NAMES]);
  } catch (thrown) {
    throw thrown instanceof SDKError ? withTypeScriptPaths(thrown) : thrown;
  }
}

/** Options of a generation that are not fields of its request. */
const OPTION_NAMES: readonly (keyof GenerateOptions)[] = [
  "prompt",
  "system",
  "maxToolRounds",
  "stopWhen",
  "onStepFinish",
  "repairToolCall",
  "maxRetries",
  "retry",
  "onRetry",
  "timeout",
  "limits",
  "signal",
  "client",
];
