import { create } from "@bufbuild/protobuf";
import { responseWithoutContent } from "../client/final-response.ts";
import { errorFromProto, invalidField, type SDKError, toSdkError } from "../core/errors.ts";
import { systemMessage } from "../core/message.ts";
import {
  type GenerateResult,
  GenerateResultSchema,
  StepFinishSchema,
  type StepResult,
} from "../gen/outrigger/v1/generation_pb.ts";
import type { Message, ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import { FinalResponse, type Request } from "../gen/outrigger/v1/request_pb.ts";
import { type Warning, WarningSchema } from "../gen/outrigger/v1/response_pb.ts";
import type { McpServer, Run, ServerTool } from "../gen/outrigger/v1/run_pb.ts";
import type { ThreadMessage } from "../gen/outrigger/v1/thread_pb.ts";
import type { Tool } from "../gen/outrigger/v1/tool_pb.ts";
import { openCallsOf, withProgress } from "../generation/contract/open-calls.ts";
import type { Generation } from "../generation/contract/options.ts";
import type { ModelClient } from "../generation/model-calls.ts";
import { NO_TOOLS, type ToolExecutor } from "../generation/step-tools.ts";
import { type LoopItem, runToolLoop } from "../generation/tool-loop.ts";
import { abortErrorOf } from "../kit/http/abort.ts";
import { attemptsOf, noteAttempts } from "../middleware/attempts.ts";
import { type Conversation, type ConversationParts, composeConversation } from "./conversation.ts";
import type { EventHub } from "./event-hub.ts";
import type { Gate } from "./gate.ts";
import type { Journal } from "./journal.ts";
import { outputsOfResults, outputsOfStep } from "./outputs.ts";
import { withRunFields } from "./run-fields.ts";
import { ServerToolExecutor } from "./server-tool-executor.ts";
import type { OpenedServerTools, ServerTools } from "./server-tools.ts";

/** What a run executes. */
export interface RunPlan {
  /** The run as it is in the store: IN_PROGRESS. */
  readonly run: Run;
  readonly client: ModelClient;
  readonly generation: Generation;
  /** Text of the system message. Empty: none. */
  readonly system: string;
  readonly conversation: ConversationParts;
  /** Path of the input messages in the caller's request, for errors. */
  readonly inputPath: string;
  /** Steps of the run before it required action. The calls of the last one that have no result are approved. */
  readonly previousSteps: readonly StepResult[];
  readonly servers: readonly McpServer[];
  /** Tools of these servers that are known from an earlier turn. */
  readonly knownTools: readonly ServerTool[];
  readonly serverTools: ServerTools;
  /** Limits the calls of tools. */
  readonly toolGate: Gate;
  /** When the caller's time is over, in milliseconds of `performance.now()`. */
  readonly deadline?: number | undefined;
}

/** Executes the generation of a run: its events and steps go to the journal. */
export class RunExecution {
  readonly #plan: RunPlan;
  readonly #journal: Journal;
  readonly #hub: EventHub;
  readonly #steps: StepResult[];
  /** Messages that the run adds to its thread. */
  readonly #outputs: ThreadMessage[] = [];
  #tools: OpenedServerTools | undefined;
  #run: Run;

  constructor(plan: RunPlan, journal: Journal, hub: EventHub) {
    this.#plan = plan;
    this.#journal = journal;
    this.#hub = hub;
    this.#steps = [...plan.previousSteps];
    this.#run = plan.run;
  }

  /** The run with the status IN_PROGRESS and what is known so far. */
  get run(): Run {
    return this.#run;
  }

  /** The steps that are complete. */
  get steps(): readonly StepResult[] {
    return this.#steps;
  }

  /** The messages that the run adds to its thread. */
  get outputs(): readonly ThreadMessage[] {
    return this.#outputs;
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
      await this.#executePending(executor, signal);
      const conversation = await this.#converse(executor, signal);
      try {
        return await this.#runLoop(this.#requestOf(conversation), executor ?? NO_TOOLS, signal);
      } catch (thrown) {
        throw this.#withFields(toSdkError(thrown), conversation);
      }
    } finally {
      await this.#tools?.close();
    }
  }

  /** Connects to the MCP servers. Undefined where the run has none. */
  async #openTools(signal: AbortSignal): Promise<ServerToolExecutor | undefined> {
    const { servers, serverTools, knownTools, generation, toolGate } = this.#plan;
    if (servers.length === 0) return undefined;
    const takenNames = new Set(generation.request.tools.flatMap(nameOf));
    const tools = await serverTools.open(servers, "mcp_servers", { signal, takenNames, known: knownTools });
    this.#tools = tools;
    for (const value of tools.lists) this.#journal.add(0, { case: "serverToolList", value });
    this.#journal.flush();
    this.#run = { ...this.#run, serverTools: tools.lists.flatMap((list) => list.tools) };
    const error = tools.lists.find((list) => list.error !== undefined)?.error;
    if (error !== undefined) throw errorFromProto(error);
    return new ServerToolExecutor({
      tools,
      gate: toolGate,
      timeoutMs: generation.perToolMs,
      announce: (step, event) => {
        this.#journal.add(step, event);
        this.#journal.flush();
      },
    });
  }

  /** Executes the calls of the latest step that were approved. */
  async #executePending(executor: ServerToolExecutor | undefined, signal: AbortSignal): Promise<void> {
    const last = this.#steps.at(-1);
    const calls = last === undefined ? [] : openCallsOf(last);
    if (last === undefined || calls.length === 0) return;
    const results = (await executor?.executeApproved(calls, signal)) ?? [];
    const step = withProgress(last, { results, repairedCalls: [] });
    this.#steps.splice(-1, 1, step);
    this.#journal.replaceLatestStep(step);
    this.#addResults(results);
  }

  /** The conversation, with the results of calls of the previous run that were approved. */
  async #converse(executor: ServerToolExecutor | undefined, signal: AbortSignal): Promise<Conversation> {
    const { conversation: parts } = this.#plan;
    const conversation = composeConversation(parts);
    const { approved, unanswered } = conversation;
    if (unanswered.length > 0)
      this.#run = { ...this.#run, warnings: unanswered.map(({ id }) => unansweredWarning(id)) };
    if (approved.length === 0) return conversation;
    const results = (await executor?.executeApproved(approved, signal)) ?? [];
    this.#addResults(results);
    return composeConversation(parts, new Map(results.map((result) => [result.toolCallId, result])));
  }

  #requestOf({ messages }: Conversation): Request {
    const { generation, system } = this.#plan;
    const before: readonly Message[] = system === "" ? [] : [systemMessage(system)];
    const tools = [...generation.request.tools, ...(this.#tools?.tools ?? [])];
    return {
      ...generation.request,
      messages: [...before, ...messages.map(({ message }) => message)],
      tools,
      // The loop needs the whole answer; the journal leaves out what the deltas already contain.
      finalResponse: FinalResponse.FULL,
    };
  }

  async #runLoop(request: Request, executor: ToolExecutor, signal: AbortSignal): Promise<GenerateResult> {
    const { generation, client, deadline } = this.#plan;
    const loop = runToolLoop({
      ...generation,
      request,
      client,
      executor,
      isStreamed: true,
      signal,
      deadline,
      previousSteps: [...this.#steps],
      previousAttempts: this.#run.attempts,
    });
    try {
      for (let item = await loop.next(); ; item = await loop.next()) {
        if (item.done === true) return item.value;
        this.#take(item.value);
        const pace = this.#hub.pace ?? this.#journal.pace;
        if (pace !== undefined) await pace;
        if (signal.aborted) throw abortErrorOf(signal);
      }
    } finally {
      await loop.return(create(GenerateResultSchema));
    }
  }

  #withFields(error: SDKError, conversation: Conversation): SDKError {
    const before = this.#plan.system === "" ? 0 : 1;
    const renamed = withRunFields(error, { before, conversation, inputPath: this.#plan.inputPath });
    if (renamed !== error) noteAttempts(renamed, attemptsOf(error));
    return renamed;
  }

  #take(item: LoopItem): void {
    if (item.case === "events") {
      this.#journal.addModelEvents(item.step, item.events);
      this.#journal.flush();
    } else this.#finishStep(item.step, item.result);
  }

  #finishStep(step: number, result: StepResult): void {
    const { response } = result;
    this.#steps.push(result);
    this.#journal.addStep(result);
    const finished =
      response === undefined ? result : { ...result, response: responseWithoutContent(response) };
    this.#journal.add(step, { case: "stepFinish", value: create(StepFinishSchema, { result: finished }) });
    // If the run ends with this step, that is known in a moment, so that one write covers both.
    setImmediate(() => this.#journal.flush());
    this.#outputs.push(...outputsOfStep(this.#run.id, step, result));
  }

  #addResults(results: readonly ToolResult[]): void {
    this.#outputs.push(...outputsOfResults(this.#run.id, results));
  }
}

function nameOf({ tool }: Tool): string[] {
  return tool.case === "function" || tool.case === "custom" ? [tool.value.name] : [];
}

function unansweredWarning(callId: string): Warning {
  const message = `the tool call ${JSON.stringify(callId)} had no result; the model is told that it was not executed`;
  return create(WarningSchema, { code: "unanswered_tool_call", field: "options.request.messages", message });
}

/** For a sidecar without MCP servers: refuses all of them. */
export const NO_SERVER_TOOLS: ServerTools = {
  check: ([server], field) => {
    if (server !== undefined) throw invalidField(field, "this sidecar allows no MCP servers");
  },
  open: (_servers, field) => Promise.reject(invalidField(field, "this sidecar allows no MCP servers")),
};
