/** The items of parts of the model, and of messages of the caller. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { toItemId } from "../../../src/endpoints/openai/ids.ts";
import { toAddedItem } from "../../../src/endpoints/responses/hosted-events.ts";
import { defaultSettings } from "../../../src/endpoints/responses/settings.ts";
import { toMessageItems } from "../../../src/endpoints/responses/write-input-items.ts";
import { ItemWriter, itemStatusAt } from "../../../src/endpoints/responses/write-items.ts";
import { type ContentPartSchema, MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  FinishReasonSchema,
  FinishReason_Reason as Reason,
  ResponseSchema,
} from "../../../src/gen/outrigger/v1/response_pb.ts";
import { ThreadMessageSchema } from "../../../src/gen/outrigger/v1/thread_pb.ts";

type Part = MessageInitShape<typeof ContentPartSchema>;

const messageId = `msg_${"ab".repeat(18)}`;
const bytes = Buffer.from("hi");

/** A writer for the settings of a request. */
function createWriter(echoed: object = {}, include: readonly string[] = []): ItemWriter {
  return new ItemWriter({ ...defaultSettings, include, echoed: { ...defaultSettings.echoed, ...echoed } });
}

/** Returns the items of the model's parts. */
function write(content: Part[], writer = createWriter()) {
  return writer.getItems(messageId, create(MessageSchema, { role: Role.ASSISTANT, content }).content);
}

function state(data: object) {
  return { provider: "openai", model: "gpt-5.2", dataJson: JSON.stringify(data) };
}

describe("A part of the model", () => {
  it.each<[string, Part, object]>([
    [
      "a text with its phase and log probabilities",
      {
        part: { case: "text", value: "Hi." },
        providerState: state({ item: { phase: "commentary" }, part: { logprobs: [1] } }),
      },
      {
        type: "message",
        id: toItemId("message", messageId, 0),
        role: "assistant",
        status: "completed",
        phase: "commentary",
        content: [{ type: "output_text", text: "Hi.", annotations: [], logprobs: [1] }],
      },
    ],
    [
      "a refusal",
      { part: { case: "text", value: "No." }, refusal: true },
      {
        type: "message",
        id: toItemId("message", messageId, 0),
        role: "assistant",
        status: "completed",
        content: [{ type: "refusal", refusal: "No." }],
      },
    ],
    [
      "an image",
      { part: { case: "image", value: { mediaType: "image/webp", source: { case: "data", value: bytes } } } },
      {
        type: "image_generation_call",
        id: toItemId("image_generation_call", messageId, 0),
        status: "completed",
        output_format: "webp",
        result: "aGk=",
      },
    ],
    [
      "an image at an address, with what OpenAI says of it",
      {
        part: { case: "image", value: { source: { case: "url", value: "https://x.test/a.png" } } },
        providerState: state({ item: { quality: "high" } }),
      },
      {
        type: "image_generation_call",
        id: toItemId("image_generation_call", messageId, 0),
        status: "completed",
        quality: "high",
        result: null,
        url: "https://x.test/a.png",
      },
    ],
    [
      "a sound",
      { part: { case: "audio", value: { mediaType: "audio/wav", source: { case: "data", value: bytes } } } },
      {
        type: "outrigger:audio",
        id: toItemId("outrigger:audio", messageId, 0),
        status: "completed",
        media_type: "audio/wav",
        data: "aGk=",
      },
    ],
    [
      "a document in a file",
      { part: { case: "document", value: { source: { case: "fileId", value: "file_1" } } } },
      {
        type: "outrigger:document",
        id: toItemId("outrigger:document", messageId, 0),
        status: "completed",
        media_type: "",
        file_id: "file_1",
      },
    ],
    [
      "a block of OpenAI",
      {
        part: {
          case: "native",
          value: { provider: "openai", kind: "web_search_call", dataJson: '{"id":"ws_1","status":"failed"}' },
        },
      },
      { type: "web_search_call", id: toItemId("web_search_call", messageId, 0), status: "failed" },
    ],
    [
      "a block of another provider",
      {
        part: { case: "native", value: { provider: "gemini", kind: "executableCode", dataJson: '{"a":1}' } },
      },
      {
        type: "gemini:executableCode",
        id: toItemId("gemini:executableCode", messageId, 0),
        status: "completed",
        data: { a: 1 },
      },
    ],
  ])("is %s", (_what, part, item) => {
    expect(write([part])).toEqual([item]);
  });

  it("has the provider's id if nothing is stored, and none if it has no characters", () => {
    const block = { provider: "openai", kind: "web_search_call", dataJson: '{"id":"ws_1"}' };
    const parts: Part[] = [
      { part: { case: "text", value: "" } },
      { part: { case: "native", value: block } },
      { part: { case: "image", value: {} }, providerState: state({ item: { id: "ig_1" } }) },
    ];
    const ids = write(parts, createWriter({ store: false })).map(({ id }) => id);
    expect(ids).toEqual(["ws_1", toItemId("image_generation_call", messageId, 2)]);
  });

  it("is reasoning, in the field that the caller asked for", () => {
    const part: Part = { part: { case: "reasoning", value: { text: "Hm." } } };
    const head = { type: "reasoning", id: toItemId("reasoning", messageId, 0) };
    expect(write([part])).toEqual([
      { ...head, summary: [], content: [{ type: "reasoning_text", text: "Hm." }] },
    ]);
    const summarizing = createWriter({ reasoning: { effort: null, summary: "auto" } });
    expect(write([part], summarizing)).toEqual([
      { ...head, summary: [{ type: "summary_text", text: "Hm." }] },
    ]);
    expect(write([{ part: { case: "reasoning", value: { text: "" } } }])).toEqual([{ ...head, summary: [] }]);
  });

  it("is reasoning with its state if the caller has to return it, and other state follows", () => {
    const signature = state({ item: { encrypted_content: "gAAA" } });
    const reasoning: Part = { part: { case: "reasoning", value: { text: "Hm." } }, providerState: signature };
    const text: Part = {
      part: { case: "text", value: "Hi." },
      providerState: { ...signature, provider: "gemini", dataJson: '{"part":{"thoughtSignature":"s"}}' },
    };
    const message = create(MessageSchema, { role: Role.ASSISTANT, content: [reasoning, text] });
    const response = create(ResponseSchema, { message, finishReason: { reason: Reason.LENGTH } });
    const stored = createWriter().answer(messageId, response);
    expect(stored.map(({ type, status }) => [type, status])).toEqual([
      ["reasoning", undefined],
      ["message", "incomplete"],
    ]);
    expect(stored[0]).not.toHaveProperty("encrypted_content");
    const writer = createWriter({ store: false }, ["reasoning.encrypted_content"]);
    const carried = writer.answer(messageId, response);
    expect(carried.map(({ id, type }) => [id, type])).toEqual([
      [toItemId("reasoning", messageId, 0), "reasoning"],
      [toItemId("message", messageId, 1), "message"],
      [toItemId("reasoning", messageId, 2), "reasoning"],
    ]);
    expect(carried[0]?.encrypted_content).toEqual(expect.any(String));
    expect(carried[2]).toMatchObject({ summary: [], encrypted_content: expect.any(String) });
    expect(createWriter().answer(messageId, create(ResponseSchema))).toEqual([]);
  });

  it("is a call by the caller's names", () => {
    const tools = [
      { type: "namespace", name: "n", tools: [{ type: "function", name: "f" }] },
      { type: "custom", name: "c" },
    ];
    const call = (name: string, argumentsJson: string, group?: ReturnType<typeof state>): Part => ({
      part: {
        case: "toolCall",
        value: { id: "call_1", name, input: { case: "argumentsJson", value: argumentsJson } },
      },
      ...(group && { providerState: group }),
    });
    const text: Part = {
      part: { case: "toolCall", value: { id: "call_1", name: "d", input: { case: "text", value: "x" } } },
    };
    const caller = { type: "program", caller_id: "call_0" };
    const grouped = call("g", "{}", state({ item: { namespace: "m", caller } }));
    const items = write(
      [call("n__f", "{}"), call("c", '{"input":"free"}'), call("c", "[]"), text, grouped],
      createWriter({ tools }),
    );
    const id = (type: string, index: number) => toItemId(type, messageId, index);
    const common = { call_id: "call_1" };
    expect(items).toEqual([
      {
        ...common,
        type: "function_call",
        id: id("function_call", 0),
        status: "completed",
        name: "f",
        namespace: "n",
        arguments: "{}",
      },
      { ...common, type: "custom_tool_call", id: id("custom_tool_call", 1), name: "c", input: "free" },
      { ...common, type: "custom_tool_call", id: id("custom_tool_call", 2), name: "c", input: "[]" },
      { ...common, type: "custom_tool_call", id: id("custom_tool_call", 3), name: "d", input: "x" },
      {
        ...common,
        type: "function_call",
        id: id("function_call", 4),
        status: "completed",
        name: "g",
        namespace: "m",
        caller,
        arguments: "{}",
      },
    ]);
  });

  it.each([
    [undefined, "completed"],
    [{ reason: Reason.STOP, raw: "stop" }, "completed"],
    [{ reason: Reason.TOOL_CALLS, raw: "tool_use" }, "completed"],
    [{ reason: Reason.LENGTH, raw: "max_tokens" }, "incomplete"],
    [{ reason: Reason.ERROR, raw: "error" }, "incomplete"],
    [{ reason: Reason.CONTENT_FILTER, raw: "SAFETY" }, "incomplete"],
    [{ reason: Reason.CONTENT_FILTER, raw: "refusal" }, "completed"],
    [{ reason: Reason.OTHER, raw: "pause_turn" }, "completed"],
  ])("at the end of an answer that ends with %j is %s", (reason, status) => {
    expect(itemStatusAt(reason && create(FinishReasonSchema, reason))).toBe(status);
  });
});

describe("The sources of a text", () => {
  it("are annotations of OpenAI unchanged, and of other providers in OpenAI's form", () => {
    const file = { type: "file_citation", file_id: "f", filename: "a.txt", index: 7 };
    const container = { type: "container_file_citation", file_id: "f" };
    const path = { type: "file_path", file_id: "f" };
    const citations = [
      ...[file, container, path].map((each) => ({ type: each.type, rawJson: JSON.stringify(each) })),
      { type: "file_path", rawJson: "[]", sourceId: "s", title: "T" },
      {
        type: "char_location",
        rawJson: '{"type":"char_location"}',
        sourceId: "s",
        title: "T",
        citedText: "q",
      },
      { type: "web", url: "https://x.test", title: "X", startIndex: 1, endIndex: 2, citedText: "q" },
      { type: "web", url: "https://y.test", title: "Y" },
    ];
    const [item] = write([{ part: { case: "text", value: "Hi 😀" }, citations }]);
    const web = { type: "url_citation", start_index: 0, end_index: 4 };
    expect(item?.content).toMatchObject([
      {
        annotations: [
          file,
          container,
          path,
          { type: "file_citation", file_id: "s", filename: "T", index: 3 },
          { type: "file_citation", file_id: "s", filename: "T", index: 4, cited_text: "q" },
          { ...web, url: "https://x.test", title: "X", start_index: 1, end_index: 2, cited_text: "q" },
          { ...web, url: "https://y.test", title: "Y" },
        ],
      },
    ]);
  });

  it("keep the text that they quote, even without a source", () => {
    const citation = { type: "char_location", rawJson: '{"type":"char_location"}', citedText: "q" };
    const [item] = write([{ part: { case: "text", value: "Hi" }, citations: [citation] }]);
    const annotation = { type: "file_citation", file_id: "", filename: "", index: 0, cited_text: "q" };
    expect(item?.content).toMatchObject([{ annotations: [annotation] }]);
  });

  it("keep the form of types that OpenAI adds, and invent none for a source without a name", () => {
    const added = { type: "map_citation", place_id: "p" };
    const texts = [added, { type: "map", map: {} }, { type: "char_location" }, { type: "", place_id: "p" }];
    const citations = texts.map((each) => ({ type: each.type, rawJson: JSON.stringify(each) }));
    const [item] = write([{ part: { case: "text", value: "Hi" }, citations }]);
    expect(item?.content).toMatchObject([{ annotations: [added] }]);
  });
});

/** Returns the items of a stored message. */
function list(role: Role, content: Part[], originJson = "") {
  const message = create(MessageSchema, { role, content });
  return toMessageItems(
    { ...create(ThreadMessageSchema, { id: messageId, message }), originJson },
    createWriter(),
  );
}

describe("A message of the caller", () => {
  it.each([
    [Role.USER, "user"],
    [Role.SYSTEM, "system"],
    [Role.DEVELOPER, "developer"],
  ])("of role %i is an item of %s", (role, named) => {
    expect(list(role, [{ part: { case: "text", value: "hi" } }])).toEqual([
      {
        id: toItemId("message", messageId, 0),
        type: "message",
        status: "completed",
        role: named,
        content: [{ type: "input_text", text: "hi" }],
      },
    ]);
  });

  it("has images and files by each of their sources", () => {
    const data = { case: "data", value: bytes } as const;
    const url = { case: "url", value: "https://x.test/a" } as const;
    const fileId = { case: "fileId", value: "file_1" } as const;
    const [item] = list(Role.USER, [
      { part: { case: "image", value: { detail: "low", mediaType: "image/gif", source: data } } },
      { part: { case: "image", value: { source: data } } },
      { part: { case: "image", value: { source: url } } },
      { part: { case: "image", value: { source: fileId } } },
      { part: { case: "document", value: { fileName: "a.txt", mediaType: "text/plain", source: data } } },
      { part: { case: "document", value: { source: data } } },
      { part: { case: "document", value: { fileName: "a", source: url } } },
      { part: { case: "document", value: { source: fileId } } },
      { part: { case: "audio", value: { mediaType: "audio/wav", source: data } } },
      { part: { case: "reasoning", value: { text: "Hm." } } },
    ]);
    const image = { type: "input_image", detail: "auto", file_id: null };
    expect(item?.content).toEqual([
      { ...image, detail: "low", image_url: "data:image/gif;base64,aGk=" },
      { ...image, image_url: "data:image/png;base64,aGk=" },
      { ...image, image_url: "https://x.test/a" },
      { ...image, file_id: "file_1", image_url: null },
      { type: "input_file", filename: "a.txt", file_data: "data:text/plain;base64,aGk=" },
      { type: "input_file", file_data: "data:application/pdf;base64,aGk=" },
      { type: "input_file", filename: "a", file_url: "https://x.test/a" },
      { type: "input_file", file_id: "file_1" },
      { type: "input_file", file_data: "data:audio/wav;base64,aGk=" },
      { type: "input_text", text: "" },
    ]);
  });

  it("of results has an output for each, as a text if it has nothing else", () => {
    const result = (toolCallId: string, content: Part[]): Part => ({
      part: { case: "toolResult", value: { toolCallId, content } },
    });
    const text = (value: string): Part => ({ part: { case: "text", value } });
    const picture: Part = {
      part: { case: "image", value: { source: { case: "url", value: "https://x.test" } } },
    };
    const items = list(Role.TOOL, [
      result("a", [text("1"), text("2")]),
      text("beside"),
      result("b", [text("1"), picture]),
    ]);
    expect(items).toMatchObject([
      {
        type: "function_call_output",
        id: toItemId("function_call_output", messageId, 0),
        status: "completed",
        call_id: "a",
        output: "12",
      },
      {
        id: toItemId("function_call_output", messageId, 2),
        call_id: "b",
        output: [{ type: "input_text", text: "1" }, { type: "input_image" }],
      },
    ]);
  });

  it("that has no unified form is the item that the caller sent", () => {
    const id = (type: string) => toItemId(type, messageId, 0);
    const listed = (origin: object) => list(Role.USER, [], JSON.stringify(origin));
    expect(listed({ type: "shell_call_output", output: [], id: "sh_1" })).toEqual([
      { type: "shell_call_output", output: [], id: id("shell_call_output"), status: "completed" },
    ]);
    expect(listed({ type: "computer_call_output", status: "incomplete" })).toEqual([
      { type: "computer_call_output", id: id("computer_call_output"), status: "incomplete" },
    ]);
    expect(listed({ type: "compaction" })).toEqual([{ type: "compaction", id: id("compaction") }]);
    expect(listed({ role: "user", content: [] })).toEqual([
      { type: "message", role: "user", content: [], id: id("message") },
    ]);
    expect(toMessageItems(create(ThreadMessageSchema, { id: messageId }), createWriter())).toEqual([]);
  });
});

describe("An item of a hosted tool, when it begins", () => {
  it.each<[string, object, object]>([
    ["web_search_call", { status: "completed", action: {} }, { status: "in_progress" }],
    [
      "file_search_call",
      { status: "completed", queries: ["q"], results: [1] },
      { status: "in_progress", queries: [], results: null },
    ],
    [
      "code_interpreter_call",
      { status: "completed", code: "1", outputs: [1], container_id: "c" },
      { status: "in_progress", code: "", outputs: [], container_id: "c" },
    ],
    [
      "image_generation_call",
      { status: "completed", result: "aGk=" },
      { status: "in_progress", result: null },
    ],
    [
      "mcp_call",
      { server_label: "d", name: "f", approval_request_id: "r", arguments: "{}", output: "1", error: null },
      { server_label: "d", name: "f", approval_request_id: "r", arguments: "", output: null, error: null },
    ],
    ["mcp_list_tools", { server_label: "d", tools: [1] }, { server_label: "d", tools: [] }],
    ["shell_call", { call_id: "c", status: "completed" }, { call_id: "c", status: "completed" }],
  ])("of type %s has nothing of its result", (type, fields, early) => {
    expect(toAddedItem({ id: "x_1", type, ...fields })).toEqual({ id: "x_1", type, ...early });
  });
});
