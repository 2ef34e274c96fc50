/**
 * Tool results -> messages of role `tool` (provider documentation: "Function calling"). The API expects the results of
 * all calls of a message directly after it.
 */

import { invalidField } from "../../core/errors.ts";
import { type ContentPart, type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import { textIn } from "../../kit/json/json.ts";
import type { ContentPartParam, ToolMessageParam } from "../../wire/openai-chat/request.ts";
import type { RequestContext } from "./context.ts";
import { toUserContent } from "./user-content.ts";

/** A tool result and its location in the request. */
export interface LocatedResult {
  readonly toolCallId: string;
  readonly content: readonly ContentPart[];
  readonly failed: boolean;
  /** Path of the result in the request. */
  readonly field: string;
  /** Index of its message. */
  readonly message: number;
}

/** A tool call that needs a result. */
export interface PendingCall {
  readonly id: string;
  /** Path of the call in the request. */
  readonly field: string;
}

/** The tool results of a conversation, each of which answers one call. */
export class ToolResults {
  readonly #messages: readonly Message[];
  readonly #loss: LossReport;
  /** Results that no call has taken, by the ids of their calls. */
  readonly #byCallId: ReadonlyMap<string, LocatedResult[]>;
  /** The same results, by the indices of their messages. */
  readonly #byMessage: ReadonlyMap<number, Set<LocatedResult>>;

  constructor(messages: readonly Message[], loss: LossReport) {
    this.#messages = messages;
    this.#loss = loss;
    const unused = messages.flatMap((message, index) =>
      message.role === Role.TOOL ? collectResults(message, index) : [],
    );
    this.#byCallId = Map.groupBy(unused, ({ toolCallId }) => toolCallId);
    const byMessage = Map.groupBy(unused, ({ message }) => message);
    this.#byMessage = new Map([...byMessage].map(([message, results]) => [message, new Set(results)]));
  }

  /**
   * Takes the results of a message's calls, in the order of the calls.
   * @param message Index of the assistant message.
   * @throws InvalidRequestError if a call has none.
   */
  take(calls: readonly PendingCall[], message: number): LocatedResult[] {
    const taken = calls.map((call) => this.#takeFor(call, message));
    const end = this.#findResultsEnd(message);
    for (const result of taken) {
      if (result.message < end) continue;
      const moved = "the result was moved to directly after its call, where the API expects it";
      this.#loss.lose(result.field, "converted_content", moved);
    }
    return taken.sort((left, right) => left.message - right.message);
  }

  /** Throws InvalidRequestError if a result of a message answers no call before it. */
  checkTaken(message: number): void {
    const [stray] = this.#byMessage.get(message) ?? [];
    if (stray === undefined) return;
    const expected = "expected the id of an earlier tool call without a result";
    throw invalidField(`${stray.field}.tool_call_id`, expected);
  }

  #takeFor({ id, field }: PendingCall, message: number): LocatedResult {
    const results = this.#byCallId.get(id) ?? [];
    const at = results.findIndex((result) => result.message > message);
    const [result] = at < 0 ? [] : results.splice(at, 1);
    if (result === undefined)
      throw invalidField(field, "has no tool result after it; the API requires one for each call");
    this.#byMessage.get(result.message)?.delete(result);
    return result;
  }

  /** Returns the index of the first message after the results that follow a message. */
  #findResultsEnd(message: number): number {
    let end = message + 1;
    while (this.#messages[end]?.role === Role.TOOL) end += 1;
    return end;
  }
}

function collectResults({ content, toolCallId }: Message, message: number): LocatedResult[] {
  const field = `messages[${message}]`;
  const results = content.flatMap(({ part }, index): LocatedResult[] => {
    if (part.case !== "toolResult") return [];
    const { content: parts, failed } = part.value;
    const id = part.value.toolCallId || toolCallId;
    const resultField = `${field}.content[${index}].tool_result`;
    return [{ toolCallId: id, content: parts, failed, field: resultField, message }];
  });
  return results.length > 0 ? results : [{ toolCallId, content, failed: false, field, message }];
}

/** A tool result in the form that the server takes. */
export interface ToolMessage {
  readonly message: ToolMessageParam;
  /** Parts that must be moved to a user message after the results. */
  readonly moved: readonly ContentPartParam[];
}

/** Translates a tool result. Throws InvalidRequestError naming the part that the server has no form for. */
export async function toToolMessage(result: LocatedResult, context: RequestContext): Promise<ToolMessage> {
  const { profile, callIds } = context;
  const id = callIds.ofResult(result.toolCallId);
  const parts = await toUserContent(result.content, `${result.field}.content`, context);
  if (result.failed) markError(parts, result.field, context);
  const message = { role: "tool", tool_call_id: id } as const;
  const media = parts.filter(({ type }) => type !== "text");
  if (media.length === 0) return { message: { ...message, content: joinTexts(parts) }, moved: [] };
  if (profile.supportsToolResultMedia) return { message: { ...message, content: parts }, moved: [] };
  const warning = "the API accepts only text in a tool result; the rest was moved to a user message after it";
  context.loss.lose(`${result.field}.content`, "converted_content", warning);
  return {
    message: { ...message, content: joinTexts(parts) || SEE_BELOW },
    moved: [{ type: "text", text: `Of the tool result ${id}:` }, ...media],
  };
}

/** Replaces a result that was moved as a whole. Constant, so that a prompt cache recognizes it. */
const SEE_BELOW = "(see the user message below)";

/** Precedes the text of a failed tool. */
const ERROR_MARK = "The tool failed:";

function markError(parts: ContentPartParam[], field: string, { loss }: RequestContext): void {
  const [first] = parts;
  if (first?.type === "text") parts[0] = { ...first, text: `${ERROR_MARK} ${textIn(first.text)}` };
  else parts.unshift({ type: "text", text: ERROR_MARK });
  const message = "the API has no error flag; the error is stated in the text of the result";
  loss.note(`${field}.failed`, "converted_content", message);
}

/** Joins the texts of a result, since most servers accept only a string. */
function joinTexts(parts: readonly ContentPartParam[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}
