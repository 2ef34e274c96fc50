import { create, isMessage } from "@bufbuild/protobuf";
import type { ToolInput } from "../client/request-input.ts";
import { toJsonText } from "../core/json-text.ts";
import type { ActiveTool, ToolContext } from "../core/tool-input.ts";
import { toolResultParts } from "../core/tools.ts";
import {
  type Message,
  type ToolCall,
  ToolCallSchema,
  type ToolResult,
  ToolResultSchema,
} from "../gen/outrigger/v1/message_pb.ts";
import { LinkedSignal, untilAborted } from "../kit/call/linked-signal.ts";
import { failedResult } from "./loop/failed-result.ts";
import type { StepContext, ToolExecutor, ToolOutcome } from "./loop/step-tools.ts";
import { type CheckedInput, createInputReader, type InputReader } from "./tool-arguments.ts";

/** A call whose arguments do not parse, or do not match the schema of the tool. */
export interface InvalidCall {
  /** The call as the model wrote it. */
  readonly call: ToolCall;
  /** The problem of its arguments. */
  readonly problem: string;
  /** The conversation, including the assistant message with the call. */
  readonly messages: readonly Message[];
  /** Aborted when the generation ends without an answer, and when the tool's time limit expires. */
  readonly signal: AbortSignal;
}

/**
 * Repairs a call, for instance by asking a model. Returns the call with other arguments, the arguments alone (JSON text
 * or an object), or undefined if it cannot. Name and id of the call do not change.
 */
export type RepairToolCall = (
  invalid: InvalidCall,
) => ToolCall | string | object | undefined | Promise<ToolCall | string | object | undefined>;

/** Options of a LocalExecutor. */
export interface LocalExecutorOptions {
  /** Maximum time of one call, including its repair, in milliseconds. 0: no limit. */
  readonly perToolMs: number;
  readonly repairToolCall: RepairToolCall | undefined;
  /** Whether the model learns nothing about errors of functions, unless their tools say otherwise. Default false. */
  readonly hideErrors?: boolean | undefined;
}

interface LocalTool {
  readonly tool: ActiveTool;
  readonly readInput: InputReader;
}

/** Executes tools in this process. All calls of a step run at the same time. */
export class LocalExecutor implements ToolExecutor {
  readonly #tools: ReadonlyMap<string, LocalTool>;
  readonly #options: LocalExecutorOptions;

  /**
   * @param tools The tools of a request. Tools without a function are ignored.
   * @throws InvalidRequestError if a tool's parameters are not a JSON Schema.
   */
  constructor(tools: readonly (ToolInput | ActiveTool)[], options: LocalExecutorOptions) {
    const entries = tools.flatMap((tool, index): [string, LocalTool][] => {
      if (!isActiveTool(tool)) return [];
      return [[getName(tool), { tool, readInput: createInputReader(tool, `tools[${index}]`) }]];
    });
    this.#tools = new Map(entries);
    this.#options = options;
  }

  isActive(toolName: string): boolean {
    return this.#tools.has(toolName);
  }

  execute(calls: readonly ToolCall[], context: StepContext): Promise<readonly ToolOutcome[]> {
    return Promise.all(calls.map((call) => this.#answer(call, context)));
  }

  /** Returns the outcome of a call. Any failure of the tool becomes an error result. */
  async #answer(call: ToolCall, context: StepContext): Promise<ToolOutcome> {
    const local = this.#tools.get(call.name);
    if (local === undefined)
      return { result: failedResult(call, `there is no tool ${toJsonText(call.name)}`) };
    try {
      const isLimited = this.#options.perToolMs > 0;
      return await (isLimited
        ? this.#executeInTime(local, call, context)
        : this.#execute(local, call, context));
    } catch (thrown) {
      return { result: failedResult(call, toMessage(thrown)) };
    }
  }

  async #executeInTime(
    local: LocalTool,
    call: ToolCall,
    { messages, signal }: StepContext,
  ): Promise<ToolOutcome> {
    const limit = new LinkedSignal(signal, { ms: this.#options.perToolMs, what: "the tool" });
    try {
      const context = { messages, signal: limit.signal };
      return await untilAborted(this.#execute(local, call, context), limit.signal);
    } finally {
      limit.release();
    }
  }

  async #execute({ tool, readInput }: LocalTool, call: ToolCall, context: RunContext): Promise<ToolOutcome> {
    const { messages, signal } = context;
    const { input, repairedCall } = await this.#readInput(readInput, call, { messages, signal });
    if ("problem" in input) return { result: failedResult(call, input.problem) };
    const returned = await this.#call(tool, input.value, { messages, signal, toolCallId: call.id });
    return { result: toResult(call, returned), repairedCall };
  }

  /**
   * Returns the function's result, or throws its error. If the model must not learn about errors, returns a neutral one
   * instead.
   */
  async #call(tool: ActiveTool, input: unknown, context: ToolContext): Promise<unknown> {
    const { hideErrors = this.#options.hideErrors ?? false } = tool;
    try {
      const returned = await tool.execute(input, context);
      return hideErrors && returned instanceof Error ? new Error() : returned;
    } catch (thrown) {
      if (hideErrors) return new Error();
      throw thrown;
    }
  }

  /** Returns the input of a call. Invalid input is repaired once. */
  async #readInput(read: InputReader, call: ToolCall, context: RunContext): Promise<ReadInput> {
    const input = await read(call);
    if ("value" in input) return { input };
    const repaired = await this.#options.repairToolCall?.({ call, problem: input.problem, ...context });
    if (repaired === undefined) return { input };
    const repairedCall = withInput(call, repaired);
    return { input: await read(repairedCall), repairedCall };
  }
}

/** The context of the calls of one step, with the signal of one call. */
type RunContext = Pick<InvalidCall, "messages" | "signal">;

interface ReadInput {
  readonly input: CheckedInput;
  readonly repairedCall?: ToolCall;
}

/** Whether a tool has a function of this program. */
export function isActiveTool(tool: ToolInput | ActiveTool): tool is ActiveTool {
  return typeof tool === "object" && tool !== null && "execute" in tool;
}

function getName({ definition: { tool } }: ActiveTool): string {
  return tool.case === "function" || tool.case === "custom" ? tool.value.name : "";
}

/** Returns the call with the repaired input. */
function withInput({ id, name }: ToolCall, repaired: ToolCall | string | object): ToolCall {
  if (isMessage(repaired, ToolCallSchema)) return create(ToolCallSchema, { id, name, input: repaired.input });
  const value = typeof repaired === "string" ? repaired : toJsonText(repaired);
  return create(ToolCallSchema, { id, name, input: { case: "argumentsJson", value } });
}

/** @throws TypeError if the value cannot be written as JSON. */
function toResult({ id }: ToolCall, returned: unknown): ToolResult {
  if (returned instanceof Error) return failedResult({ id }, toMessage(returned));
  return create(ToolResultSchema, { toolCallId: id, content: toolResultParts(returned) });
}

/** Returns the text of a failure for the model: the message alone. */
function toMessage(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : thrown;
  return typeof message === "string" && message !== "" ? message : "the tool failed";
}
