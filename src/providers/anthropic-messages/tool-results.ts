/** Messages of tools -> `tool_result` blocks (provider documentation: "Tool use", "Handling tool results"). */

import type { ContentPart, Message, ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import type { ToolCallIdMapper } from "../../kit/adapter/tool-call-id-mapper.ts";
import type { ToolResultBlockParam } from "../../wire/anthropic-messages/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { RequestContext } from "./context.ts";
import { type Turn, toTurn } from "./turns.ts";
import { toUserContent } from "./user-content.ts";

/** Facts about the calls so far that their results need. */
export interface AnsweredCalls {
  readonly ids: ToolCallIdMapper;
  /** Toolsets by the id of the call on the wire. */
  readonly toolsets: ReadonlyMap<string, string>;
}

/**
 * Returns the turn of a message of role TOOL: its results, or one result with all of its content.
 * @throws InvalidRequestError naming the part that the API has no form for.
 */
export async function toToolResults(
  { content, toolCallId }: Message,
  field: string,
  context: RequestContext,
  calls: AnsweredCalls,
): Promise<Turn> {
  if (content.every(({ part }) => part.case !== "toolResult"))
    return toResultTurn({ toolCallId, content, failed: false }, field, context, calls);
  const turns: Turn[] = [];
  for (const [index, part] of content.entries())
    turns.push(await toPartTurn(part, `${field}.content[${index}]`, context, calls));
  return toTurn({
    role: "user",
    field,
    results: turns.flatMap(({ results }) => results),
    content: turns.flatMap((turn) => turn.content),
    answers: turns.flatMap(({ answers }) => answers),
  });
}

async function toPartTurn(
  whole: ContentPart,
  field: string,
  context: RequestContext,
  calls: AnsweredCalls,
): Promise<Turn> {
  const { part } = whole;
  if (part.case === "toolResult") return toResultTurn(part.value, `${field}.tool_result`, context, calls);
  return toTurn({ role: "user", field, content: await toUserContent([whole], field, context) });
}

async function toResultTurn(
  { toolCallId, content, failed }: Pick<ToolResult, "toolCallId" | "content" | "failed">,
  field: string,
  context: RequestContext,
  { ids, toolsets }: AnsweredCalls,
): Promise<Turn> {
  const id = ids.ofResult(toolCallId);
  const toolset = toolsets.get(id);
  const blocks = await toUserContent(content, `${field}.content`, context);
  const result: Untrusted<ToolResultBlockParam> = {
    type: "tool_result",
    tool_use_id: id,
    content: blocks.length === 0 ? undefined : blocks,
    is_error: failed ? true : undefined,
    toolset_name: toolset,
  };
  return toTurn({ role: "user", field, results: [result], answers: [{ id, field }] });
}
