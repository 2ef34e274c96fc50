import { create, type JsonValue } from "@bufbuild/protobuf";
import { toJson } from "../../core/json-form.ts";
import { reasoningOf, textOf, toolCallsOf } from "../../core/message.ts";
import { type CompleteResponse, completeResponse } from "../../core/response.ts";
import type { Attempt } from "../../gen/outrigger/v1/attempt_pb.ts";
import {
  type GenerateResult as GenerateResultMessage,
  type StepResult as StepResultMessage,
  GenerateResult_StopReason as StopReason,
} from "../../gen/outrigger/v1/generation_pb.ts";
import type { Message, ToolCall, ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import { type FinishReason, ResponseSchema, type Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { isPaused, messagesOfStep } from "./continuation.ts";

/** Why a generation ended without an error, in words. */
export type StopReasonName = keyof typeof StopReason;

/** Decides after each step whose tools were executed whether the generation ends. */
export type StopCondition = (steps: readonly StepResult[]) => boolean | Promise<boolean>;

/** What a model wrote, with the results of its tools. */
abstract class Answer {
  /** The model's answer, whole. */
  abstract readonly response: CompleteResponse;
  /** Results of the tools that were executed, in the order of the calls. */
  abstract readonly toolResults: readonly ToolResult[];

  /** The text of the answer. Empty where there is none. */
  get text(): string {
    return textOf(this.response);
  }

  /** The reasoning that the provider showed. Empty where there is none. */
  get reasoning(): string {
    return reasoningOf(this.response);
  }

  /** The tool calls of the answer, in their order. */
  get toolCalls(): readonly ToolCall[] {
    return toolCallsOf(this.response);
  }

  /** The calls that have no result: those of passive tools, and those that a limit kept from being executed. */
  get openCalls(): readonly ToolCall[] {
    const answered = new Set(this.toolResults.map(({ toolCallId }) => toolCallId));
    return this.toolCalls.filter(({ id }) => !answered.has(id));
  }

  /** Why the model stopped. */
  get finishReason(): FinishReason {
    return this.response.finishReason;
  }

  /** What the answer cost. Undefined where the provider does not say. */
  get usage(): Usage | undefined {
    return this.response.usage;
  }

  /** What was changed, left out or observed. */
  get warnings(): readonly Warning[] {
    return this.response.warnings;
  }
}

/** One call of the model and the tools that it asked for. */
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

  /** What the step adds to its conversation: the answer and the results of its tools. */
  get messages(): readonly Message[] {
    return messagesOfStep(this.#message);
  }

  /** Calls whose arguments were repaired before they were executed, as executed. */
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

/** What a generation gave. `text`, `toolCalls`, `usage` and the like are those of the last step. */
export class GenerateResult extends Answer {
  /** All steps, in their order. */
  readonly steps: readonly StepResult[];
  readonly response: CompleteResponse;
  readonly #message: GenerateResultMessage;

  constructor(message: GenerateResultMessage) {
    super();
    this.#message = message;
    this.steps = message.steps.map((step) => new StepResult(step));
    // Unlike the message's own, it has its content in any case.
    this.response = createResponse(message.steps.at(-1));
  }

  /** The text of the answer. If the provider paused its turn, it is that of all steps of the turn. */
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

  /** What all steps cost. Undefined where no provider says. */
  get totalUsage(): Usage | undefined {
    return this.#message.totalUsage;
  }

  /** Why the generation ended: `COMPLETED`, `TOOL_CALLS`, `MAX_TOOL_ROUNDS`. A reason that is not known is `UNSPECIFIED`. */
  get stopReason(): StopReasonName {
    return NAMES.get(this.#message.stopReason) ?? "UNSPECIFIED";
  }

  /** All calls of providers, failed ones included. */
  get attempts(): readonly Attempt[] {
    return this.#message.attempts;
  }

  /** What the generation adds to its conversation: append it for the next turn. */
  get messages(): readonly Message[] {
    return this.#message.steps.flatMap(messagesOfStep);
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

const NAMES: ReadonlyMap<StopReason, StopReasonName> = new Map([
  [StopReason.COMPLETED, "COMPLETED"],
  [StopReason.TOOL_CALLS, "TOOL_CALLS"],
  [StopReason.MAX_TOOL_ROUNDS, "MAX_TOOL_ROUNDS"],
  [StopReason.STOP_WHEN, "STOP_WHEN"],
  [StopReason.MAX_STEPS, "MAX_STEPS"],
  [StopReason.MAX_TOTAL_TOKENS, "MAX_TOTAL_TOKENS"],
  [StopReason.MAX_COST, "MAX_COST"],
  [StopReason.MAX_TOOL_CALLS, "MAX_TOOL_CALLS"],
]);

/** A condition over steps as the loop asks it: each step is wrapped once. */
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
