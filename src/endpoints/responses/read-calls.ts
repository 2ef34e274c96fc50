/** Calls of tools and their results -> parts of the contract. */
import { create } from "@bufbuild/protobuf";
import { type ContentPart, type ToolResult, ToolResultSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { isJson } from "../../kit/json/json.ts";
import { createTextPart } from "../answers/create-request.ts";
import type { Fields } from "../openai/fields.ts";
import { createPart, readContent, readInputPart } from "./read-content.ts";
import type { ReadingContext } from "./reading-context.ts";

/** Reads a call of a tool that the caller executes. @param itemId The provider's id of the item, if it is sent back. */
export function readCall(item: Fields, context: ReadingContext, itemId?: string): ContentPart {
  const type = item.requireString("type");
  const id = item.requireString("call_id", { min: 1 });
  const [callerName, namespace] = [item.requireString("name", { min: 1 }), item.string("namespace")];
  // OpenAI's models call tools of groups, including groups that they found by a search.
  const isProviderName = context.isOpenAi && context.names.find(callerName, namespace) === undefined;
  const name = isProviderName ? callerName : context.names.getName(callerName, namespace);
  const part =
    type === "function_call"
      ? createCall(id, name, item.requireString("arguments"))
      : createPart({
          part: {
            case: "toolCall",
            value: { id, name, input: { case: "text", value: item.requireString("input") } },
          },
        });
  const caller = item.object("caller")?.value;
  const providerFields = {
    ...(itemId && { id: itemId }),
    ...(isProviderName && namespace !== undefined && { namespace }),
    ...(caller && { caller }),
  };
  const isPlain = Object.keys(providerFields).length === 0;
  const state = isPlain ? undefined : context.toModelState({ item: { type, ...providerFields } });
  if (state !== undefined) part.providerState = state;
  return part;
}

/** Reads the result of such a call. */
export function readResult(item: Fields, context: ReadingContext): ToolResult {
  const toolCallId = item.requireString("call_id", { min: 1 });
  const parts = readContent(item, "output", readInputPart, context);
  return create(ToolResultSchema, { toolCallId, content: parts.map(({ part }) => part) });
}

/** Reads the call of a server's tool, which the sidecar executes. The id of the call is the id of the item. */
export function readServerCall(item: Fields, { names }: ReadingContext): ContentPart {
  const id = item.requireString("id", { min: 1 });
  const label = item.requireString("server_label", { min: 1 });
  const name = names.getName(item.requireString("name", { min: 1 }), label);
  return createCall(id, name, item.requireString("arguments"));
}

/** Reads the result of the call. */
export function readServerResult(item: Fields): ToolResult {
  const failed = item.has("error");
  const text = failed ? errorText(item) : (item.string("output") ?? "");
  const toolCallId = item.requireString("id");
  return create(ToolResultSchema, { toolCallId, content: [createTextPart(text)], failed });
}

/** Arguments that are not JSON are passed on unchanged. */
function createCall(id: string, name: string, argumentsJson: string): ContentPart {
  const argumentsInvalid = argumentsJson !== "" && !isJson(argumentsJson);
  const input = { case: "argumentsJson", value: argumentsJson } as const;
  return createPart({ part: { case: "toolCall", value: { id, name, argumentsInvalid, input } } });
}

/** Returns the reason why a call failed: a text, or an object with a message or with content. */
function errorText(item: Fields): string {
  if (typeof item.get("error") === "string") return item.requireString("error");
  return item.object("error")?.string("message") ?? item.spelled("error");
}
