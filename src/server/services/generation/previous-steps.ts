import { quote, Violations } from "../../../client/violations.ts";
import {
  type GenerateResult,
  GenerateResult_StopReasonSchema,
  type StepResult,
  GenerateResult_StopReason as StopReason,
} from "../../../gen/outrigger/v1/generation_pb.ts";
import type { ToolOutput } from "../../../gen/outrigger/v1/generation_service_pb.ts";
import type { ToolCall } from "../../../gen/outrigger/v1/message_pb.ts";
import { type Usage, UsageSchema } from "../../../gen/outrigger/v1/usage_pb.ts";
import { currentCall, getOpenCalls, withProgress } from "../../../generation/loop/open-calls.ts";
import type { ToolArguments } from "./tool-arguments.ts";
import { checkOutput, isWrongKind, toEffect } from "./tool-outputs.ts";

/** The rules for the steps before a call. */
export interface PreviousStepsRules {
  readonly toolArguments: ToolArguments;
  /** Maximum number of steps of one generation. */
  readonly maxSteps: number;
}

/**
 * Reads the steps before this call, the last one with the outputs of its tools. Empty in the first call of a loop. The
 * caller got them from the sidecar, but may have changed them.
 * @throws InvalidRequestError with all inconsistencies.
 */
export function readPreviousSteps(
  previous: GenerateResult | undefined,
  outputs: readonly ToolOutput[],
  { toolArguments, maxSteps }: PreviousStepsRules,
): readonly StepResult[] {
  const violations = new Violations();
  const last = previous?.steps.at(-1);
  if (previous === undefined || last === undefined) {
    if (previous !== undefined) violations.add("previous.steps", "is empty, expected the steps so far");
    if (outputs.length > 0) violations.add("outputs", "expected none without previous steps");
    violations.throwIfAny();
    return [];
  }
  checkResult(previous, maxSteps, violations);
  const pairs = pair(last, outputs, violations);
  for (const each of pairs) checkKind(each, toolArguments, violations);
  violations.throwIfAny();
  const effects = pairs.map(([, call, output]) => toEffect(output, call, toolArguments));
  const done = withProgress(last, {
    results: effects.flatMap((effect) => (effect.case === "result" ? effect.result : [])),
    repairedCalls: effects.flatMap((effect) => (effect.case === "repaired" ? effect.call : [])),
  });
  return [...previous.steps.slice(0, -1), done];
}

/** Checks that this is the result of a loop that waits for outputs. */
function checkResult({ steps, stopReason }: GenerateResult, maxSteps: number, violations: Violations): void {
  if (steps.length >= maxSteps)
    violations.add("previous.steps", `expected fewer than ${maxSteps} steps, found ${steps.length}`);
  if (stopReason !== StopReason.TOOL_CALLS) {
    const found = GenerateResult_StopReasonSchema.value[stopReason]?.name ?? stopReason;
    violations.add("previous.stop_reason", `expected STOP_REASON_TOOL_CALLS, found ${found}`);
  }
  for (const [index, step] of steps.entries()) {
    checkUsage(step.response?.usage, `previous.steps[${index}].response.usage`, violations);
    if (step.response?.message === undefined)
      violations.add(`previous.steps[${index}].response`, "has no message, expected the model's answer");
    const [open] = index < steps.length - 1 ? getOpenCalls(step) : [];
    if (open !== undefined)
      violations.add(`previous.steps[${index}].tool_results`, `has none for the call ${quote(open.id)}`);
  }
}

/** Negative counts would increase what the caller's limits allow. */
function checkUsage(usage: Usage | undefined, path: string, violations: Violations): void {
  for (const { name, localName } of UsageSchema.fields) {
    const count: unknown = usage && Reflect.get(usage, localName);
    if ((typeof count === "number" || typeof count === "bigint") && count < 0)
      violations.add(`${path}.${name}`, `expected 0 or more, found ${count}`);
  }
}

type Pair = readonly [index: number, call: ToolCall, output: ToolOutput];

/** Pairs the outputs with the calls that they answer. Each call must have one. */
function pair(step: StepResult, outputs: readonly ToolOutput[], violations: Violations): Pair[] {
  const open = new Map(getOpenCalls(step).map((call) => [call.id, call]));
  const missing = new Set(open.keys());
  const pairs: Pair[] = [];
  for (const [index, output] of outputs.entries()) {
    const { toolCallId: id } = output;
    checkOutput(output, `outputs[${index}]`, violations);
    const call = open.get(id);
    const field = `outputs[${index}].tool_call_id`;
    if (id === "") continue;
    if (call === undefined)
      violations.add(field, `${quote(id)} is not a call without a result in the last step`);
    else if (!missing.delete(id))
      violations.add(field, `${quote(id)} is repeated, expected one output for each call`);
    else pairs.push([index, currentCall(call, step), output]);
  }
  for (const id of missing) violations.add("outputs", `expected one for the call ${quote(id)}`);
  return pairs;
}

/** Checks that an output answers the `execute` of its call. */
function checkKind([index, call, output]: Pair, rules: ToolArguments, violations: Violations): void {
  const wanted = rules.toProblem(call) === undefined ? "execution" : "repair";
  if (!isWrongKind(output, wanted)) return;
  const [kind, state] = wanted === "repair" ? ["repaired_call", "invalid"] : ["result", "valid"];
  violations.add(`outputs[${index}]`, `expected ${kind}, error or refusal: the arguments are ${state}`);
}
