/** The content of a body -> a request of the contract, and the paths of its fields in the body. */
import { compact } from "../../core/compact.ts";
import type { Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import { type Request, type ToolChoice, ToolChoice_Mode } from "../../gen/outrigger/v1/request_pb.ts";
import type { Tool } from "../../gen/outrigger/v1/tool_pb.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import { createMessage, createRequest } from "../answers/create-request.ts";
import type { ServedModel } from "../models/model-directory.ts";
import type { ReadPart } from "../responses/read-content.ts";
import { splitPointer } from "../responses/request-paths.ts";
import type { ReadForm } from "./read-form.ts";
import type { ReadingContext } from "./reading-context.ts";

/** A message, and its origin in the body. */
export interface ReadMessage {
  readonly message: Message;
  readonly path: string;
  /** Paths of its parts. */
  readonly parts: readonly string[];
}

/** Creates a message. */
export function toReadMessage(
  fields: { readonly role: Role } & Partial<Message>,
  path: string,
  parts: readonly ReadPart[],
): ReadMessage {
  const message = createMessage({ ...fields, content: parts.map(({ part }) => part) });
  return { message, path, parts: parts.map((part) => part.path) };
}

/** A tool, and its path in the body. */
export interface ReadTool {
  readonly tool: Tool;
  readonly path: string;
}

/** The tools of a request, and how the model may use them. */
export interface ReadTools {
  readonly tools: readonly ReadTool[];
  /** Undefined if the request does not set it. */
  readonly choice: ToolChoice | undefined;
}

/** The content of a body. */
export interface BodyContent extends ReadTools {
  readonly messages: readonly ReadMessage[];
  /** Further fields of the request. Undefined ones have their defaults. */
  readonly settings: { readonly [Name in keyof Request]?: Request[Name] | undefined };
  /** Fields of the contract that have another name in the API, the longer ones first. */
  readonly fieldNames: readonly (readonly [string, string])[];
}

/** Creates the request. */
export function toRequest(content: BodyContent, { target }: ReadingContext): Omit<ReadForm, "form"> {
  const { messages, tools, choice, settings } = content;
  const { provider, model, served } = target;
  const request = createRequest({
    model,
    provider,
    messages: messages.map(({ message }) => message),
    tools: tools.map(({ tool }) => tool),
    ...compact({ ...settings, toolChoice: choice }),
  });
  relaxToolChoice(request, served);
  return { request, toBodyPath: (field) => toBodyPath(field, content) };
}

/**
 * Sets the option that lets a model decide, with a warning, if it cannot be forced to call a tool. Frameworks force
 * calls for structured output by default, and cannot know the model: some accept an answer without a call, the others
 * ask again.
 */
function relaxToolChoice(request: Request, { api, provider }: ServedModel): void {
  const mode = request.toolChoice?.mode;
  const isForced = mode === ToolChoice_Mode.REQUIRED || mode === ToolChoice_Mode.NAMED;
  if (!isForced || (api !== "anthropic-messages" && api !== "openai-chat")) return;
  const options = asObject(tryParseJson(request.providerOptionsJson[provider] ?? "{}")) ?? {};
  request.providerOptionsJson[provider] = JSON.stringify({ ...options, unsupported_tool_choice: "auto" });
}

const ELEMENT = /^(messages|tools)\[(\d+)\](?:\.content\[(\d+)\])?/;

/** Returns the path in the body. @param field Path with the names of the contract: `messages[2].content[0].image`. */
function toBodyPath(field: string, { messages, tools, fieldNames }: BodyContent): string {
  // Settings without a field in the contract are passed to the provider under their own names.
  const inner = field.replace(/^provider_options_json\["[^"]*"\]\.?/, "");
  const [, list, index, part] = ELEMENT.exec(inner) ?? [];
  if (list === "tools") return tools[Number(index)]?.path ?? inner;
  if (list === "messages") {
    const message = messages[Number(index)];
    return message?.parts[Number(part)] ?? message?.path ?? inner;
  }
  const { path, pointer } = splitPointer(inner);
  const known = fieldNames.find(([name]) => path === name || path.startsWith(`${name}.`));
  return known === undefined ? inner : known[1] + pointer;
}
