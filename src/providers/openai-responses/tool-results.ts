import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import { asString, type JsonObject } from "../../kit/json/json.ts";
import type { Calls } from "./tool-call-ids.ts";
import { inputParts, isItem, type PartContext, type PlacedPart, placed } from "./user-content.ts";
import type { Item } from "./wire.ts";

/** What the translation of results needs. */
export interface ResultContext extends PartContext {
  readonly calls: Calls;
}

/** What answers one call. */
interface Result {
  readonly toolCallId: string;
  readonly parts: PlacedPart[];
  /** Path of the flag that says that the tool failed; undefined where it did not. */
  failed: string | undefined;
}

/**
 * The items of a message of role TOOL: one `function_call_output` or `custom_tool_call_output` for
 * each call that it answers, then the items that it brings as native parts.
 */
export async function resultItems(message: Message, field: string, context: ResultContext): Promise<Item[]> {
  const all = placed(message.content, `${field}.content`);
  const parts = all.filter(({ part }) => !isItem(part, context));
  const items: Item[] = [];
  for (const result of resultsIn(message, parts)) items.push(await outputItem(result, context));
  const natives = all.filter(({ part }) => isItem(part, context));
  return [...items, ...(await inputParts(natives, context))];
}

/** Parts that are no `tool_result` answer the call that the message names. */
function resultsIn({ toolCallId, content }: Message, parts: readonly PlacedPart[]): Iterable<Result> {
  const results = new Map<string, Result>();
  const resultOf = (id: string) => {
    const result = results.get(id) ?? { toolCallId: id, parts: [], failed: undefined };
    results.set(id, result);
    return result;
  };
  if (content.length === 0) resultOf(toolCallId);
  for (const placedPart of parts) {
    const { part } = placedPart.part;
    if (part.case !== "toolResult") {
      resultOf(toolCallId).parts.push(placedPart);
      continue;
    }
    const resultField = `${placedPart.field}.tool_result`;
    const result = resultOf(part.value.toolCallId || toolCallId);
    result.parts.push(...placed(part.value.content, `${resultField}.content`));
    if (part.value.isError) result.failed = `${resultField}.is_error`;
  }
  return results.values();
}

async function outputItem({ toolCallId, parts, failed }: Result, context: ResultContext): Promise<Item> {
  const output = await inputParts(parts, context);
  if (failed !== undefined) {
    const message = "the Responses API has no error flag; the result says it in its text";
    context.loss.note(failed, "converted_content", message);
  }
  return {
    ...context.calls.answerTo(toolCallId),
    output: failed === undefined ? outputOf(output) : failureOf(output),
  };
}

/** A single text goes as a string, which every compatible server takes; the rest as a list. */
function outputOf(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  return onlyText(parts) ?? parts;
}

/** Goes before what a tool that failed has to say. Constant, so that the prompt cache finds it again. */
const ERROR_MARK = "The tool failed:";

function failureOf(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  const text = onlyText(parts);
  return text === undefined ? [{ type: "input_text", text: ERROR_MARK }, ...parts] : `${ERROR_MARK} ${text}`;
}

/** The text where nothing else is there. A part that is spelled out has more to say. */
function onlyText([first, ...rest]: readonly JsonObject[]): string | undefined {
  if (first === undefined) return "";
  return rest.length === 0 && first.type === "input_text" ? asString(first.text) : undefined;
}
