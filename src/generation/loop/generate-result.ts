import { create, type JsonValue } from "@bufbuild/protobuf";
import { toJson } from "../../core/json-form.ts";
import { reasoningOf, textOf, toolCallsOf } from "../../core/message.ts";
import { type CompleteResponse, completeResponse, isPaused } from "../../core/response.ts";
import { toolMessage } from "../../core/tools.ts";
import type { Attempt } from "../../gen/outrigger/v1/attempt_pb.ts";
import {
  GenerateResult_StopReasonSchema,
  type GenerateResult as GenerateResultMessage,
  type StepResult as StepResultMessage,
  type GenerateResult_StopReason as StopReason,
} from "../../gen/outrigger/v1/generation_pb.ts";
import type { Message, ToolCall, ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import { type FinishReason, ResponseSchema, type Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";

/** Why a generation ended without an error, in words. */
export type StopReasonName = keyof typeof StopReason;

/** Decides after each step whose tools were executed whether the generation ends. */
export type StopCondition = (steps: readonly StepResult[]) => boolean | Promise<boolean>;

/** A model's output, with the results of its tools. */
abstract class Answer {
  /** The model's whole answer. */
  abstract readonly response: CompleteResponse;
  /** Results of the tools that were executed, in the order of the calls. */
  abstract readonly toolResults: readonly ToolResult[];

  /** The text of the answer. Empty if there is none. */
  get text(): string {
    return textOf(this.response);
  }

  /** The reasoning that the provider showed. Empty if there is none. */
  get reasoning(): string {
    return reasoningOf(this.response);
  }

  /** The tool calls of the answer, in order. */
  get toolCalls(): readonly ToolCall[] {
    return toolCallsOf(this.response);
  }

  /** The calls that have no result: calls of passive tools, and calls that a limit kept from being executed. */
  get openCalls(): readonly ToolCall[] {
    const answered = new Set(this.toolResults.map(({ toolCallId }) => toolCallId));
    return this.toolCalls.filter(({ id }) => !answered.has(id));
  }

  /** Why the model stopped. */
  get finishReason(): FinishReason {
    return this.response.finishReason;
  }

  /** The usage of the answer. Undefined if the provider does not report it. */
  get usage(): Usage | undefined {
    return this.response.usage;
  }

  /** Notes about parts that were changed, left out or observed. */
  get warnings(): readonly Warning[] {
    return this.response.warnings;
  }
}

/** One call of the model and the tools that it called. */
export class StepResult extends Answer {
  readonly response: CompleteResponse;
  readonly #message: StepResultMessage;

  constructor(message: StepResultMessage) {
    super();
    this.#message = message;
    this.response = createResponse(message);
  }

  get toolResults(): readonly ToolResult[] {
    return this.#message.toolResults;
  }

  /** The messages that the step adds to its conversation: the answer and the results of its tools. */
  get messages(): readonly Message[] {
    return toStepMessages(this.#message);
  }

  /** Calls whose arguments were repaired, in the form in which they were executed. */
  get repairedCalls(): readonly ToolCall[] {
    return this.#message.repairedCalls;
  }

  /** The step as a message of the contract. */
  toProto(): StepResultMessage {
    return this.#message;
  }

  /** For `JSON.stringify`: the contract's JSON form. */
  toJSON(): JsonValue {
    return toJson(this.#message);
  }
}

/** The result of a generation. `text`, `toolCalls`, `usage` and the like belong to the last step. */
export class GenerateResult extends Answer {
  /** All steps, in their order. */
  readonly steps: readonly StepResult[];
  readonly response: CompleteResponse;
  readonly #message: GenerateResultMessage;

  constructor(message: GenerateResultMessage) {
    super();
    this.#message = message;
    this.steps = message.steps.map((step) => new StepResult(step));
    // Unlike the response in the message, it always has its content.
    this.response = createResponse(message.steps.at(-1));
  }

  /** The text of the answer. If the provider paused its turn, the text of all steps of the turn. */
  override get text(): string {
    const turn = [super.text];
    for (const step of this.steps.slice(0, -1).toReversed()) {
      if (!isPaused(step.response)) break;
      turn.unshift(step.text);
    }
    return turn.join("");
  }

  /** Results of the tools that the last step executed. */
  get toolResults(): readonly ToolResult[] {
    return this.steps.at(-1)?.toolResults ?? [];
  }

  /** The usage of all steps. Undefined if no provider reports it. */
  get totalUsage(): Usage | undefined {
    return this.#message.totalUsage;
  }

  /** Why the generation ended: `COMPLETED`, `TOOL_CALLS`, `MAX_TOOL_ROUNDS`. An unknown reason is `UNSPECIFIED`. */
  get stopReason(): StopReasonName {
    return NAMES.get(this.#message.stopReason) ?? "UNSPECIFIED";
  }

  /** All calls of providers, including failed ones. */
  get attempts(): readonly Attempt[] {
    return this.#message.attempts;
  }

  /** The messages that the generation adds to its conversation: append them for the next turn. */
  get messages(): readonly Message[] {
    return this.#message.steps.flatMap(toStepMessages);
  }

  /** The result as a message of the contract. */
  toProto(): GenerateResultMessage {
    return this.#message;
  }

  /** For `JSON.stringify`: the contract's JSON form. */
  toJSON(): JsonValue {
    return toJson(this.#message);
  }
}

const NAMES: ReadonlyMap<number, StopReasonName> = new Map(
  GenerateResult_StopReasonSchema.values.map(({ number, localName }) => [
    number,
    localName as StopReasonName,
  ]),
);

/** Adapts a condition over steps to the loop. Each step is wrapped once. */
export function stepsCondition(
  condition: StopCondition,
): (steps: readonly StepResultMessage[]) => boolean | Promise<boolean> {
  const wrapped: StepResult[] = [];
  return (steps) => {
    for (const step of steps.slice(wrapped.length)) wrapped.push(new StepResult(step));
    return condition(wrapped);
  };
}

function createResponse(step: StepResultMessage | undefined): CompleteResponse {
  return completeResponse(step?.response ?? create(ResponseSchema));
}

/**
 * Returns the messages that a step adds to its conversation: the answer unchanged, then one message for each result, in
 * order.
 */
export function toStepMessages({ response, toolResults }: StepResultMessage): Message[] {
  const answer = response?.message;
  return [...(answer === undefined ? [] : [answer]), ...toolResults.map(toolMessage)];
}
