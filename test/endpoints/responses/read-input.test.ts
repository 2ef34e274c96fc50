import { create, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { describe, expect, it } from "vitest";
import { toItemId } from "../../../src/endpoints/openai/ids.ts";
import { encodeCompaction } from "../../../src/endpoints/responses/compaction.ts";
import { encodeOtherParts, encodeReasoning } from "../../../src/endpoints/responses/provider-state.ts";
import { type Message, MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { type ThreadMessage, ThreadMessageSchema } from "../../../src/gen/outrigger/v1/thread_pb.ts";
import { read, toInput } from "./support/reading.ts";

const user = { role: "ROLE_USER", content: [{ text: "hi" }] };

function toContractJson(messages: readonly (Message | undefined)[]): unknown[] {
  return messages.map((message) => toJson(MessageSchema, message ?? create(MessageSchema)));
}

/** An item of the SDK's types, and the resulting messages. Each item needs the previous ones. */
const items: readonly { name: string; input: unknown; messages: readonly unknown[]; model?: string }[] = [
  { name: "a text", input: "hi", messages: [user] },
  { name: "a message without a type", input: [{ role: "user", content: "hi" }], messages: [user] },
  {
    name: "parts of a message among the items",
    input: [
      { type: "input_text", text: "hi" },
      { type: "input_image", image_url: "https://x.test/a.png", detail: "low" },
      { role: "developer", content: "Be brief." },
      { type: "input_text", text: "hi" },
    ],
    messages: [
      {
        role: "ROLE_USER",
        content: [{ text: "hi" }, { image: { detail: "low", url: "https://x.test/a.png" } }],
      },
      { role: "ROLE_DEVELOPER", content: [{ text: "Be brief." }] },
      user,
    ],
  },
  {
    name: "images and files by each of their sources",
    input: [
      {
        role: "user",
        content: [
          { type: "input_image", file_id: "file-1", detail: "auto" },
          { type: "input_file", file_id: "file-2" },
          { type: "input_file", file_url: "https://x.test/a.pdf" },
          { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,aGk=" },
          { type: "input_file", filename: "a.txt", file_data: "aGk=" },
          { type: "input_audio", input_audio: { data: "aGk=", format: "mp3" } },
        ],
      },
    ],
    messages: [
      {
        role: "ROLE_USER",
        content: [
          { image: { detail: "auto", fileId: "file-1" } },
          { document: { fileId: "file-2" } },
          { document: { url: "https://x.test/a.pdf" } },
          { document: { fileName: "a.pdf", url: "data:application/pdf;base64,aGk=" } },
          { document: { fileName: "a.txt", mediaType: "text/plain", data: "aGk=" } },
          { audio: { mediaType: "audio/mpeg", data: "aGk=" } },
        ],
      },
    ],
  },
  {
    name: "the model's turn as one message, with the sources of its text",
    input: [
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [
          {
            type: "output_text",
            text: "It is sunny.",
            annotations: [
              { type: "url_citation", start_index: 0, end_index: 2, title: "W", url: "https://w.test" },
            ],
          },
          { type: "refusal", refusal: "No." },
        ],
      },
      { type: "function_call", call_id: "call_1", name: "f", arguments: '{"b":1.0,"a":2}' },
      { type: "function_call_output", call_id: "call_1", output: "done" },
    ],
    model: "anthropic/claude-sonnet-4-5",
    messages: [
      {
        role: "ROLE_ASSISTANT",
        content: [
          {
            text: "It is sunny.",
            citations: [
              {
                type: "url_citation",
                title: "W",
                url: "https://w.test",
                startIndex: 0,
                endIndex: 2,
                rawJson: expect.stringContaining("url_citation"),
              },
            ],
          },
          { refusal: true, text: "No." },
          { toolCall: { id: "call_1", name: "f", argumentsJson: '{"b":1.0,"a":2}' } },
        ],
      },
      {
        role: "ROLE_TOOL",
        toolCallId: "call_1",
        content: [{ toolResult: { toolCallId: "call_1", content: [{ text: "done" }] } }],
      },
    ],
  },
  {
    name: "arguments that are no JSON, as the model wrote them",
    input: [
      { type: "function_call", call_id: "c", name: "f", arguments: '{"a":' },
      { type: "function_call_output", call_id: "c", output: [{ type: "input_text", text: "bad" }] },
    ],
    messages: [
      {
        role: "ROLE_ASSISTANT",
        content: [{ toolCall: { id: "c", name: "f", argumentsInvalid: true, argumentsJson: '{"a":' } }],
      },
      {
        role: "ROLE_TOOL",
        toolCallId: "c",
        content: [{ toolResult: { toolCallId: "c", content: [{ text: "bad" }] } }],
      },
    ],
  },
  {
    name: "a custom tool's call and its output",
    input: [
      { type: "custom_tool_call", call_id: "c", name: "sql", input: "select 1", namespace: "db" },
      { type: "custom_tool_call_output", call_id: "c", output: "1" },
    ],
    messages: [
      {
        role: "ROLE_ASSISTANT",
        content: [
          {
            providerState: {
              provider: "openai",
              model: "gpt-5.2",
              dataJson: '{"item":{"type":"custom_tool_call","namespace":"db"}}',
            },
            toolCall: { id: "c", name: "sql", text: "select 1" },
          },
        ],
      },
      {
        role: "ROLE_TOOL",
        toolCallId: "c",
        content: [{ toolResult: { toolCallId: "c", content: [{ text: "1" }] } }],
      },
    ],
  },
  {
    name: "an MCP server's call as a call and its result",
    input: [
      { type: "mcp_list_tools", id: "mcpl_1", server_label: "docs", tools: [] },
      {
        type: "mcp_call",
        id: "mcp_1",
        server_label: "docs",
        name: "search",
        arguments: "{}",
        output: "found",
      },
      { type: "mcp_call", id: "mcp_2", server_label: "docs", name: "search", arguments: "{}", error: "down" },
    ],
    messages: [
      {
        role: "ROLE_ASSISTANT",
        content: [{ toolCall: { id: "mcp_1", name: "docs__search", argumentsJson: "{}" } }],
      },
      {
        role: "ROLE_TOOL",
        toolCallId: "mcp_1",
        content: [{ toolResult: { toolCallId: "mcp_1", content: [{ text: "found" }] } }],
      },
      {
        role: "ROLE_ASSISTANT",
        content: [{ toolCall: { id: "mcp_2", name: "docs__search", argumentsJson: "{}" } }],
      },
      {
        role: "ROLE_TOOL",
        toolCallId: "mcp_2",
        content: [{ toolResult: { toolCallId: "mcp_2", content: [{ text: "down" }], failed: true } }],
      },
    ],
  },
  {
    name: "a generated image",
    input: [
      {
        type: "image_generation_call",
        id: "ig_1",
        status: "completed",
        result: "aGk=",
        output_format: "webp",
      },
    ],
    messages: [{ role: "ROLE_ASSISTANT", content: [{ image: { mediaType: "image/webp", data: "aGk=" } }] }],
  },
  {
    name: "a block of another provider",
    input: [{ type: "gemini:executableCode", id: "item_1", status: "completed", data: { b: 1.0, a: [2] } }],
    messages: [
      {
        role: "ROLE_ASSISTANT",
        content: [{ native: { provider: "gemini", kind: "executableCode", dataJson: '{"b":1,"a":[2]}' } }],
      },
    ],
  },
  {
    name: "reasoning without anything",
    input: [
      { type: "reasoning", summary: [] },
      { role: "user", content: "hi" },
    ],
    messages: [user],
  },
  {
    name: "reasoning that another API wrote",
    input: [
      { type: "reasoning", summary: [{ type: "summary_text", text: "So." }], encrypted_content: "gAAA" },
    ],
    model: "anthropic/claude-sonnet-4-5",
    messages: [
      {
        role: "ROLE_ASSISTANT",
        content: [
          {
            reasoning: { text: "So." },
            providerState: {
              provider: "openai",
              dataJson:
                '{"item":{"type":"reasoning","summary":[{"type":"summary_text","text":"So."}],"encrypted_content":"gAAA"}}',
            },
          },
        ],
      },
    ],
  },
  {
    name: "what OpenAI's API says of a message, where it serves the model",
    input: [{ role: "assistant", content: "hm", phase: "commentary" }],
    messages: [
      {
        role: "ROLE_ASSISTANT",
        content: [
          {
            text: "hm",
            providerState: {
              provider: "openai",
              model: "gpt-5.2",
              dataJson:
                '{"item":{"type":"message","role":"assistant","status":"completed","phase":"commentary"},"part":{"type":"output_text"}}',
            },
          },
        ],
      },
    ],
  },
  {
    name: "the summary of a conversation that this API shortened",
    input: [
      { type: "compaction", encrypted_content: encodeCompaction("Ann wants tea.") },
      { role: "user", content: "hi" },
    ],
    model: "gemini/gemini-3-pro",
    messages: [
      { role: "ROLE_USER", content: [{ text: expect.stringMatching(/\n\nAnn wants tea\.$/) }] },
      user,
    ],
  },
];

/** Every item that only OpenAI's API knows, as its SDK types it. */
const natives: readonly ResponseInputItem[] = [
  { type: "file_search_call", id: "fs_1", queries: ["a"], status: "completed", results: null },
  { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "a" } },
  { type: "computer_call", id: "cu_1", call_id: "c", status: "completed", pending_safety_checks: [] },
  { type: "computer_call_output", call_id: "c", output: { type: "computer_screenshot", file_id: "f" } },
  { type: "tool_search_call", arguments: {}, call_id: "c" },
  { type: "tool_search_output", tools: [], call_id: "c" },
  {
    type: "code_interpreter_call",
    id: "ci_1",
    code: "1",
    container_id: "k",
    outputs: null,
    status: "completed",
  },
  {
    type: "local_shell_call",
    id: "lsh_1",
    call_id: "c",
    status: "completed",
    action: { type: "exec", command: ["ls"], env: {} },
  },
  { type: "local_shell_call_output", id: "c", output: "a" },
  { type: "shell_call", call_id: "c", action: { commands: ["ls"] } },
  { type: "shell_call_output", call_id: "c", output: [] },
  {
    type: "apply_patch_call",
    call_id: "c",
    status: "completed",
    operation: { type: "delete_file", path: "a" },
  },
  { type: "apply_patch_call_output", call_id: "c", status: "completed" },
  { type: "additional_tools", role: "developer", tools: [] },
  { type: "program", id: "p_1", call_id: "c", code: "1", fingerprint: "f" },
  { type: "program_output", id: "po_1", call_id: "c", result: "1", status: "completed" },
  { type: "compaction", encrypted_content: "gAAA" },
  { type: "compaction_trigger" },
  { type: "image_generation_call", id: "ig_1", status: "completed", result: null },
  { type: "item_reference", id: "msg_of_openai" },
];

describe("the input of a request", () => {
  it.each(items)("may be $name", async ({ input, messages, model }) => {
    expect(toContractJson(await toInput(input, model))).toEqual(messages);
  });

  it.each(natives)("keeps an item of type $type as it was spelled", async (item) => {
    const text = JSON.stringify(item, null, 1);
    const request = await read(`{"model":"gpt-5.2","input":[${text}]}`);
    const [part] = request.input.input?.[0]?.message?.content ?? [];
    expect(part?.part).toMatchObject({
      case: "native",
      value: { provider: "openai", kind: item.type, dataJson: text },
    });
  });

  it.each(["compaction", "compaction_trigger"])(
    "is refused if another provider would read it without its %s",
    async (type) => {
      const input = [{ type, encrypted_content: "gAAA" }];
      await expect(toInput(input, "anthropic/claude-sonnet-4-5")).rejects.toMatchObject({
        violations: [{ field: "input[0]" }],
        errorCode: "unsupported_value",
      });
    },
  );

  it("keeps a cache breakpoint for OpenAI, and says that another provider has none", async () => {
    const input = [
      {
        role: "user",
        content: [{ type: "input_text", text: "hi", prompt_cache_breakpoint: { mode: "explicit" } }],
      },
    ];
    const [message] = await toInput(input);
    expect(message?.content[0]?.part).toMatchObject({ case: "native", value: { kind: "input_text" } });
    const { settings } = await read({ model: "local/m", input });
    expect(settings.warnings).toEqual([
      expect.objectContaining({ param: "input[0].content[0].prompt_cache_breakpoint" }),
    ]);
  });
});

const messageId = `msg_${"ab".repeat(18)}`;

function keptMessage(init: MessageInitShape<typeof MessageSchema>): ThreadMessage {
  return create(ThreadMessageSchema, { id: messageId, message: create(MessageSchema, init) });
}

const state = { provider: "gemini", model: "gemini-3-pro", dataJson: '{"part":{"thoughtSignature":"c2ln"}}' };

describe("what an earlier response had", () => {
  const call = { id: "call_1", name: "f", input: { case: "argumentsJson" as const, value: "{}" } };
  const answer = keptMessage({
    role: Role.ASSISTANT,
    content: [
      { part: { case: "text", value: "Let me see." } },
      { part: { case: "toolCall", value: call }, providerState: state },
    ],
  });
  const output = { type: "function_call_output", call_id: "call_1", output: "1" };

  it("is found by a reference, part by part", async () => {
    const messages = await toInput(
      [{ type: "item_reference", id: toItemId("function_call", messageId, 1) }, output],
      "gemini/gemini-3-pro",
      { messages: [answer] },
    );
    expect(messages[0]?.content).toEqual([answer.message?.content[1]]);
    const said = keptMessage({ role: Role.USER, content: [{ part: { case: "text", value: "hi" } }] });
    const id = toItemId("message", messageId, 0);
    expect(await toInput([{ id }], "gpt-5.2", { messages: [said] })).toEqual([said.message]);
  });

  it("gives returned items their state, unless they were changed or nothing is kept", async () => {
    const item = {
      type: "function_call",
      id: toItemId("function_call", messageId, 1),
      call_id: "call_1",
      name: "f",
      arguments: "{}",
    };
    const kept = { messages: [answer] };
    const toState = async (fields: object, settings: object = {}) => {
      const body = { model: "gemini/gemini-3-pro", input: [{ ...item, ...fields }, output], ...settings };
      return (await read(body, kept)).input.input?.[0]?.message?.content[0]?.providerState;
    };
    expect(await toState({})).toMatchObject(state);
    expect(await toState({ arguments: '{"a":1}' })).toBeUndefined();
    expect(await toState({}, { store: false })).toBeUndefined();
    expect(await toState({ id: `fc_${"0".repeat(39)}` })).toBeUndefined();
  });

  it("is refused if it is not stored", async () => {
    await expect(toInput([{ type: "item_reference", id: `msg_${"0".repeat(39)}` }])).rejects.toMatchObject({
      violations: [{ field: "input[0].id", description: expect.stringContaining("stored item") }],
    });
    await expect(toInput([{ id: "msg_of_openai" }], "gemini/gemini-3-pro")).rejects.toMatchObject({
      violations: [{ field: "input[0].id" }],
    });
  });

  it("names the call that an approval is for", async () => {
    const id = toItemId("mcp_approval_request", messageId, 1);
    const approval = { type: "mcp_approval_response", approval_request_id: id, approve: false, reason: "no" };
    const request = await read({ model: "gpt-5.2", input: [approval] }, { messages: [answer] });
    expect(request.input.request.approvals).toMatchObject([
      { toolCallId: "call_1", approve: false, reason: "no" },
    ]);
    const stateless = await read({
      model: "gpt-5.2",
      store: false,
      input: [
        { type: "mcp_approval_request", id: "mcpr_1", server_label: "docs", name: "f", arguments: "{}" },
        { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true },
      ],
    });
    expect(stateless.input.request.approvals).toMatchObject([{ toolCallId: "mcpr_1", approve: true }]);
    await expect(
      read({ model: "gpt-5.2", input: [{ ...approval, approval_request_id: "mcpr_2" }] }),
    ).rejects.toMatchObject({ violations: [{ field: "input[0].approval_request_id" }] });
  });
});

describe("state that the client returned", () => {
  it("is given to the parts of the turn", async () => {
    const written = keptMessage({
      role: Role.ASSISTANT,
      content: [
        {
          part: { case: "reasoning", value: { text: "Hm." } },
          providerState: { provider: "anthropic", model: "m", dataJson: '{"block":{"signature":"s"}}' },
        },
        { part: { case: "text", value: "Hi." }, providerState: state },
        { part: { case: "text", value: "" }, providerState: state },
      ],
    }).message;
    const content = written?.content ?? [];
    const [reasoning] = content;
    const messages = await toInput([
      { type: "reasoning", summary: [], encrypted_content: reasoning && encodeReasoning(reasoning) },
      { role: "assistant", content: "Hi." },
      { type: "reasoning", summary: [], encrypted_content: encodeOtherParts(content) },
      { role: "user", content: "hi" },
    ]);
    expect(messages[0]).toEqual(written);
  });

  it("is given to calls of MCP servers, whose items do not show their ids", async () => {
    const call = (id: string, args: string) => ({
      part: {
        case: "toolCall" as const,
        value: { id, name: "docs__search", input: { case: "argumentsJson" as const, value: args } },
      },
      providerState: { ...state, dataJson: JSON.stringify({ part: { thoughtSignature: args } }) },
    });
    const kept = keptMessage({
      role: Role.ASSISTANT,
      content: [call("call_1", "[1]"), call("call_2", "[2]")],
    });
    const item = (id: string, args: string) => ({
      type: "mcp_call",
      id,
      server_label: "docs",
      name: "search",
      arguments: args,
      output: "found",
    });
    const messages = await toInput([
      item("mcp_1", "[1]"),
      item("mcp_2", "[2]"),
      { type: "reasoning", summary: [], encrypted_content: encodeOtherParts(kept.message?.content ?? []) },
      { role: "user", content: "hi" },
    ]);
    const states = messages.flatMap((message) => message?.content[0]?.providerState ?? []);
    expect(states).toEqual(kept.message?.content.map(({ providerState }) => providerState));
  });

  it("is reported if its item is missing, and refused if it was truncated", async () => {
    const part = keptMessage({
      role: Role.ASSISTANT,
      content: [{ part: { case: "text", value: "a" }, providerState: state }],
    });
    const encrypted = encodeOtherParts(part.message?.content ?? []) ?? "";
    const { settings } = await read({
      model: "gpt-5.2",
      input: [
        { role: "user", content: "hi" },
        { type: "reasoning", summary: [], encrypted_content: encrypted },
      ],
    });
    expect(settings.warnings).toMatchObject([{ param: "input[1]", code: "foreign_state_stripped" }]);
    await expect(
      toInput([{ type: "reasoning", summary: [], encrypted_content: encrypted.slice(0, 20) }]),
    ).rejects.toMatchObject({ violations: [{ field: "input[0].encrypted_content" }] });
  });
});
