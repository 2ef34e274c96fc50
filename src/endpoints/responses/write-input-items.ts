/** Messages of a thread -> items of the caller and of the model. The inverse of reading an input. */
import { type ContentPart, Role, type ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import type { StoredMessage } from "../../runs/store.ts";
import { toItemId } from "../openai/ids.ts";
import type { ItemWriter, WrittenItem } from "./write-items.ts";

/** Returns the items of a message, in the order of its parts. */
export function toMessageItems(kept: StoredMessage, writer: ItemWriter): readonly WrittenItem[] {
  const { id, message, originJson = "" } = kept;
  const received = asObject(tryParseJson(originJson));
  if (received !== undefined) return [receivedItem(id, received)];
  if (message === undefined) return [];
  switch (message.role) {
    case Role.ASSISTANT:
      return writer.getItems(id, message.content);
    case Role.TOOL:
      return message.content.flatMap(({ part }, index) =>
        part.case === "toolResult"
          ? [outputItem(toItemId("function_call_output", id, index), part.value)]
          : [],
      );
    default:
      return [messageItem(id, message.role, message.content)];
  }
}

/** Returns an item without a unified form, as the caller sent it. */
function receivedItem(messageId: string, item: object): WrittenItem {
  const type = "type" in item && typeof item.type === "string" ? item.type : "message";
  const status = WITH_STATUS.has(type) ? { status: "completed" } : {};
  return { ...status, ...item, type, id: toItemId(type, messageId, 0) };
}

/** Items whose status callers omit and a response must have. */
const WITH_STATUS: ReadonlySet<string> = new Set(["computer_call_output", "shell_call_output"]);

const ROLES: ReadonlyMap<Role, string> = new Map([
  [Role.USER, "user"],
  [Role.SYSTEM, "system"],
  [Role.DEVELOPER, "developer"],
]);

function messageItem(messageId: string, role: Role, content: readonly ContentPart[]): WrittenItem {
  const id = toItemId("message", messageId, 0);
  const named = ROLES.get(role) ?? "user";
  return { id, type: "message", status: "completed", role: named, content: content.map(toInputPart) };
}

function outputItem(id: string, { toolCallId, content }: ToolResult): WrittenItem {
  const texts = content.flatMap(({ part }) => (part.case === "text" ? [part.value] : []));
  const isText = texts.length === content.length;
  const output = isText ? texts.join("") : content.map(toInputPart);
  return { id, type: "function_call_output", status: "completed", call_id: toolCallId, output };
}

/** Converts a part of the caller. */
function toInputPart({ part }: ContentPart): object {
  switch (part.case) {
    case "text":
      return { type: "input_text", text: part.value };
    case "image": {
      const { detail, mediaType, source } = part.value;
      const at = { detail: detail || "auto" };
      if (source.case === "fileId")
        return { type: "input_image", ...at, file_id: source.value, image_url: null };
      return {
        type: "input_image",
        ...at,
        file_id: null,
        image_url: toUrl(source, mediaType || "image/png"),
      };
    }
    case "audio":
    case "document": {
      const { mediaType, source } = part.value;
      const name =
        part.case === "document" && part.value.fileName !== "" ? { filename: part.value.fileName } : {};
      return { type: "input_file", ...name, ...toFile(source, mediaType || "application/pdf") };
    }
    default:
      return { type: "input_text", text: "" };
  }
}

type Source = Extract<ContentPart["part"], { case: "image" | "audio" | "document" }>["value"]["source"];

function toFile(source: Source, mediaType: string): object {
  switch (source.case) {
    case "fileId":
      return { file_id: source.value };
    case "url":
      return { file_url: source.value };
    default:
      return { file_data: toUrl(source, mediaType) };
  }
}

/** Returns the address, or the bytes as a data URL. */
function toUrl(source: Source, mediaType: string): string {
  if (source.case === "url") return source.value;
  const bytes = source.case === "data" ? source.value : new Uint8Array();
  return `data:${mediaType};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")}`;
}
