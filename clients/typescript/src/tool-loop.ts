import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Client as ServiceClient } from "@connectrpc/connect";
import { withFieldPaths } from "../../../src/client/field-paths.ts";
import { AbortError, SDKError, StreamError, withEarlierSteps } from "../../../src/core/errors.ts";
import { closeAtOnce } from "../../../src/core/item-iterator.ts";
import { textOf } from "../../../src/core/message.ts";
import { addUsage } from "../../../src/core/usage.ts";
import type { GenerateResult, StepResult } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import {
  type ExecuteTool,
  type GenerationService,
  type RunToolsRequest,
  RunToolsRequestSchema,
  type RunToolsResponse,
  type ToolOutputSchema,
} from "../../../src/gen/outrigger/v1/generation_service_pb.ts";
import {
  type Message,
  MessageSchema,
  Role,
  type ToolCall,
  type ToolResult,
} from "../../../src/gen/outrigger/v1/message_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import type { Usage } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import {
  StepResult as StepResultView,
  toStepMessages,
} from "../../../src/generation/loop/generate-result.ts";
import type { ToolOutcome } from "../../../src/generation/loop/step-tools.ts";
import type { LoopItem, LoopOptions } from "../../../src/generation/loop/tool-loop.ts";
import { LinkedSignal } from "../../../src/kit/call/linked-signal.ts";
import { attemptsOf, noteAttempts } from "../../../src/middleware/attempts.ts";
import { toFailure } from "./failure.ts";
import { executableNames, loopStart } from "./loop-start.ts";
import { OutputQueue } from "./output-queue.ts";

type Service = ServiceClient<typeof GenerationService>;
type Output = NonNullable<
  Exclude<MessageInitShape<typeof ToolOutputSchema>, { $typeName: string }>["output"]
>;

/**
 * Reports whether a sidecar can run a loop. Functions of this program that decide about steps and retries cannot be
 * called from there, and without tools there is no loop.
 */
export function isRemoteLoop(options: LoopOptions): boolean {
  const { stopWhen, retry, previousSteps = [], executor } = options;
  if (stopWhen !== undefined || retry?.onRetry !== undefined || previousSteps.length > 0) return false;
  return executableNames(options).some((name) => executor.isActive(name));
}

/** Runs a tool loop over RunTools: the sidecar calls the model, this program executes the tools. */
export function runRemoteLoop(
  service: Service,
  options: LoopOptions,
): AsyncGenerator<LoopItem, GenerateResult> {
  const loop = new RemoteLoop(service, options);
  return closeAtOnce(loop.run(), () =>
    loop.cancel(new AbortError("the generation was abandoned before its end")),
  );
}

class RemoteLoop {
  readonly #service: Service;
  readonly #options: LoopOptions;
  readonly #requests = new OutputQueue<RunToolsRequest>();
  readonly #scope: LinkedSignal;
  readonly #conversation: Conversation;
  /** Complete steps, for the error of a later one. */
  readonly #steps: StepResultView[] = [];
  /** Results of calls that were repaired and executed, until the sidecar has agreed to the repair. */
  readonly #repaired = new Map<string, ToolResult>();

  constructor(service: Service, options: LoopOptions) {
    this.#service = service;
    this.#options = options;
    this.#scope = new LinkedSignal(options.signal);
    this.#conversation = new Conversation(options.request.messages);
  }

  cancel(reason: unknown): void {
    this.#scope.abort(reason);
  }

  async *run(): AsyncGenerator<LoopItem, GenerateResult> {
    const { signal } = this.#scope;
    this.#requests.push(loopStart(this.#options));
    let result: GenerateResult | undefined;
    try {
      for await (const response of this.#service.runTools(this.#requests, { signal })) {
        const item = this.#take(response);
        if (item !== undefined) yield item;
        if (response.message.case === "result") result = response.message.value;
      }
    } catch (thrown) {
      throw this.#withSteps(toFailure(thrown, signal));
    } finally {
      this.#requests.end();
      // Aborts tools that are still running, since nobody waits for their results.
      this.cancel(new AbortError("the generation has ended"));
      this.#scope.release();
    }
    if (result === undefined) throw new StreamError("the tool loop ended without a result");
    return result;
  }

  /** Returns the failure with all steps that arrived: the status has room for some of them only. */
  #withSteps(failure: SDKError): SDKError {
    const named = withOptionFields(failure);
    if (this.#steps.length === 0) return named;
    // A failure on this side, such as an abort, does not know what the steps cost.
    const usage = failure.usage === undefined ? this.#totalUsage() : undefined;
    const failed = withEarlierSteps(named, usage, this.#steps);
    noteAttempts(failed, attemptsOf(failure));
    return failed;
  }

  #totalUsage(): Usage | undefined {
    const usages = this.#steps.flatMap(({ response }) => response.usage ?? []);
    return usages.length === 0 ? undefined : usages.reduce(addUsage);
  }

  #take({ message, step }: RunToolsResponse): LoopItem | undefined {
    switch (message.case) {
      case "event":
        this.#conversation.takeEvent(message.value);
        return { case: "events", step, events: [message.value] };
      case "execute":
        this.#execute(message.value, step);
        return undefined;
      case "stepFinish": {
        const { result } = message.value;
        if (result === undefined) throw new StreamError("a step ended without its result");
        this.#conversation.takeStep(result);
        this.#steps.push(new StepResultView(result));
        return { case: "stepFinish", step, result };
      }
      default:
        return undefined;
    }
  }

  #execute({ toolCall, problem }: ExecuteTool, step: number): void {
    if (toolCall === undefined) throw new StreamError("a call to execute is missing");
    this.#conversation.takeCall(toolCall);
    const repaired = this.#repaired.get(toolCall.id);
    if (repaired !== undefined) return this.#answer(toolCall, { case: "result", value: repaired });
    const context = { step, messages: this.#conversation.messages, signal: this.#scope.signal };
    this.#options.executor.execute([toolCall], context).then(
      ([outcome]) => outcome && this.#answer(toolCall, this.#toOutput(toolCall, outcome, problem !== "")),
      (thrown: unknown) => this.cancel(thrown instanceof SDKError ? thrown : toFailure(thrown, undefined)),
    );
  }

  /** A call with invalid arguments is answered by its repair; its result follows when the sidecar requests it. */
  #toOutput({ id }: ToolCall, { result, repairedCall }: ToolOutcome, isInvalid: boolean): Output {
    if (!isInvalid) return { case: "result", value: result };
    if (repairedCall === undefined) return { case: "failure", value: { message: textOf(toMessage(result)) } };
    this.#repaired.set(id, result);
    return { case: "repairedCall", value: repairedCall };
  }

  #answer({ id }: ToolCall, output: Output): void {
    const value = { toolCallId: id, output };
    this.#requests.push(create(RunToolsRequestSchema, { message: { case: "output", value } }));
  }
}

/** Returns the error with the fields of the loop's request named as this program has them. */
function withOptionFields(error: SDKError): SDKError {
  return withFieldPaths(error, (field) => field.replace(/^start\.options\.(?:request\.)?/, ""));
}

/** The conversation that tools are shown. */
class Conversation {
  readonly messages: Message[];
  /** The answer whose calls are being executed, if it is known. */
  #answer: Message | undefined;

  constructor(messages: readonly Message[]) {
    this.messages = [...messages];
  }

  takeEvent({ event }: StreamEvent): void {
    const message = event.case === "finish" ? event.value.response?.message : undefined;
    if (message !== undefined && message.content.length > 0) this.#setAnswer(message);
  }

  /** If the sidecar sends no events, the calls are all that is known of the answer. */
  takeCall(value: ToolCall): void {
    const part = { part: { case: "toolCall", value } } as const;
    if (this.#answer === undefined)
      this.#setAnswer(create(MessageSchema, { role: Role.ASSISTANT, content: [part] }));
    else if (
      !this.#answer.content.some((each) => each.part.case === "toolCall" && each.part.value.id === value.id)
    )
      this.#answer.content.push(...create(MessageSchema, { content: [part] }).content);
  }

  takeStep(result: StepResult): void {
    if (this.#answer !== undefined) this.messages.pop();
    this.#answer = undefined;
    this.messages.push(...toStepMessages(result));
  }

  #setAnswer(answer: Message): void {
    this.#answer = answer;
    this.messages.push(answer);
  }
}

function toMessage({ content }: ToolResult): Message {
  return create(MessageSchema, { role: Role.TOOL, content });
}
