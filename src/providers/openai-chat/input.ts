/**
 * Our messages -> `messages` (provider documentation: "Create chat completion"). They come in the
 * order of the conversation, the same for the same history in every turn, so that prompt caches
 * find the beginning again.
 */

import { invalidField } from "../../core/errors.ts";
import { type ContentPart, type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import { parseObjectField, textIn } from "../../kit/json/json.ts";
import { assistantTurn } from "./assistant.ts";
import type { RequestContext } from "./context.ts";
import { mediaChunk } from "./media.ts";
import { type PlacedResult, ToolResults } from "./tool-results.ts";
import { type ContentChunk, WIRE_NAME, type WireMessage } from "./wire.ts";

/** Translates the conversation. Throws InvalidRequestError naming the part that the server has no form for. */
export async function toMessages(context: RequestContext): Promise<WireMessage[]> {
  const { messages } = context.request;
  const results = new ToolResults(messages, context.loss);
  const wire: WireMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const field = `messages[${index}]`;
    const { role } = message;
    if (role === Role.TOOL) results.checkTaken(index);
    else if (role === Role.ASSISTANT) wire.push(...(await turn(message, index, results, context)));
    else wire.push(await plainMessage(message, field, context));
  }
  return wire;
}

async function plainMessage(message: Message, field: string, context: RequestContext): Promise<WireMessage> {
  const role = roleOf(message.role, field, context);
  const chunks = await chunksOf(message.content, `${field}.content`, context);
  return { role, ...nameOf(message.name, field, context), content: simplest(chunks) };
}

function roleOf(role: Role, field: string, { profile }: RequestContext): string {
  switch (role) {
    case Role.SYSTEM:
      return "system";
    case Role.DEVELOPER:
      return profile.systemRole;
    case Role.USER:
      return "user";
    default:
      throw invalidField(`${field}.role`, `expected a role of the contract, found ${role}`);
  }
}

function nameOf(name: string, field: string, { profile, loss }: RequestContext): { name?: string } {
  if (name === "") return {};
  if (profile.supportsNames) return { name };
  loss.lose(`${field}.name`, "unsupported_setting", "the server takes no names of speakers; it was left out");
  return {};
}

/** A single text goes as a string, which every server takes. */
function simplest(chunks: readonly ContentChunk[]): string | readonly ContentChunk[] {
  if (chunks.length === 0) return "";
  const [first] = chunks;
  return chunks.length === 1 && first?.type === "text" ? textIn(first.text) : chunks;
}

async function chunksOf(
  parts: readonly ContentPart[],
  field: string,
  context: RequestContext,
): Promise<ContentChunk[]> {
  const chunks: ContentChunk[] = [];
  for (const [index, part] of parts.entries()) {
    const chunk = await chunkOf(part, `${field}[${index}]`, context);
    if (chunk !== undefined) chunks.push(chunk);
  }
  return chunks;
}

async function chunkOf(
  whole: ContentPart,
  field: string,
  context: RequestContext,
): Promise<ContentChunk | undefined> {
  const { part } = whole;
  switch (part.case) {
    case "text":
      return { type: "text", text: part.value };
    case "image":
    case "audio":
    case "document":
      return mediaChunk(part, `${field}.${part.case}`, context.media, context.profile);
    case "native":
      if (part.value.provider === context.provider || part.value.provider === WIRE_NAME)
        return parseObjectField(part.value.dataJson, `${field}.native.data_json`);
      replaceForeignPart(whole, context.request.foreignState, field, context.loss);
      return undefined;
    default:
      throw invalidField(
        field,
        `expected text, an image, audio or a document here, found ${part.case ?? "nothing"}`,
      );
  }
}

/** An assistant message, the results of its calls, and what neither may hold, as the user's. */
async function turn(
  message: Message,
  index: number,
  results: ToolResults,
  context: RequestContext,
): Promise<WireMessage[]> {
  const field = `messages[${index}]`;
  const name = nameOf(message.name, field, context).name ?? "";
  const said = await assistantTurn({ ...message, name }, field, context);
  const carried = [...said.carried];
  const answers: WireMessage[] = [];
  for (const result of results.take(said.calls, index)) {
    const answer = await toolMessage(result, context);
    answers.push(answer.message);
    carried.push(...answer.carried);
  }
  return [
    ...(said.message === undefined ? [] : [said.message]),
    ...answers,
    ...(carried.length === 0 ? [] : [{ role: "user", content: carried }]),
  ];
}

/** A tool result, and what of it has to follow in a user message. */
interface ToolAnswer {
  readonly message: WireMessage;
  readonly carried: readonly ContentChunk[];
}

async function toolMessage(result: PlacedResult, context: RequestContext): Promise<ToolAnswer> {
  const { profile, callIds } = context;
  const id = callIds.ofResult(result.toolCallId);
  const chunks = await chunksOf(result.content, `${result.field}.content`, context);
  if (result.isError) markFailed(chunks, result.field, context);
  const media = chunks.filter(({ type }) => type !== "text");
  const message = { role: "tool", tool_call_id: id };
  if (media.length === 0) return { message: { ...message, content: joined(chunks) }, carried: [] };
  if (profile.supportsToolResultMedia) return { message: { ...message, content: chunks }, carried: [] };
  const moved = "the API takes only text in a tool result; the rest was sent in a user message behind it";
  context.loss.lose(`${result.field}.content`, "converted_content", moved);
  const text = joined(chunks.filter(({ type }) => type === "text"));
  return {
    message: { ...message, content: text === "" ? SEE_BELOW : text },
    carried: [{ type: "text", text: `Of the tool result ${id}:` }, ...media],
  };
}

/** Stands for a result that is sent in the user message behind it. Constant, as all such words are. */
const SEE_BELOW = "(see the user message below)";

/** Goes before the text of a tool that failed. */
const ERROR_MARK = "The tool failed:";

function markFailed(chunks: ContentChunk[], field: string, { loss }: RequestContext): void {
  const [first] = chunks;
  if (first?.type === "text") chunks[0] = { ...first, text: `${ERROR_MARK} ${textIn(first.text)}` };
  else chunks.unshift({ type: "text", text: ERROR_MARK });
  const message = "the API has no error flag; the result says it in its text";
  loss.note(`${field}.is_error`, "converted_content", message);
}

/** Texts of a result as one, since most servers take only a string. */
function joined(texts: readonly ContentChunk[]): string {
  return texts.map(({ text }) => textIn(text)).join("\n\n");
}
