/**
 * Which tool result answers which call. The API wants the results of a message's calls directly
 * behind it, all of them, and nothing between.
 */

import { invalidField } from "../../core/errors.ts";
import { type ContentPart, type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";

/** A result and where it stands in the request. */
export interface PlacedResult {
  readonly toolCallId: string;
  readonly content: readonly ContentPart[];
  readonly isError: boolean;
  /** Path of the result in the request. */
  readonly field: string;
  /** Number of its message. */
  readonly message: number;
}

/** A call that waits for its result. */
export interface WaitingCall {
  readonly id: string;
  /** Path of the call in the request. */
  readonly field: string;
}

/** The results of a conversation, each of which answers one call. */
export class ToolResults {
  readonly #messages: readonly Message[];
  readonly #loss: LossReport;
  readonly #left: PlacedResult[];

  constructor(messages: readonly Message[], loss: LossReport) {
    this.#messages = messages;
    this.#loss = loss;
    this.#left = messages.flatMap((message, index) =>
      message.role === Role.TOOL ? resultsIn(message, index) : [],
    );
  }

  /**
   * Takes the results of a message's calls, in the order in which they stand.
   * @param message Number of the assistant message.
   * @throws InvalidRequestError where a call has none.
   */
  take(calls: readonly WaitingCall[], message: number): PlacedResult[] {
    const taken = calls.map((call) => this.#takeFor(call, message));
    const end = this.#endOfRun(message);
    for (const result of taken) {
      if (result.message < end) continue;
      const moved = "the result was moved to directly behind its call, where the API wants it";
      this.#loss.lose(result.field, "converted_content", moved);
    }
    return taken.sort((left, right) => left.message - right.message);
  }

  /** Throws InvalidRequestError where a result of a message answers no call before it. */
  checkTaken(message: number): void {
    const stray = this.#left.find((result) => result.message === message);
    if (stray === undefined) return;
    const expected = "expected the id of an earlier tool call without a result";
    throw invalidField(`${stray.field}.tool_call_id`, expected);
  }

  #takeFor({ id, field }: WaitingCall, message: number): PlacedResult {
    const at = this.#left.findIndex((result) => result.message > message && result.toolCallId === id);
    const [result] = at < 0 ? [] : this.#left.splice(at, 1);
    if (result !== undefined) return result;
    throw invalidField(field, "has no tool result behind it; the API takes no call without one");
  }

  /** Number of the first message behind the results that follow a message. */
  #endOfRun(message: number): number {
    let end = message + 1;
    while (this.#messages[end]?.role === Role.TOOL) end += 1;
    return end;
  }
}

function resultsIn({ content, toolCallId }: Message, message: number): PlacedResult[] {
  const field = `messages[${message}]`;
  const results = content.flatMap(({ part }, index): PlacedResult[] => {
    if (part.case !== "toolResult") return [];
    const { content: parts, isError } = part.value;
    const id = part.value.toolCallId || toolCallId;
    const own = `${field}.content[${index}].tool_result`;
    return [{ toolCallId: id, content: parts, isError, field: own, message }];
  });
  return results.length > 0 ? results : [{ toolCallId, content, isError: false, field, message }];
}
