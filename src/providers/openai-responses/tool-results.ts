import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import { asString, type JsonObject } from "../../kit/json/json.ts";
import type { FunctionCallOutput, InputText } from "../../wire/openai-responses/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { RequestContext } from "./context.ts";
import { isItem, type PartWithPath, toUserContent, withPaths } from "./user-content.ts";

/** The result of one call. */
interface Result {
  readonly toolCallId: string;
  readonly parts: PartWithPath[];
  /** Path of the `failed` flag that is set; undefined if none is. */
  errorField: string | undefined;
}

/**
 * Returns the items of a message of role TOOL: one `function_call_output` or `custom_tool_call_output` for each call
 * that it answers, then the items among its native parts.
 */
export async function toResultItems(
  message: Message,
  field: string,
  context: RequestContext,
): Promise<JsonObject[]> {
  const all = withPaths(message.content, `${field}.content`);
  const parts = all.filter(({ part }) => !isItem(part, context));
  const items: JsonObject[] = [];
  for (const result of collectResults(message, parts)) items.push(await outputItem(result, context));
  const natives = all.filter(({ part }) => isItem(part, context));
  return [...items, ...(await toUserContent(natives, context))];
}

/** Returns the results. Parts other than `tool_result` answer the call that the message names. */
function collectResults({ toolCallId, content }: Message, parts: readonly PartWithPath[]): Iterable<Result> {
  const results = new Map<string, Result>();
  const toResult = (id: string) => {
    const result = results.get(id) ?? { toolCallId: id, parts: [], errorField: undefined };
    results.set(id, result);
    return result;
  };
  if (content.length === 0) toResult(toolCallId);
  for (const partWithPath of parts) {
    const { part } = partWithPath.part;
    if (part.case !== "toolResult") {
      toResult(toolCallId).parts.push(partWithPath);
      continue;
    }
    const resultField = `${partWithPath.field}.tool_result`;
    const result = toResult(part.value.toolCallId || toolCallId);
    for (const inner of withPaths(part.value.content, `${resultField}.content`)) result.parts.push(inner);
    if (part.value.failed) result.errorField = `${resultField}.failed`;
  }
  return results.values();
}

async function outputItem(
  { toolCallId, parts, errorField }: Result,
  context: RequestContext,
): Promise<JsonObject> {
  const output = await toUserContent(parts, context);
  if (errorField !== undefined) {
    const message = "the Responses API has no error flag; the text of the result marks the error";
    context.loss.note(errorField, "converted_content", message);
  }
  return {
    ...context.getToolCallIds().ofResult(toolCallId),
    output: errorField === undefined ? toOutput(output) : toErrorOutput(output),
  } satisfies Untrusted<FunctionCallOutput>;
}

/** Returns a single text as a string, which every compatible server accepts; anything else as a list. */
function toOutput(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  return onlyText(parts) ?? parts;
}

/** Prefix of the output of a failed tool. Constant, so that the prompt cache recognizes it. */
const ERROR_MARK = "The tool failed:";

function toErrorOutput(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  const text = onlyText(parts);
  return text === undefined ? [{ type: "input_text", text: ERROR_MARK }, ...parts] : `${ERROR_MARK} ${text}`;
}

/** Returns the text, if there is no other part. The fields of native parts are not read. */
function onlyText([first, ...rest]: readonly Untrusted<InputText>[]): string | undefined {
  if (first === undefined) return "";
  return rest.length === 0 && first.type === "input_text" ? asString(first.text) : undefined;
}
