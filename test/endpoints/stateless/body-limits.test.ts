/**
 * The smallest and the largest value of each field with limits, and the values next to them, in bodies of three APIs.
 */
import { expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { readRequest as readChat } from "../../../src/endpoints/chat-completions/read-request.ts";
import { readRequest as readGemini } from "../../../src/endpoints/gemini/read-request.ts";
import { readRequest as readMessages } from "../../../src/endpoints/messages/read-request.ts";
import { createDirectory } from "../support/directory.ts";

/** The provider `openai` has none of the three APIs, so that each body is read. */
const models = createDirectory({
  providers: new Map([
    ["openai", "openai-responses"],
    ["anthropic", "anthropic-messages"],
    ["gemini", "gemini"],
    ["local", "openai-chat"],
  ]),
});

/** Returns the path of the first invalid field; empty if there is none. */
function findMistake(read: () => unknown): string {
  try {
    read();
  } catch (thrown) {
    if (thrown instanceof InvalidRequestError) return thrown.violations[0]?.field ?? thrown.message;
    throw thrown;
  }
  return "";
}

type Row = [path: string, allowed: unknown[], refused: unknown[], toFields?: (value: never) => object];

/** Creates the fields of a body with a value at a path such as `output_config.effort`. */
function nest(path: string, value: unknown): object {
  return path.split(".").reduceRight((inner, name) => ({ [name]: inner }), value) as object;
}

function check(
  [path, allowed, refused, toFields = (value) => nest(path, value)]: Row,
  read: (body: object) => unknown,
) {
  for (const value of allowed) expect(findMistake(() => read(toFields(value as never)))).toBe("");
  for (const value of refused) expect(findMistake(() => read(toFields(value as never)))).toBe(path);
}

const text = (length: number) => "x".repeat(length);
const list = (length: number) => Array.from({ length }, () => "x");

const toChatParts = (part: object) => ({ messages: [{ role: "user", content: [part] }] });
const toSchema = (name: string) => ({
  response_format: { type: "json_schema", json_schema: { name, schema: { type: "object" } } },
});
const afterCall = (call: object, result: object) => ({
  messages: [
    { role: "user", content: "Hi" },
    { role: "assistant", tool_calls: [{ id: "c", type: "function", ...call }] },
    { role: "tool", tool_call_id: "c", content: "done", ...result },
  ],
});
const called = { function: { name: "f", arguments: "{}" } };

it.each<Row>([
  ["model", [text(1), text(512)], ["", text(513)]],
  ["n", [1], [0, 129, 2, 128]],
  ["temperature", [0, 2], [-0.01, 2.01]],
  ["top_p", [0, 1], [-0.01, 1.01]],
  ["max_tokens", [1], [0]],
  ["max_completion_tokens", [1], [0]],
  [
    "frequency_penalty",
    [-2, 2],
    [-2.01, 2.01],
    (frequency_penalty) => ({ model: "gemini/m", frequency_penalty }),
  ],
  [
    "presence_penalty",
    [-2, 2],
    [-2.01, 2.01],
    (presence_penalty) => ({ model: "gemini/m", presence_penalty }),
  ],
  ["reasoning_effort", [text(64)], [text(65)]],
  ["stop", [text(1), [], list(64)], ["", list(65)]],
  ["modalities", [["text"]], [list(9)]],
  ["response_format.json_schema.name", [text(1), text(64)], ["", text(65)], toSchema],
  ["messages", [[{ role: "user", content: "Hi" }]], [[]]],
  [
    "messages[0].name",
    [text(512)],
    [text(513)],
    (name) => ({ messages: [{ role: "user", content: "Hi", name }] }),
  ],
  [
    "messages[0].content[0].image_url.detail",
    [text(64)],
    [text(65)],
    (detail) => toChatParts({ type: "image_url", image_url: { url: "https://a/b.png", detail } }),
  ],
  [
    "messages[0].content[0].input_audio.format",
    [text(1), text(32)],
    ["", text(33)],
    (format) => toChatParts({ type: "input_audio", input_audio: { data: "aGk=", format } }),
  ],
  [
    "messages[0].content[0].file.filename",
    [text(1024)],
    [text(1025)],
    (filename) => toChatParts({ type: "file", file: { file_data: "aGk=", filename } }),
  ],
  [
    "messages[0].content[0].file.file_id",
    [text(1)],
    [""],
    (file_id) => toChatParts({ type: "file", file: { file_id } }),
  ],
  ["messages[1].tool_calls[0].id", ["c"], [""], (id) => afterCall({ ...called, id }, {})],
  [
    "messages[1].tool_calls[0].function.name",
    ["f"],
    [""],
    (name) => afterCall({ function: { name, arguments: "{}" } }, {}),
  ],
  ["messages[2].tool_call_id", ["c"], [""], (tool_call_id) => afterCall(called, { tool_call_id })],
  ["tools[0].function.name", ["f"], [""], (name) => ({ tools: [{ type: "function", function: { name } }] })],
])("Chat Completions: %s takes its limits, and refuses what is beyond", (...row) => {
  const base = { model: "openai/m", messages: [{ role: "user", content: "Hi" }] };
  check(row, (fields) => readChat(Buffer.from(JSON.stringify({ ...base, ...fields })), models));
});

const toBlocks = (block: object) => ({ messages: [{ role: "user", content: [block] }] });
const toTool = (name: string) => ({ tools: [{ name, input_schema: { type: "object" } }] });

it.each<Row>([
  ["model", [text(1), text(512)], ["", text(513)]],
  ["max_tokens", [1], [0]],
  ["temperature", [0, 1], [-0.01, 1.01]],
  ["top_p", [0, 1], [-0.01, 1.01]],
  ["top_k", [0], [-1]],
  ["stop_sequences", [[], list(8192)], [list(8193)]],
  ["thinking.budget_tokens", [1], [0], (budget_tokens) => ({ thinking: { type: "enabled", budget_tokens } })],
  ["output_config.effort", [text(64)], [text(65)]],
  ["messages", [[{ role: "user", content: "Hi" }]], [[]]],
  ["tools[0].name", ["f"], [""], toTool],
  [
    "messages[0].content[0].source.media_type",
    ["image/png"],
    [text(257)],
    (media_type) => toBlocks({ type: "image", source: { type: "base64", media_type, data: "AAAA" } }),
  ],
  [
    "messages[0].content[0].source.url",
    ["https://a/b.png"],
    [""],
    (url) => toBlocks({ type: "image", source: { type: "url", url } }),
  ],
])("Messages: %s takes its limits, and refuses what is beyond", (...row) => {
  const base = { model: "openai/m", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
  check(row, (fields) =>
    readMessages(Buffer.from(JSON.stringify({ ...base, ...fields })), { models, betas: undefined }),
  );
});

const toGeminiParts = (part: object) => ({ contents: [{ role: "user", parts: [part] }] });

it.each<Row>([
  ["generationConfig.temperature", [0, 2], [-0.01, 2.01]],
  ["generationConfig.topP", [0, 1], [-0.01, 1.01]],
  ["generationConfig.topK", [0, 1], [-1], (topK) => ({ model: "anthropic/m", generationConfig: { topK } })],
  ["generationConfig.maxOutputTokens", [1], [0]],
  ["generationConfig.candidateCount", [0, 1], [-1, 2]],
  [
    "generationConfig.frequencyPenalty",
    [-2, 2],
    [-2.01, 2.01],
    (frequencyPenalty) => ({ model: "local/m", generationConfig: { frequencyPenalty } }),
  ],
  [
    "generationConfig.presencePenalty",
    [-2, 2],
    [-2.01, 2.01],
    (presencePenalty) => ({ model: "local/m", generationConfig: { presencePenalty } }),
  ],
  ["generationConfig.stopSequences", [[], list(64)], [list(65)]],
  ["generationConfig.responseMimeType", ["text/plain"], [text(256), text(257)]],
  ["generationConfig.thinkingConfig.thinkingLevel", ["LOW"], [text(65)]],
  ["contents", [[{ role: "user", parts: [{ text: "Hi" }] }]], [[]]],
  [
    "contents[0].parts[0].inlineData.mimeType",
    ["image/png"],
    ["", text(257)],
    (mimeType) => toGeminiParts({ inlineData: { mimeType, data: "AAAA" } }),
  ],
  [
    "contents[0].parts[0].fileData.fileUri",
    ["https://a/b.png"],
    [""],
    (fileUri) => toGeminiParts({ fileData: { fileUri, mimeType: "image/png" } }),
  ],
  [
    "tools[0].functionDeclarations[0].name",
    ["f"],
    [""],
    (name) => ({ tools: [{ functionDeclarations: [{ name }] }] }),
  ],
])("Gemini API: %s takes its limits, and refuses what is beyond", (...row) => {
  const base = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
  check(row, (fields) => {
    const { model = "openai/m", ...rest } = fields as { model?: string };
    return readGemini(Buffer.from(JSON.stringify({ ...base, ...rest })), {
      models,
      model,
      isStreamed: false,
    });
  });
});

it("Gemini API: the model in the path has at most 512 characters", () => {
  const body = Buffer.from(JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hi" }] }] }));
  const read = (length: number) => () => readGemini(body, { models, model: text(length), isStreamed: false });
  expect(findMistake(read(512))).toBe("");
  expect(findMistake(read(513))).toBe("model");
});
