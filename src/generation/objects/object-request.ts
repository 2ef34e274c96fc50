import { create } from "@bufbuild/protobuf";
import { systemMessage } from "../../core/message.ts";
import { toolChoice } from "../../core/tools.ts";
import { type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import {
  type Request,
  ResponseFormat_Type,
  ResponseFormatSchema,
} from "../../gen/outrigger/v1/request_pb.ts";
import { ToolSchema } from "../../gen/outrigger/v1/tool_pb.ts";
import { stringifyJson } from "../../kit/json/json-source.ts";
import type { ObjectFormat } from "./object-format.ts";

/** Returns the request with the additions that make the model write the object. */
export function objectRequest(request: Request, format: ObjectFormat): Request {
  switch (format.strategy) {
    case "native":
      return { ...request, responseFormat: nativeFormat(format) };
    case "tool":
      return {
        ...request,
        tools: [...request.tools, objectTool(format)],
        toolChoice: toolChoice({ name: format.name }, { parallel: false }),
      };
    case "prompt":
      return { ...request, messages: withInstruction(request.messages, format) };
  }
}

/** Providers show the model the description in the schema, and have no other field for one. */
function nativeFormat({ name, description, schema, schemaJson }: ObjectFormat) {
  const type = ResponseFormat_Type.JSON_SCHEMA;
  const isDescribed = description === "" || "description" in schema;
  const text = isDescribed ? schemaJson : stringifyJson({ description, ...schema });
  return create(ResponseFormatSchema, { type, name, schemaJson: text, strict: true });
}

function objectTool({ name, description, schemaJson }: ObjectFormat) {
  const value = { name, description: description || TOOL_DESCRIPTION, parametersJson: schemaJson };
  return create(ToolSchema, { tool: { case: "function", value } });
}

/** Places the instruction after the leading system messages, which stay a prefix that providers cache. */
function withInstruction(messages: readonly Message[], format: ObjectFormat): Message[] {
  const first = messages.findIndex(({ role }) => role !== Role.SYSTEM && role !== Role.DEVELOPER);
  const at = first < 0 ? messages.length : first;
  return [...messages.slice(0, at), systemMessage(toInstruction(format)), ...messages.slice(at)];
}

function toInstruction({ description, schemaJson }: ObjectFormat): string {
  const what = description === "" ? "" : ` The value is: ${description}`;
  return `${PROMPT_INSTRUCTION}${what}\n${schemaJson}`;
}

const TOOL_DESCRIPTION = "Takes the answer.";

const PROMPT_INSTRUCTION =
  "Answer with one JSON value that fits the JSON Schema below and nothing else: no text before or after it and no " +
  "code fence.";
