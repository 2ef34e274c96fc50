/** Conversations for tests, and their translation. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PartInput } from "../../../src/core/parts.ts";
import type { Message, MessageSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { toResponse } from "../../../src/providers/openai-responses/response.ts";
import { factsFor } from "../../support/decode.ts";
import { build, type RequestInit } from "./build.ts";

/** Initial values of a message. */
export type MessageInit = MessageInitShape<typeof MessageSchema>;

/** An item as a server reads or writes it. */
export type Item = Readonly<Record<string, unknown>>;

/** The first bytes of a PNG image, and their base64. */
export const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
export const PNG_BASE64 = "iVBORw0KGgo=";

/** The items, instructions and warnings for a conversation. */
export async function toInput(
  messages: MessageInit[],
  init: RequestInit = {},
  settings: Parameters<typeof build>[1] = {},
) {
  const { body, warnings } = await build({ model: "gpt-5", messages, ...init }, settings);
  return { instructions: body.instructions, input: body.input as Item[], warnings };
}

/** A message item of any role but the assistant's. */
export function inputMessage(role: string, ...texts: string[]): Item {
  return { type: "message", role, content: texts.map((text) => ({ type: "input_text", text })) };
}

/** A message item of the assistant, without id or status. */
export function outputMessage(...texts: string[]): Item {
  const content = texts.map((text) => ({ type: "output_text", text, annotations: [] }));
  return { type: "message", role: "assistant", content };
}

/** The message of an answer, as it is kept in the history. */
export function toAnswer(output: Item[], model = "gpt-5", provider = "openai"): Message {
  const facts = factsFor(provider, { model });
  const body = JSON.stringify({ id: "resp_1", model, status: "completed", output });
  const { message } = toResponse(body, facts);
  if (message === undefined) throw new Error("an answer has a message");
  return message;
}

/** A part with a source. */
export function media(kind: "image" | "document" | "audio", value: object): PartInput {
  return { part: { case: kind, value } } as PartInput;
}

/** A native part. */
export function native(provider: string, dataJson: string): PartInput {
  return { part: { case: "native", value: { provider, kind: "", dataJson } } };
}

/** A text as content of an output message. */
export function outputText(text: string): Item {
  return { type: "output_text", text, annotations: [] };
}

/** The user's `hi`, as an item. */
export const HI: Item = inputMessage("user", "hi");
