import type { ContentBlockParam, MediaSource } from "../../src/wire/anthropic-messages/request.ts";
import { joinContents, type ReadContent, readFile, readImage, readText } from "../script/read-content.ts";
import { getBlocks } from "./turns.ts";

/** Reads a block of a message, or a tool's result with its content. */
export function readBlock(block: ContentBlockParam): ReadContent {
  switch (block.type) {
    case "text":
      return readText(block.text);
    case "image":
      return readImage(toSource(block.source));
    case "document":
      return readFile("document", toSource(block.source), block.title ?? undefined);
    case "tool_result":
    case "search_result":
      return joinContents(getBlocks(block.content).map(readBlock));
    default:
      return readText("");
  }
}

/** Returns the URL or the id of a file; data as a data URI. */
function toSource(source: MediaSource): string {
  switch (source.type) {
    case "url":
      return source.url;
    case "file":
      return source.file_id;
    case "content":
      return "data:;content,";
    default:
      return `data:${source.media_type};${source.type},${source.data}`;
  }
}
