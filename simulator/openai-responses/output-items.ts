import type {
  CustomToolCall,
  FunctionCall,
  OutputMessage,
  OutputText,
  ReasoningItem,
} from "../../src/wire/openai-responses/items.ts";
import type {
  ImageGenerationCall,
  URLCitation,
  WebSearchCall,
} from "../../src/wire/openai-responses/response.ts";
import { countCodePoints } from "../script/code-points.ts";
import type {
  ImagePart,
  Part,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  Turn,
  WebSearchPart,
} from "../script/turn.ts";
import type { CheckedRequest } from "./checked-request.ts";
import { type ContentPlace, encryptReasoning } from "./encrypted-reasoning.ts";
import { createItemIds, getCallId } from "./item-ids.ts";

/** An item that the simulator writes. Items of hosted tools are announced before they have results. */
export type WrittenItem =
  | OutputMessage
  | ReasoningItem
  | FunctionCall
  | CustomToolCall
  | Announced<WebSearchCall, "action">
  | Announced<ImageGenerationCall, "result">;

type Announced<Item, Result extends keyof Item> = Omit<Item, Result> & Partial<Pick<Item, Result>>;

/** The inputs for the items of one answer. */
export interface ItemSettings {
  readonly requestNumber: number;
  readonly ids: readonly string[];
  readonly callIds: Turn["callIds"];
  /** Whether `include` asks for encrypted reasoning. */
  readonly encrypts: boolean;
  /** Whether `reasoning.summary` asks for summaries. */
  readonly summarises: boolean;
  /** Whether `include` asks for the sources of searches. */
  readonly listsSources: boolean;
}

/** Reads from a request which fields its items have. */
export function getItemSettings(requestNumber: number, request: CheckedRequest, turn: Turn): ItemSettings {
  const include = request.include ?? [];
  return {
    requestNumber,
    ids: createItemIds(requestNumber, turn.parts),
    callIds: turn.callIds,
    encrypts: include.includes("reasoning.encrypted_content"),
    summarises: (request.reasoning?.summary ?? null) !== null,
    listsSources: include.includes("web_search_call.action.sources"),
  };
}

/** Creates the item of a part while it is being written: as in `response.output_item.added`. */
export function openItem(part: Part, index: number, settings: ItemSettings): WrittenItem {
  const id = settings.ids[index] ?? "";
  switch (part.kind) {
    case "reasoning":
      return reasoningItem(id, [], encryptIfAsked(id, part.paragraphs, "added", settings));
    case "text":
    case "refusal":
      return messageItem(id, part, "in_progress", []);
    case "tool_call":
      return callItem(id, part, index, settings, "in_progress", "");
    case "web_search":
      return { id, type: "web_search_call", status: "in_progress" };
    case "image":
      return { id, type: "image_generation_call", status: "in_progress" };
    default:
      return part satisfies never;
  }
}

/** Creates the item of a finished part: in `response.output_item.done` or in the whole response. */
export function finishedItem(
  part: Part,
  index: number,
  settings: ItemSettings,
  place: ContentPlace,
): WrittenItem {
  const id = settings.ids[index] ?? "";
  switch (part.kind) {
    case "reasoning":
      return reasoningItem(
        id,
        toSummary(part, settings),
        encryptIfAsked(id, part.paragraphs, place, settings),
      );
    case "text":
      return messageItem(id, part, part.cut ? "incomplete" : "completed", [textContent(part)]);
    case "refusal":
      return messageItem(id, part, "completed", [{ type: "refusal", refusal: part.text }]);
    case "tool_call":
      return callItem(id, part, index, settings, part.cut ? "incomplete" : "completed", part.input);
    case "web_search":
      return { id, type: "web_search_call", status: "completed", action: searchAction(part, settings) };
    case "image":
      return imageItem(id, part);
    default:
      return part satisfies never;
  }
}

/** Returns the paragraphs of reasoning that the caller may see. */
export function toSummary(part: ReasoningPart, settings: ItemSettings): readonly string[] {
  return settings.summarises && !part.redacted ? part.paragraphs : [];
}

/** Creates the content part of a text. */
export function textContent(part: TextPart): OutputText {
  return { type: "output_text", annotations: toAnnotations(part), logprobs: [], text: part.text };
}

/** Returns the citations of a text. OpenAI's indices count code points. */
export function toAnnotations(part: TextPart): URLCitation[] {
  return part.citations.map(({ start, end, url, title }) => ({
    type: "url_citation",
    end_index: countCodePoints(part.text, end),
    start_index: countCodePoints(part.text, start),
    title,
    url,
  }));
}

/** Returns the fields of an image besides its data. */
export function imageFacts(part: ImagePart) {
  return {
    background: "opaque",
    output_format: "png",
    quality: "low",
    size: `${part.size.width}x${part.size.height}`,
  } as const satisfies Partial<ImageGenerationCall>;
}

function reasoningItem(
  id: string,
  paragraphs: readonly string[],
  encrypted: string | undefined,
): ReasoningItem {
  const content = encrypted === undefined ? {} : { content: [], encrypted_content: encrypted };
  return {
    id,
    type: "reasoning",
    ...content,
    summary: paragraphs.map((text) => ({ type: "summary_text", text })),
  };
}

function encryptIfAsked(
  id: string,
  paragraphs: readonly string[],
  place: ContentPlace,
  settings: ItemSettings,
): string | undefined {
  return settings.encrypts ? encryptReasoning(id, paragraphs, place) : undefined;
}

/** Creates a message. Refusals have no phase, as recorded. */
function messageItem(
  id: string,
  part: Part,
  status: OutputMessage["status"],
  content: OutputMessage["content"],
): OutputMessage {
  const phase = part.kind === "text" ? { phase: part.phase } : {};
  return { id, type: "message", status, content, ...phase, role: "assistant" };
}

function callItem(
  id: string,
  part: ToolCallPart,
  index: number,
  settings: ItemSettings,
  status: FunctionCall["status"] & string,
  input: string,
): FunctionCall | CustomToolCall {
  const call_id = callIdFor(index, settings);
  const tool = { name: part.name, ...(part.namespace !== undefined && { namespace: part.namespace }) };
  if (part.freeform) return { id, type: "custom_tool_call", status, call_id, input, ...tool };
  return { id, type: "function_call", status, arguments: input, call_id, ...tool };
}

function callIdFor(index: number, settings: ItemSettings): string {
  switch (settings.callIds) {
    case "unique":
      return getCallId(settings.requestNumber, index);
    case "repeated":
      return getCallId(settings.requestNumber, 0);
    case "empty":
      return "";
    default:
      return settings.callIds satisfies never;
  }
}

function searchAction(part: WebSearchPart, settings: ItemSettings): WebSearchCall["action"] {
  const sources = part.sources.map(({ url }) => ({ type: "url" as const, url }));
  return { type: "search", query: part.query, ...(settings.listsSources ? { sources } : {}) };
}

function imageItem(id: string, part: ImagePart): ImageGenerationCall {
  const { background, output_format, quality, size } = imageFacts(part);
  const fields = { background, output_format, quality, result: part.data, revised_prompt: part.prompt, size };
  return { id, type: "image_generation_call", status: "completed", ...fields };
}
