import type { OutputText, ReasoningPart, Refusal } from "../../src/wire/openai-responses/items.ts";
import type { AnyMember, InputContent } from "../../src/wire/openai-responses/request.ts";
import { joinContents, type ReadContent, readFile, readImage, readText } from "../script/read-content.ts";

/** A part of any message, of a tool's output, or of reasoning. */
type ContentPart = AnyMember<InputContent | OutputText | Refusal | ReasoningPart>;

/** Reads the content of a message or the output of a tool. */
export function readContent(content: string | readonly ContentPart[]): ReadContent {
  return typeof content === "string" ? readText(content) : joinContents(content.map(readPart));
}

function readPart(part: ContentPart): ReadContent {
  switch (part.type) {
    case "input_image":
      return readImage(part.image_url ?? part.file_id ?? "");
    case "input_file":
      return readFile(
        "document",
        part.file_data ?? part.file_url ?? part.file_id ?? "",
        part.filename ?? undefined,
      );
    default:
      return readText(part.text ?? part.refusal ?? "");
  }
}
