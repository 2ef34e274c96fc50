/**
 * Parts of users, tools and instructions -> content blocks (provider documentation: "Create a
 * message", `messages`).
 */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import { parseObjectField } from "../../kit/json/json.ts";
import type { TextBlockParam } from "../../wire/anthropic-messages/request.ts";
import type { RequestBlock, RequestContext } from "./context.ts";
import { documentBlock, imageBlock } from "./media.ts";
import { isSameProvider } from "./state.ts";

/**
 * Returns the blocks of a user's message or a tool's result. Blank texts, which the API refuses, are left out.
 * @throws InvalidRequestError naming the part that the API has no form for.
 */
export async function toUserContent(
  parts: readonly ContentPart[],
  field: string,
  context: RequestContext,
): Promise<RequestBlock[]> {
  const blocks: RequestBlock[] = [];
  for (const [index, part] of parts.entries()) {
    const block = await toBlock(part, `${field}[${index}]`, context);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

/**
 * Returns the blocks of instructions: text alone. Blank texts are left out.
 * @throws InvalidRequestError naming a part that is not text.
 */
export function toSystemContent(parts: readonly ContentPart[], field: string): TextBlockParam[] {
  return parts.flatMap(({ part }, index) => {
    if (part.case !== "text")
      throw invalidField(
        `${field}[${index}]`,
        `expected text in instructions, found ${part.case ?? "nothing"}`,
      );
    return textBlocks(part.value);
  });
}

/** Returns a text as a block; none for a blank text, which the API refuses even if it wrote the text itself. */
export function textBlocks(text: string): TextBlockParam[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

async function toBlock(
  whole: ContentPart,
  field: string,
  context: RequestContext,
): Promise<RequestBlock | undefined> {
  const { part } = whole;
  switch (part.case) {
    case "text":
      return textBlocks(part.value)[0];
    case "image":
      return imageBlock(part.value, `${field}.image`, context);
    case "document":
      return documentBlock(part.value, `${field}.document`, context);
    case "audio":
      throw invalidField(
        `${field}.audio`,
        "the Messages API does not accept audio; use a provider that does, or send a transcript",
      );
    case "native":
      if (isSameProvider(part.value.provider, context.provider))
        return parseObjectField(part.value.dataJson, `${field}.native.data_json`);
      replaceForeignPart(whole, context.request.foreignState, field, context.loss);
      return undefined;
    default:
      throw invalidField(
        field,
        `expected text, an image, a document or a native part, found ${part.case ?? "nothing"}`,
      );
  }
}
