import { readFields } from "./wire.ts";

/** The fields of a Request that the minimal server reads: the model and plain text. */
export interface MinimalRequest {
  model: string;
  instructions: string | undefined;
  input: { type: "message"; role: string; content: { type: string; text: string }[] }[];
  maxTokens: number | undefined;
}

/** Reads an outrigger.v1.Request. */
export function readRequest(message: Buffer): MinimalRequest {
  const request: MinimalRequest = { model: "", instructions: undefined, input: [], maxTokens: undefined };
  readFields(message, (field, value) => {
    if (field === 1) request.model = String(value);
    else if (field === 2 && typeof value !== "number") addMessage(request, value);
    else if (field === 9) request.maxTokens = Number(value);
  });
  return request;
}

/** The body of a request to OpenAI. */
export function providerBody(request: MinimalRequest, streaming: boolean): string {
  return JSON.stringify({
    model: request.model,
    instructions: request.instructions,
    input: request.input,
    max_output_tokens: request.maxTokens,
    store: false,
    ...(streaming ? { stream: true, stream_options: { include_obfuscation: false } } : {}),
  });
}

/** Names of outrigger.v1.Role, by number. */
const ROLES = ["", "system", "user", "assistant", "tool", "developer"];

function addMessage(request: MinimalRequest, message: Buffer): void {
  let role = "";
  const content: { type: string; text: string }[] = [];
  readFields(message, (field, value) => {
    if (field === 1) role = ROLES[Number(value)] ?? "";
    else if (field === 2 && typeof value !== "number")
      content.push({ type: "input_text", text: textOf(value) });
  });
  if (role === "system") request.instructions = content.map(({ text }) => text).join("\n\n");
  else request.input.push({ type: "message", role, content });
}

function textOf(part: Buffer): string {
  let text = "";
  readFields(part, (field, value) => {
    if (field === 10) text = String(value);
  });
  return text;
}
