/**
 * Reads a recorded request of the Messages API as the Request that a caller would have made
 * for the same conversation.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { systemMessage, userMessage } from "../../../src/core/message.ts";
import { documentPart, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { type Message, type MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ToolChoice_Mode as Mode } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { toResponse } from "../../../src/providers/anthropic-messages/response.ts";
import { factsFor } from "../../support/decode.ts";
import { options, type RequestInit } from "./build-request.ts";
import { list } from "./independent-reader.ts";

type Wire = Record<string, unknown>;

/** Fields that a caller can only set by provider options. */
const OPTION_FIELDS = ["thinking", "cache_control"];

/** The Request for a recorded body. */
export function readRequest(body: Wire): RequestInit {
  const system = list(body.system);
  const isMarked = system.some((block) => block.cache_control !== undefined);
  const fields = Object.fromEntries(OPTION_FIELDS.flatMap((key) => (key in body ? [[key, body[key]]] : [])));
  const documents = list(body.messages).flatMap(({ content }) => list(content));
  const cites = documents.some(({ citations }) => citations !== undefined);
  return {
    model: String(body.model),
    maxTokens: Number(body.max_tokens),
    messages: [
      ...(isMarked ? [] : system.map(({ text }) => systemMessage(String(text)))),
      ...list(body.messages).flatMap((message) => readMessage(message, String(body.model))),
    ],
    tools: list(body.tools).map(readTool),
    ...(body.tool_choice === undefined ? {} : { toolChoice: { mode: Mode.AUTO } }),
    ...(body.temperature === undefined ? {} : { temperature: Number(body.temperature) }),
    stopSequences: (body.stop_sequences as string[] | undefined) ?? [],
    ...options({
      ...fields,
      ...(isMarked ? { system } : {}),
      ...(cites ? { document_citations: true } : {}),
    }),
  };
}

function readTool(tool: Wire) {
  if (tool.type !== undefined) {
    const value = { provider: "anthropic", configJson: JSON.stringify(tool) };
    return { tool: { case: "hosted", value } } as const;
  }
  const value = {
    name: String(tool.name),
    description: String(tool.description),
    parametersJson: JSON.stringify(tool.input_schema),
  };
  return { tool: { case: "function", value } } as const;
}

function readMessage({ role, content }: Wire, model: string): MessageInitShape<typeof MessageSchema>[] {
  if (role === "assistant") return [readAnswer(content, model)];
  return list(content).map((block) => {
    switch (block.type) {
      case "tool_result":
        return toolResult(
          String(block.tool_use_id),
          list(block.content).map(({ text }) => textPart(String(text))),
        );
      case "document": {
        const source = block.source as Wire;
        return userMessage(documentPart(String(source.url), { fileName: String(block.title) }));
      }
      default:
        return userMessage(String(block.text));
    }
  });
}

/** An assistant message, read back from its original answer. */
function readAnswer(content: unknown, model: string): Message {
  const facts = factsFor("anthropic", { model });
  const { message } = toResponse(JSON.stringify({ model, content }), facts);
  if (message?.role !== Role.ASSISTANT) throw new Error("expected an assistant message");
  return message;
}
