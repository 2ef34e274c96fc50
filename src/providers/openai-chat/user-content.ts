/**
 * Content of a message that the model did not write: instructions, the user's text and tool results
 * (`messages[].content`).
 */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import { parseObjectField, textIn } from "../../kit/json/json.ts";
import type { ContentParam, ContentPartParam } from "../../wire/openai-chat/request.ts";
import { PROVIDER_NAME, type RequestContext } from "./context.ts";
import { mediaPart } from "./media.ts";
import { verbatim } from "./verbatim.ts";

/**
 * Returns the parts of a message that the model did not write.
 * @param field Path of the content in the request.
 * @throws InvalidRequestError naming the part that the server has no form for.
 */
export async function toUserContent(
  parts: readonly ContentPart[],
  field: string,
  context: RequestContext,
): Promise<ContentPartParam[]> {
  const content: ContentPartParam[] = [];
  for (const [index, part] of parts.entries()) {
    const sent = await createPart(part, `${field}[${index}]`, context);
    if (sent !== undefined) content.push(sent);
  }
  return content;
}

/** Returns a single text as a string, which every server accepts; anything else as a list. */
export function simplifyContent(parts: ContentPartParam[]): ContentParam {
  if (parts.length === 0) return "";
  const [first] = parts;
  return parts.length === 1 && first?.type === "text" ? textIn(first.text) : parts;
}

async function createPart(
  whole: ContentPart,
  field: string,
  context: RequestContext,
): Promise<ContentPartParam | undefined> {
  const { part } = whole;
  switch (part.case) {
    case "text":
      return { type: "text", text: part.value };
    case "image":
    case "audio":
    case "document":
      return mediaPart(part, `${field}.${part.case}`, context.media, context.profile);
    case "native":
      if (part.value.provider === context.provider || part.value.provider === PROVIDER_NAME)
        return verbatim<ContentPartParam>(parseObjectField(part.value.dataJson, `${field}.native.data_json`));
      replaceForeignPart(whole, context.request.foreignState, field, context.loss);
      return undefined;
    default:
      throw invalidField(
        field,
        `expected text, an image, audio or a document here, found ${part.case ?? "nothing"}`,
      );
  }
}
