import type { Part } from "../../src/wire/gemini/request.ts";
import { joinContents, type ReadContent, readFile, readImage, readText } from "../script/read-content.ts";

/** Reads a part of a content, including the parts in a function response. */
export function readPart({ text, inlineData, fileData, functionResponse }: Part): ReadContent {
  if (functionResponse !== undefined) {
    const { response = {}, parts = [] } = functionResponse;
    return joinContents([readText(toResponseText(response)), ...parts.map(readPart)]);
  }
  if (inlineData !== undefined) {
    const { mimeType = "", data = "" } = inlineData;
    return readMedia(mimeType, `data:${mimeType};base64,${data}`);
  }
  if (fileData !== undefined) return readMedia(fileData.mimeType ?? "", fileData.fileUri ?? "");
  return readText(text ?? "");
}

/**
 * Returns the text of a function response: its only field if that is a string, otherwise the whole response as JSON.
 */
function toResponseText(response: Readonly<Record<string, unknown>>): string {
  const [first, ...others] = Object.values(response);
  return typeof first === "string" && others.length === 0 ? first : JSON.stringify(response);
}

function readMedia(mimeType: string, source: string): ReadContent {
  if (mimeType.startsWith("image/")) return readImage(source);
  return readFile(mimeType.startsWith("audio/") ? "audio" : "document", source);
}
