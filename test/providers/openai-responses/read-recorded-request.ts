/**
 * Reads a recorded request of the Responses API as the Request that a caller would have made
 * for the same conversation.
 */

import { developerMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { toolResult } from "../../../src/core/tools.ts";
import {
  ResponseFormat_Type as Format,
  ToolChoice_Mode as Mode,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { functionTool, options, type RequestInit } from "./build.ts";
import { type MessageInit, toAnswer } from "./conversation.ts";

type Wire = Record<string, unknown>;

/** Fields that a caller can only set in provider options. */
const ONLY_OPTIONS = ["include", "previous_response_id"];

/** The Request for a recorded body. */
export function readRequest(body: Wire): RequestInit {
  const { effort, ...reasoning } = (body.reasoning ?? {}) as Wire;
  const fields = Object.fromEntries(ONLY_OPTIONS.flatMap((key) => (key in body ? [[key, body[key]]] : [])));
  return {
    model: String(body.model),
    messages: [
      ...(body.instructions === undefined ? [] : [systemMessage(String(body.instructions))]),
      ...readInput(list(body.input), String(body.model)),
    ],
    tools: list(body.tools).map(readTool),
    ...readToolChoice(body),
    ...readFormat((body.text as Wire | undefined)?.format as Wire | undefined),
    ...(body.temperature === undefined ? {} : { temperature: Number(body.temperature) }),
    ...(body.max_output_tokens === undefined ? {} : { maxTokens: Number(body.max_output_tokens) }),
    ...(effort === undefined ? {} : { reasoningEffort: String(effort) }),
    // The API stores its answers by default.
    ...options({
      ...fields,
      store: body.store ?? true,
      ...(body.reasoning === undefined ? {} : { reasoning }),
    }),
  };
}

function readTool({ name, description, parameters }: Wire) {
  return functionTool({
    name: String(name),
    description: String(description),
    parametersJson: JSON.stringify(parameters),
  });
}

function readToolChoice({
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: Wire): Pick<RequestInit & object, "toolChoice"> {
  if (choice === undefined && parallel === undefined) return {};
  return {
    toolChoice: {
      ...(choice === "required" ? { mode: Mode.REQUIRED } : {}),
      ...(parallel === undefined ? {} : { parallel: parallel === true }),
    },
  };
}

function readFormat(format: Wire | undefined): Pick<RequestInit & object, "responseFormat"> {
  if (format === undefined) return {};
  const schemaJson = JSON.stringify(format.schema);
  const { name, strict } = format;
  return {
    responseFormat: { type: Format.JSON_SCHEMA, schemaJson, name: String(name), strict: strict === true },
  };
}

/** Consecutive items of the model are one answer. */
function readInput(items: readonly Wire[], model: string): MessageInit[] {
  const messages: MessageInit[] = [];
  let answer: Wire[] = [];
  for (const item of items) {
    const other = readOther(item);
    if (other === undefined) {
      answer.push(item);
      continue;
    }
    if (answer.length > 0) messages.push(toAnswer(answer, model));
    messages.push(other);
    answer = [];
  }
  return answer.length > 0 ? [...messages, toAnswer(answer, model)] : messages;
}

/** A message that the model did not write; undefined for an item of the model's. */
function readOther({ type, role, content, call_id: callId, output }: Wire): MessageInit | undefined {
  if (type === "function_call_output") return toolResult(String(callId), String(output));
  const text =
    typeof content === "string"
      ? content
      : list(content)
          .map((part) => part.text)
          .join("");
  switch (role) {
    case "system":
      return systemMessage(text);
    case "developer":
      return developerMessage(text);
    case "user":
      return userMessage(text);
    default:
      return undefined;
  }
}

/** The objects in a list. */
export function list(value: unknown): Wire[] {
  return Array.isArray(value) ? value : [];
}
