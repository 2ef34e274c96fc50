import { joinContents, type ReadContent, readFile, readImage, readText } from "../script/read-content.ts";
import { blocksOf } from "./turns.ts";
import type { InputBlock, MediaSource } from "./wire.ts";

/** Reads a block of a message, or a tool's result with all that is in it. */
export function readBlock(block: InputBlock): ReadContent {
  switch (block.type) {
    case "image":
      return readImage(sourceOf(block.source));
    case "document":
      return readFile("document", sourceOf(block.source), block.title ?? undefined);
    case "tool_result":
    case "search_result":
      return joinContents(blocksOf(block.content).map(readBlock));
    default:
      return readText(block.text ?? "");
  }
}

/** A URL or a file's id as it is, data as a data URI. */
function sourceOf(
  { type, url, file_id: fileId, media_type: mediaType, data }: MediaSource = { type: "" },
): string {
  return url ?? fileId ?? `data:${mediaType};${type},${data ?? ""}`;
}
