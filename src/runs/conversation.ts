/** The conversation that a run sends to the model: the messages of its thread and of its request. */
import { create } from "@bufbuild/protobuf";
import { withFieldPaths } from "../client/field-paths.ts";
import type { SDKError } from "../core/errors.ts";
import { systemMessage, toolCallsOf } from "../core/message.ts";
import { toolMessage } from "../core/tools.ts";
import { type Message, Role, type ToolCall, type ToolResult } from "../gen/outrigger/v1/message_pb.ts";
import { FinalResponse, type Request } from "../gen/outrigger/v1/request_pb.ts";
import { type Warning, WarningSchema } from "../gen/outrigger/v1/response_pb.ts";
import type { ToolApproval } from "../gen/outrigger/v1/run_pb.ts";
import { failedResult } from "../generation/loop/failed-result.ts";

/** The parts of a conversation. */
export interface ConversationParts {
  /** The messages of the thread before the run. */
  readonly history: readonly Message[];
  /** The messages that the request adds. */
  readonly input: readonly Message[];
  /** Decisions on calls that need approval, in the history or in the input. */
  readonly approvals: readonly ToolApproval[];
}

/** A message and its origin. */
export interface ConversationMessage {
  readonly message: Message;
  /** Its index in the input. Undefined if it is not part of the input. */
  readonly inputIndex: number | undefined;
}

/**
 * A conversation in which the results of each call directly follow it, regardless of the order in which they were sent.
 */
export interface Conversation {
  readonly messages: readonly ConversationMessage[];
  /** Error results that were generated for calls that were refused or have no result. */
  readonly added: readonly ToolResult[];
  /** One for each call without a result or a decision. */
  readonly warnings: readonly Warning[];
  /** Calls that were approved, to be executed before the model is called. */
  readonly approved: readonly ToolCall[];
}

/** A conversation that was checked. */
export interface CheckedConversation {
  readonly conversation: Conversation;
  /** The request for the model. */
  readonly request: Request;
}

/**
 * Returns the request for the model, with a system message if `system` has text. It asks for events that do not repeat
 * the content of the deltas.
 */
export function createModelRequest(request: Request, system: string, { messages }: Conversation): Request {
  const all = system === "" ? [] : [systemMessage(system)];
  for (const { message } of messages) all.push(message);
  return { ...request, messages: all, finalResponse: FinalResponse.FULL };
}

/** Error result for a call that the conversation continued without. */
const UNANSWERED = "the conversation continued before this call was executed";

/** Error result for a call that was refused without a reason. */
const REFUSED = "the user refused this call";

/** An assistant message with calls, and the results that were found for them. */
interface Turn {
  readonly calls: readonly ToolCall[];
  readonly isHistory: boolean;
  readonly results: ConversationMessage[];
  readonly answered: Set<string>;
}

/**
 * Joins the parts: places results after their calls, and adds an error result for each call of the history without one,
 * so that every model accepts the conversation. Results of calls that do not exist stay in place.
 * @param results Results of the approved calls that were executed. Other approved calls count as answered.
 */
export function composeConversation(
  { history, input, approvals }: ConversationParts,
  results: ReadonlyMap<string, ToolResult> = new Map(),
): Conversation {
  const turns = new Map<ConversationMessage, Turn>();
  /** The latest turn with a call of each id. Ids may repeat in later turns. */
  const latestTurns = new Map<string, Turn>();
  const order: ConversationMessage[] = [];
  const append = (message: Message, inputIndex?: number) => {
    const entry = { message, inputIndex };
    const [turn] =
      message.role === Role.TOOL ? answeredIds(message).flatMap((id) => latestTurns.get(id) ?? []) : [];
    if (turn !== undefined) {
      turn.results.push(entry);
      for (const id of answeredIds(message)) turn.answered.add(id);
      return;
    }
    order.push(entry);
    const calls = message.role === Role.ASSISTANT ? getCalls(message) : [];
    if (calls.length === 0) return;
    const newTurn = { calls, isHistory: inputIndex === undefined, results: [], answered: new Set<string>() };
    turns.set(entry, newTurn);
    for (const { id } of calls) latestTurns.set(id, newTurn);
  };
  for (const message of history) append(message);
  for (const [index, message] of input.entries()) append(message, index);

  const answers = new Map(approvals.map((approval) => [approval.toolCallId, approval]));
  const messages: ConversationMessage[] = [];
  const [added, warnings, approved]: [ToolResult[], Warning[], ToolCall[]] = [[], [], []];
  const add = (result: ToolResult) => {
    messages.push({ message: toolMessage(result), inputIndex: undefined });
    added.push(result);
  };
  for (const entry of order) {
    messages.push(entry);
    const turn = turns.get(entry);
    if (turn === undefined) continue;
    messages.push(...turn.results);
    for (const call of turn.calls) {
      const answer = answers.get(call.id);
      // A call of the input without a result is the caller's mistake, which the check of the request names.
      if (turn.answered.has(call.id) || (!turn.isHistory && answer === undefined)) continue;
      const result = results.get(call.id);
      if (result !== undefined) messages.push({ message: toolMessage(result), inputIndex: undefined });
      else if (answer?.approve === true) approved.push(call);
      else if (answer !== undefined) add(refusedResult(answer));
      else {
        warnings.push(createUnansweredWarning(call));
        add(failedResult(call, UNANSWERED));
      }
    }
  }
  return { messages, added, warnings, approved };
}

function createUnansweredWarning({ id }: ToolCall): Warning {
  const message = `the tool call ${JSON.stringify(id)} had no result; the model gets an error result`;
  return create(WarningSchema, { code: "unanswered_tool_call", field: "options.request.messages", message });
}

/** Returns the error result for a call that was refused. */
export function refusedResult({ toolCallId, reason }: ToolApproval): ToolResult {
  return failedResult({ id: toolCallId }, reason || REFUSED);
}

/** Ids of the calls that a message of role TOOL answers. */
export function answeredIds({ content, toolCallId }: Message): string[] {
  const ids = content.flatMap(({ part }) => (part.case === "toolResult" ? [part.value.toolCallId] : []));
  return ids.length > 0 ? ids : [toolCallId];
}

/** Ids of the calls without a result in any message. */
export function openCallIds(messages: readonly Message[]): string[] {
  const open = new Set(messages.flatMap(getCalls).map(({ id }) => id));
  for (const message of messages)
    if (message.role === Role.TOOL) for (const id of answeredIds(message)) open.delete(id);
  return [...open];
}

function getCalls(message: Message): readonly ToolCall[] {
  return message.content.some(({ part }) => part.case === "toolCall") ? toolCallsOf(message) : [];
}

const MESSAGE = /^messages\[(\d+)\](.*)$/;

/** Maps fields of the model request to fields of the caller's request. */
export interface RunFields {
  /** Text of the system message before the conversation. Empty: none. */
  readonly system: string;
  readonly conversation: Pick<Conversation, "messages">;
  /** Path of the messages of the input: `options.request.messages`. */
  readonly inputPath: string;
}

/** Replaces the paths of the model's request by the paths of the caller's request. */
export function withRunFields(error: SDKError, fields: RunFields): SDKError {
  return withFieldPaths(error, (field) => toRunField(field, fields));
}

/** Maps a field of the model request to the field of the caller's request. */
export function toRunField(field: string, { system, conversation, inputPath }: RunFields): string {
  const before = system === "" ? 0 : 1;
  if (field === "mcp_servers" || field.startsWith("mcp_servers[")) return field;
  if (field === "request") return "options.request";
  const [, index, rest = ""] = MESSAGE.exec(field) ?? [];
  if (index === undefined) return `options.request.${field}`;
  if (Number(index) < before) return "options.system";
  const inputIndex = conversation.messages[Number(index) - before]?.inputIndex;
  // The caller's request has no path for a message of the thread.
  return inputIndex === undefined ? "previous_run_id" : `${inputPath}[${inputIndex}]${rest}`;
}
