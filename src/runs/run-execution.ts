import { create } from "@bufbuild/protobuf";
import { responseWithoutContent, withoutContent } from "../client/final-response.ts";
import { errorFromProto, toSdkError } from "../core/errors.ts";
import { yieldTurn } from "../core/loop-turns.ts";
import type { TraceContext } from "../core/trace-context.ts";
import {
  type GenerateResult,
  GenerateResultSchema,
  StepFinishSchema,
  type StepResult,
} from "../gen/outrigger/v1/generation_pb.ts";
import type { ToolCall, ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import { FinalResponse, type Request } from "../gen/outrigger/v1/request_pb.ts";
import { type Warning, WarningSchema } from "../gen/outrigger/v1/response_pb.ts";
import type { McpServer, McpTool, Run } from "../gen/outrigger/v1/run_pb.ts";
import type { Generation } from "../generation/contract/options.ts";
import { AttemptLog } from "../generation/loop/attempt-log.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";
import { getOpenCalls, withProgress } from "../generation/loop/open-calls.ts";
import { NO_TOOLS, type ToolExecutor } from "../generation/loop/step-tools.ts";
import { type LoopItem, runToolLoop } from "../generation/loop/tool-loop.ts";
import { toStreamEvents } from "./answer-events.ts";
import {
  type CheckedConversation,
  type Conversation,
  type ConversationParts,
  composeConversation,
  createModelRequest,
  withRunFields,
} from "./conversation.ts";
import type { EventHub } from "./event-hub.ts";
import type { Gate } from "./limits.ts";
import { createResultOutputs, createStepOutputs } from "./messages.ts";
import type { Journal } from "./run-log.ts";
import { type OpenedServerTools, ServerToolExecutor, type ServerTools } from "./server-tools.ts";
import { sumUsage } from "./status.ts";

/** What a run executes. */
export interface RunPlan {
  /** The run as it is in the store: IN_PROGRESS. */
  readonly run: Run;
  readonly client: ModelClient;
  readonly generation: Generation;
  /** Text of the system message. Empty: none. */
  readonly system: string;
  readonly conversation: ConversationParts;
  /** The conversation as it was checked, with its request, if nothing is added to them before the model is called. */
  readonly checked?: Pick<CheckedConversation, "conversation" | "request"> | undefined;
  /** Path of the input messages in the caller's request, for errors. */
  readonly inputPath: string;
  /** What the run has done already. Undefined if it begins. */
  readonly earlier?: EarlierWork | undefined;
  readonly servers: readonly McpServer[];
  /** Tools of these servers that are known from an earlier turn. */
  readonly knownTools: readonly McpTool[];
  readonly serverTools: ServerTools;
  readonly toolGate: Gate;
  /** The trace of the call that created the run. */
  readonly trace: TraceContext | undefined;
  /** When the caller's time is over, in milliseconds of `performance.now()`. */
  readonly deadline?: number | undefined;
  /** Whether the model is called for streams. Otherwise the events of an answer are made when it is complete. */
  readonly isStreamed: boolean;
  /** Whether another process may continue the run: then a tool is called only when the start of the call is stored. */
  readonly isResumable: boolean;
}

/** What a run did before it required action, or before its process stopped. */
export interface EarlierWork {
  readonly steps: readonly StepResult[];
  /** Whether the caller has answered the calls of the latest step: those without a result are approved. */
  readonly isSubmitted: boolean;
  /** Whether the event that ends the latest step is stored. */
  readonly isFinished: boolean;
  /** Results of approved calls in the conversation before the run. */
  readonly approvedResults: readonly ToolResult[];
}

const NO_WORK: EarlierWork = { steps: [], isSubmitted: false, isFinished: false, approvedResults: [] };

/** Executes the generation of a run: its events, steps and messages go to the log. */
export class RunExecution {
  readonly #plan: RunPlan;
  readonly #log: Journal;
  readonly #hub: EventHub;
  readonly #attempts: AttemptLog;
  readonly #onStep: () => void;
  readonly #earlier: EarlierWork;
  readonly #steps: StepResult[];
  readonly #answered: Set<string>;
  #tools: OpenedServerTools | undefined;
  #run: Run;

  constructor(plan: RunPlan, log: Journal, hub: EventHub, onStep: () => void) {
    this.#plan = plan;
    this.#onStep = onStep;
    this.#log = log;
    this.#hub = hub;
    this.#attempts = new AttemptLog(plan.run.attempts);
    this.#earlier = plan.earlier ?? NO_WORK;
    this.#steps = [...this.#earlier.steps];
    this.#answered = new Set(this.#steps.flatMap(getAnsweredIds));
    this.#run = plan.run;
  }

  /** The run with the status IN_PROGRESS and what is known so far. */
  get run(): Run {
    const usage = sumUsage(this.#steps);
    const attempts = [...this.#attempts.attempts];
    return { ...this.#run, attempts, ...(usage === undefined ? {} : { usage }) };
  }

  get steps(): readonly StepResult[] {
    return this.#steps;
  }

  /** Whether a call of this tool waits for the caller's approval. */
  needsApproval(toolName: string): boolean {
    const tool = this.#tools?.find(toolName);
    return tool !== undefined && this.#tools?.needsApproval(tool) === true;
  }

  /** Runs until the model has answered, a limit is reached, or the caller must act. */
  async execute(signal: AbortSignal): Promise<GenerateResult> {
    try {
      const executor = await this.#openTools(signal);
      const last = this.#steps.at(-1);
      if (this.#earlier.isSubmitted && last !== undefined)
        await executor?.executeApproved(getOpenCalls(last), signal);
      const conversation = await this.#converse(executor, signal);
      try {
        return await this.#runLoop(this.#createRequest(conversation), executor ?? NO_TOOLS, signal);
      } catch (thrown) {
        const { system, inputPath } = this.#plan;
        throw withRunFields(toSdkError(thrown), { system, conversation, inputPath });
      }
    } finally {
      await this.#tools?.close();
    }
  }

  /** Connects to the MCP servers. Undefined if the run has none. */
  async #openTools(signal: AbortSignal): Promise<ServerToolExecutor | undefined> {
    const { servers, serverTools, knownTools, generation, toolGate, trace, run } = this.#plan;
    if (servers.length === 0) return undefined;
    const takenNames = new Set(
      generation.request.tools.flatMap(({ tool }) =>
        tool.case === "function" || tool.case === "custom" ? [tool.value.name] : [],
      ),
    );
    const tools = await serverTools.open(servers, "mcp_servers", {
      signal,
      takenNames,
      known: knownTools,
      trace,
      isBackground: run.background,
    });
    this.#tools = tools;
    for (const value of tools.lists) this.#log.add(0, { case: "mcpToolList", value });
    this.#run = { ...this.#run, mcpTools: tools.lists.flatMap((list) => list.tools) };
    this.#log.update(() => this.run);
    // The lists in the store tell other processes that the model may have been called.
    await this.#persist();
    const error = tools.lists.find((list) => list.error !== undefined)?.error;
    if (error !== undefined) throw errorFromProto(error);
    return new ServerToolExecutor({
      tools,
      gate: toolGate,
      timeoutMs: generation.perToolMs,
      onStart: async (step, event) => {
        this.#log.add(step, event);
        await this.#persist();
      },
      onFinish: (step, event, result) => {
        this.#log.add(step, event);
        this.#addResult(result);
        this.#log.flush();
      },
    });
  }

  /** The conversation, with the results of calls of the previous run that were approved. */
  async #converse(executor: ServerToolExecutor | undefined, signal: AbortSignal): Promise<Conversation> {
    const { conversation: parts, checked } = this.#plan;
    const results = new Map(this.#earlier.approvedResults.map((result) => [result.toolCallId, result]));
    const conversation = checked?.conversation ?? composeConversation(parts, results);
    const { approved, unanswered } = conversation;
    if (unanswered.length > 0)
      this.#run = { ...this.#run, warnings: unanswered.map(createUnansweredWarning) };
    if (approved.length === 0) return conversation;
    for (const result of (await executor?.executeApproved(approved, signal)) ?? [])
      results.set(result.toolCallId, result);
    return composeConversation(parts, results);
  }

  #createRequest(conversation: Conversation): Request {
    const { generation, system, checked } = this.#plan;
    if (checked !== undefined) return checked.request;
    const request = createModelRequest(generation.request, system, conversation);
    request.tools = [...request.tools, ...(this.#tools?.tools ?? [])];
    // The loop needs the whole answer; the events leave out what the deltas already contain.
    request.finalResponse = FinalResponse.FULL;
    return request;
  }

  async #runLoop(request: Request, executor: ToolExecutor, signal: AbortSignal): Promise<GenerateResult> {
    const { generation, client, deadline, isStreamed } = this.#plan;
    // After an interruption the loop decides once more how the latest step goes on.
    const answeredStep = this.#earlier.isSubmitted ? undefined : this.#steps.at(-1);
    const loop = runToolLoop({
      ...generation,
      request,
      client,
      executor,
      isStreamed,
      signal,
      deadline,
      previousSteps: answeredStep === undefined ? [...this.#steps] : this.#steps.slice(0, -1),
      answeredStep,
      log: this.#attempts,
      // Before its tools are executed, so that the answer outlives this process.
      onAnswer: async (step, result) => {
        const turn = isStreamed ? undefined : yieldTurn();
        if (turn !== undefined) await turn;
        if (step > this.#steps.length) this.#addStep(result);
        await this.#persist();
      },
    });
    try {
      for (let item = await loop.next(); ; item = await loop.next()) {
        if (item.done === true) return item.value;
        // The events of a large whole answer are made at once, after it was parsed.
        const turn = isStreamed ? undefined : yieldTurn();
        if (turn !== undefined) await turn;
        this.#take(item.value);
        const pace = this.#hub.pace ?? this.#log.pace;
        if (pace !== undefined) await pace;
      }
    } finally {
      await loop.return(create(GenerateResultSchema));
    }
  }

  /** Whether anybody can read the events of the steps. The tools of MCP servers are part of a response in their order. */
  get #isRead(): boolean {
    const { run, isStreamed, servers } = this.#plan;
    return run.stored || isStreamed || servers.length > 0;
  }

  #take(item: LoopItem): void {
    if (item.case === "stepFinish") return this.#finishStep(item.step, item.result);
    // Without the content that the deltas already contain.
    for (const event of item.events)
      this.#log.add(item.step, { case: "modelEvent", value: withoutContent(event) });
    // An answer is written together with its step, so that it is stored as a whole or not at all.
    if (item.events.at(-1)?.event.case !== "finish") this.#log.flush();
  }

  /** Writes what is pending. Waits for it if another process may continue the run. */
  async #persist(): Promise<void> {
    if (this.#plan.isResumable) await this.#log.settle();
    else this.#log.flush();
  }

  #finishStep(step: number, result: StepResult): void {
    const { response } = result;
    if (step > this.#steps.length) this.#addStep(result);
    else this.#replaceStep(result);
    this.#onStep();
    if (!this.#isRead || (step === this.#earlier.steps.length && this.#earlier.isFinished)) return;
    const finished =
      response === undefined ? result : { ...result, response: responseWithoutContent(response) };
    this.#log.add(step, { case: "stepFinish", value: create(StepFinishSchema, { result: finished }) });
    // If the run ends with this step, that is known in a moment, so that one write covers both.
    setImmediate(() => this.#log.flush());
  }

  #addStep(step: StepResult): void {
    this.#steps.push(step);
    for (const id of getAnsweredIds(step)) this.#answered.add(id);
    if (!this.#plan.isStreamed && this.#isRead && step.response !== undefined)
      for (const value of toStreamEvents(step.response))
        this.#log.add(this.#steps.length, { case: "modelEvent", value });
    this.#log.addStep(step, createStepOutputs(this.#plan.run, this.#steps.length, step));
    this.#log.update(() => this.run);
  }

  #replaceStep(step: StepResult): void {
    this.#steps.splice(-1, 1, step);
    const results = step.toolResults.filter(({ toolCallId }) => !this.#answered.has(toolCallId));
    for (const { toolCallId } of results) this.#answered.add(toolCallId);
    this.#log.replaceLatestStep(step, createResultOutputs(this.#run.id, results));
    this.#log.update(() => this.run);
  }

  /** Adds the result of a call of the latest step, or of one before the run. */
  #addResult(result: ToolResult): void {
    const last = this.#steps.at(-1);
    if (last !== undefined && getOpenCalls(last).some(({ id }) => id === result.toolCallId))
      return this.#replaceStep(withProgress(last, { results: [result], repairedCalls: [] }));
    this.#log.replaceLatestStep(undefined, createResultOutputs(this.#run.id, [result]));
  }
}

function getAnsweredIds({ toolResults }: StepResult): string[] {
  return toolResults.map(({ toolCallId }) => toolCallId);
}

function createUnansweredWarning({ id }: ToolCall): Warning {
  const message = `the tool call ${JSON.stringify(id)} had no result; the model is told that it was not executed`;
  return create(WarningSchema, { code: "unanswered_tool_call", field: "options.request.messages", message });
}
