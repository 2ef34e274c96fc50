import { isMessage } from "@bufbuild/protobuf";
import { expectedNames } from "../client/check-input.ts";
import { quote, Violations } from "../client/violations.ts";
import { ToolSchema } from "../gen/outrigger/v1/tool_pb.ts";
import { DEFAULT_RETRY_POLICY, isRetryCount, MAX_RETRIES } from "../middleware/retry-policy.ts";
import type { GenerateOptions, GenerationTimeouts } from "./generate-options.ts";
import { isActiveTool } from "./local-executor.ts";
import type { GenerationLimits } from "./loop/loop-limits.ts";

/** Options that are functions. */
const FUNCTIONS = ["stopWhen", "repairToolCall", "onRetry", "onStepFinish"] as const;

/**
 * Checks the options that are not part of the request.
 * @throws InvalidRequestError with every option of a wrong type or range.
 */
export function checkOptions(options: GenerateOptions): void {
  const violations = new Violations();
  const { prompt, messages, system, maxToolRounds, timeout, limits = {} } = options;
  if (prompt !== undefined && messages !== undefined)
    violations.add("prompt", "is given together with messages; expected one of prompt and messages");
  if (prompt === undefined && messages === undefined)
    violations.add("prompt", "is not set, and neither is messages; expected one of prompt and messages");
  checkList("messages", messages, violations);
  checkTools(options.tools, violations);
  checkText("prompt", prompt, violations);
  checkText("system", system, violations);
  checkNumber("maxToolRounds", maxToolRounds, violations);
  if (typeof maxToolRounds === "number" && maxToolRounds % 1 > 0)
    violations.add("maxToolRounds", `expected a whole number, found ${maxToolRounds}`);
  for (const name of FUNCTIONS)
    if (options[name] !== undefined && typeof options[name] !== "function")
      violations.add(name, `expected a function, found ${describe(options[name])}`);
  checkRetries("maxRetries", options.maxRetries, violations);
  checkRetries("retry.maxRetries", options.retry?.maxRetries, violations);
  if (typeof timeout === "object") {
    checkNames("timeout", timeout, TIMEOUT_NAMES, violations);
    checkNumbers("timeout", timeout, violations);
  } else checkNumber("timeout", timeout, violations);
  checkNames("limits", limits, LIMIT_NAMES, violations);
  checkNames("retry", options.retry ?? {}, RETRY_NAMES, violations);
  const { allowUnknownPrices, ...numbers } = limits;
  checkNumbers("limits", numbers, violations);
  if (allowUnknownPrices !== undefined && typeof allowUnknownPrices !== "boolean")
    violations.add(
      "limits.allowUnknownPrices",
      `expected true or false, found ${describe(allowUnknownPrices)}`,
    );
  violations.throwIfAny();
}

const TIMEOUT_NAMES: readonly (keyof GenerationTimeouts)[] = ["totalMs", "perStepMs", "perToolMs"];

const LIMIT_NAMES: readonly (keyof GenerationLimits)[] = [
  "maxSteps",
  "maxTotalTokens",
  "maxCostNanoUsd",
  "maxToolCalls",
  "allowUnknownPrices",
];

const RETRY_NAMES = [...Object.keys(DEFAULT_RETRY_POLICY), "onRetry"];

function checkNames(field: string, value: object, names: readonly string[], violations: Violations): void {
  for (const name of Object.keys(value))
    if (!names.includes(name))
      violations.add(`${field}.${name}`, `is not an option; ${expectedNames(name, names)}`);
}

function checkList(field: string, value: unknown, violations: Violations): void {
  if (value !== undefined && !Array.isArray(value))
    violations.add(field, `expected a list, found ${describe(value)}`);
}

/** Checks that tools with a function are complete. The request's check inspects their contents. */
function checkTools(tools: GenerateOptions["tools"], violations: Violations): void {
  checkList("tools", tools, violations);
  if (!Array.isArray(tools)) return;
  for (const [index, tool] of tools.entries())
    if (isActiveTool(tool) && !(isMessage(tool.definition, ToolSchema) && typeof tool.execute === "function"))
      violations.add(`tools[${index}]`, "expected a tool that functionTool() or customTool() made");
}

function checkText(field: string, value: unknown, violations: Violations): void {
  if (value !== undefined && typeof value !== "string")
    violations.add(field, `expected a text, found ${describe(value)}`);
}

function checkNumbers(field: string, values: object, violations: Violations): void {
  for (const [name, value] of Object.entries(values)) checkNumber(`${field}.${name}`, value, violations);
}

function checkNumber(field: string, value: unknown, violations: Violations): void {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  if (value !== undefined && !(isNumber && value >= 0))
    violations.add(field, `expected a number from 0, found ${describe(value)}`);
}

function checkRetries(field: string, value: unknown, violations: Violations): void {
  if (value !== undefined && !isRetryCount(value))
    violations.add(field, `expected a whole number from 0 to ${MAX_RETRIES}, found ${describe(value)}`);
}

function describe(value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (typeof value === "object") return value === null ? "null" : "an object";
  return typeof value === "string" ? quote(value) : `a ${typeof value}`;
}
