import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { assistantMessage, developerMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { documentPart, imagePart, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import {
  type ContentPartSchema,
  type MessageSchema,
  Role,
} from "../../../src/gen/outrigger/v1/message_pb.ts";
import { StatePolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { build, options, type RequestInit } from "./build-request.ts";

type MessageInit = MessageInitShape<typeof MessageSchema>;
type PartInput = MessageInitShape<typeof ContentPartSchema>;

const NEW = "claude-opus-5";

/** The messages of a body, and the warnings about them. */
async function converse(messages: MessageInit[], more: RequestInit = {}) {
  const { body, warnings, text } = await build({ messages, ...more });
  return { messages: body.messages, system: body.system, warnings, text, body };
}

const call = (id: string, argumentsJson = "{}"): PartInput => ({
  part: {
    case: "toolCall",
    value: { id, name: "look", input: { case: "argumentsJson", value: argumentsJson } },
  },
});
const thinking = (
  text: string,
  block: unknown,
  model = "claude-sonnet-4-5",
  provider = "anthropic",
): PartInput => ({
  part: { case: "reasoning", value: { text } },
  providerState: { provider, model, dataJson: JSON.stringify({ block }) },
});
const native = (provider: string, block: Record<string, unknown>): PartInput => ({
  part: { case: "native", value: { provider, kind: String(block.type), dataJson: JSON.stringify(block) } },
});
const result = (toolCallId: string, content = "done") => toolResult(toolCallId, content);
const SIGNED = { type: "thinking", signature: "sig" };

describe("the roles of messages", () => {
  it("put instructions at the beginning into system, block by block, and merge consecutive messages of one role", async () => {
    const { system, messages } = await converse([
      systemMessage("A"),
      developerMessage("B"),
      userMessage("one"),
      userMessage([textPart(""), textPart(" \n"), textPart("two")]),
      assistantMessage("three"),
      assistantMessage([]),
      assistantMessage("four"),
      userMessage("five"),
    ]);
    expect(system).toEqual([
      { type: "text", text: "A" },
      { type: "text", text: "B" },
    ]);
    expect(messages).toEqual([
      { role: "user", content: [textBlock("one"), textBlock("two")] },
      { role: "assistant", content: [textBlock("three"), textBlock("four")] },
      { role: "user", content: [textBlock("five")] },
    ]);
  });

  it("are merged in linear time, however many messages there are", async () => {
    // Copying the content so far for each message would take longer than a test may.
    const { messages } = await converse(Array.from({ length: 80_000 }, () => userMessage("hi")));
    expect(messages).toEqual([{ role: "user", content: expect.any(Array) }]);
  });

  it("keep later instructions in place if the model takes them there", async () => {
    const history = [userMessage("a"), systemMessage("S1"), developerMessage("S2"), assistantMessage("b")];
    const { messages, warnings } = await converse([...history, userMessage("c")], { model: NEW });
    expect(messages).toMatchObject([
      { role: "user" },
      { role: "system", content: [textBlock("S1"), textBlock("S2")] },
      { role: "assistant" },
      { role: "user" },
    ]);
    expect(warnings).toEqual([]);
    const last = await converse([userMessage("a"), systemMessage("S")], { model: NEW });
    expect(last.messages).toMatchObject([{ role: "user" }, { role: "system" }]);
  });

  it("put later instructions into a tag if the model does not take them there", async () => {
    const tagged = textBlock("<system_message>\nS\n</system_message>");
    const old = await converse([
      userMessage("a"),
      systemMessage("S"),
      assistantMessage("b"),
      userMessage("c"),
    ]);
    expect(old.messages).toMatchObject([{ content: [textBlock("a"), tagged] }, {}, {}]);
    expect(old.warnings).toEqual(["converted_content messages[1]"]);
    const between = [userMessage("a"), assistantMessage([call("1")]), systemMessage("S"), result("1")];
    const { messages } = await converse(between, { model: NEW });
    expect(messages).toMatchObject([{}, {}, { role: "user", content: [{ type: "tool_result" }, tagged] }]);
  });

  it("require a message besides the instructions, and text alone in the instructions", async () => {
    await expect(converse([systemMessage("A")])).rejects.toThrow(
      "messages: expected at least one message with content",
    );
    const instructions = { role: Role.SYSTEM, content: [imagePart("https://a.example/b.png")] };
    await expect(converse([instructions, userMessage("hi")])).rejects.toThrow(
      "messages[0].content[0]: expected text",
    );
    await expect(converse([{ content: [textPart("x")] }])).rejects.toThrow(
      "messages[0].role: expected a role",
    );
  });
});

describe("images and documents", () => {
  const ask = async (part: PartInput, more: RequestInit = {}) => {
    const { messages, warnings } = await converse([userMessage([part])], more);
    return { block: (messages as { content: unknown[] }[])[0]?.content[0], warnings };
  };

  it("are sent by URL, bytes and file id", async () => {
    const png = Uint8Array.from([1, 2, 3]);
    expect((await ask(imagePart("https://a.example/b.png"))).block).toEqual({
      type: "image",
      source: { type: "url", url: "https://a.example/b.png" },
    });
    expect((await ask(imagePart(png))).block).toEqual({
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "AQID" },
    });
    const file = {
      part: { case: "image", value: { detail: "high", source: { case: "fileId", value: "file_1" } } },
    } as const;
    expect(await ask(file)).toEqual({
      block: { type: "image", source: { type: "file", file_id: "file_1" } },
      warnings: ["unsupported_setting messages[0].content[0].image.detail"],
    });
    expect((await ask(documentPart(png, { fileName: "a.pdf" }))).block).toEqual({
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: "AQID" },
      title: "a.pdf",
    });
    expect((await ask(documentPart("https://a.example/b.pdf"))).block).toEqual({
      type: "document",
      source: { type: "url", url: "https://a.example/b.pdf" },
    });
  });

  it("are sent as text if they are text, and with citations if the caller turns those on", async () => {
    const markdown = documentPart(new TextEncoder().encode("# Grüße"), { mediaType: "text/markdown" });
    expect((await ask(markdown, options({ document_citations: true }))).block).toEqual({
      type: "document",
      source: { type: "text", media_type: "text/plain", data: "# Grüße" },
      citations: { enabled: true },
    });
  });

  it("are sent verbatim if they are native parts", async () => {
    const source = { type: "content", content: [{ type: "text", text: "chunk" }] };
    expect((await ask(native("anthropic", { type: "document", source }))).block).toEqual({
      type: "document",
      source,
    });
  });

  const refused = [
    {
      part: imagePart(Uint8Array.of(1), { mediaType: "image/bmp" }),
      error: "content[0].image: expected one of image/jpeg",
    },
    { part: imagePart("https://a.example/b.svg"), error: "content[0].image: expected one of image/jpeg" },
    {
      part: documentPart(Uint8Array.of(1), { mediaType: "application/zip" }),
      error: "content[0].document: expected a PDF",
    },
    { part: documentPart("https://a.example/b.txt"), error: "content[0].document: expected a PDF" },
    {
      part: documentPart(Uint8Array.of(0xff), { mediaType: "text/plain" }),
      error: "content[0].document: expected text in UTF-8",
    },
    {
      part: { part: { case: "audio", value: {} } } as const,
      error: "content[0].audio: the Messages API does not accept audio",
    },
    { part: call("1"), error: "content[0]: expected text, an image" },
  ];
  it.each(refused)("are refused: $error", async ({ part, error }) => {
    await expect(ask(part)).rejects.toThrow(`messages[0].${error}`);
  });
});

describe("tool calls and results", () => {
  it("keep arguments exactly as written, and put results first in the next turn", async () => {
    const argumentsJson = '{"2024": 1.0, "2023": {"b":1e2}}';
    const { messages, text, warnings } = await converse([
      userMessage("go"),
      assistantMessage([textPart("Looking."), call("a", argumentsJson), call("b", "")]),
      userMessage("and hurry"),
      result("b"),
      toolResult("a", [imagePart("https://a.example/b.png")], { failed: true }),
    ]);
    expect(text).toContain(`"input":${argumentsJson}`);
    expect(messages).toMatchObject([
      {},
      { content: [textBlock("Looking."), { type: "tool_use", id: "a", name: "look" }, { input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "b", content: [textBlock("done")] },
          { type: "tool_result", tool_use_id: "a", is_error: true, content: [{ type: "image" }] },
          textBlock("and hurry"),
        ],
      },
    ]);
    expect(warnings).toEqual([]);
  });

  it("treat a tool message without a result part as the result, and leave out empty content", async () => {
    const plain = { role: Role.TOOL, toolCallId: "a", content: [textPart("sun")] };
    const history = [userMessage("go"), assistantMessage([call("a")])];
    const { messages } = await converse([...history, plain]);
    expect(messages).toMatchObject([
      {},
      {},
      { content: [{ tool_use_id: "a", content: [textBlock("sun")] }] },
    ]);
    const empty = await converse([...history, result("a", "")]);
    expect((empty.messages as { content: unknown }[])[2]?.content).toEqual([
      { type: "tool_result", tool_use_id: "a" },
    ]);
    const mixed = { role: Role.TOOL, content: [textPart("note"), ...result("a").content] };
    const withText = await converse([...history, mixed]);
    expect(withText.messages).toMatchObject([
      {},
      {},
      { content: [{ type: "tool_result" }, textBlock("note")] },
    ]);
  });

  it("replace ids that the API refuses with unique ones, the same in every request", async () => {
    const turn = (id: string) => [assistantMessage([call(id)]), result(id)];
    const history = [
      userMessage("go"),
      ...turn("call|1"),
      ...turn("call.1"),
      ...turn("same"),
      ...turn("same"),
    ];
    const first = await converse(history);
    const ids = (first.messages as { content: { id?: string; tool_use_id?: string }[] }[]).flatMap(
      ({ content }) => content.flatMap(({ id, tool_use_id: answered }) => [id ?? answered].filter(Boolean)),
    );
    const [calls, results] = [0, 1].map((half) => ids.filter((_, index) => index % 2 === half));
    expect(results).toEqual(calls);
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(first.warnings).toEqual(["converted_content messages[1].content[0].tool_call.id"]);
    expect((await converse(history)).text).toBe(first.text);
  });

  it("wrap arguments that are not a JSON object, and replace characters that the API refuses in names", async () => {
    const parts: PartInput[] = [
      call("a", '{"cut'),
      call("b", "[1]"),
      {
        part: {
          case: "toolCall",
          value: {
            id: "c",
            name: "api.look",
            input: { case: "text", value: "free" },
          },
        },
      },
    ];
    const history = [userMessage("go"), assistantMessage(parts), result("a"), result("b"), result("c")];
    const { messages, warnings } = await converse(history);
    expect(messages).toMatchObject([
      {},
      {
        content: [
          { input: { invalid_arguments: '{"cut' } },
          { input: { invalid_arguments: "[1]" } },
          { name: "api_look", input: { input: "free" } },
        ],
      },
      {},
    ]);
    expect(warnings).toEqual([
      "converted_content messages[1].content[0].tool_call",
      "converted_content messages[1].content[1].tool_call",
      "converted_content messages[1].content[2].tool_call.name",
      "converted_content messages[1].content[2].tool_call",
    ]);
  });

  it("send back the caller and the toolset, the toolset in the result too", async () => {
    const caller = { type: "direct" };
    const providerState = {
      provider: "anthropic",
      model: "claude-opus-5",
      dataJson: JSON.stringify({ block: { caller, toolset_name: "browser" } }),
    };
    const { messages } = await converse([
      userMessage("go"),
      assistantMessage([{ ...call("a"), providerState } as PartInput]),
      result("a"),
    ]);
    expect(messages).toMatchObject([
      {},
      { content: [{ type: "tool_use", caller, toolset_name: "browser" }] },
      { content: [{ type: "tool_result", toolset_name: "browser" }] },
    ]);
  });

  const unpaired = [
    {
      messages: [userMessage("go"), assistantMessage([call("a"), call("b")]), result("a")],
      error: "messages[1].content[1].tool_call: expected its result in messages[2]",
    },
    {
      messages: [userMessage("go"), assistantMessage([call("a")])],
      error: "messages[1].content[0].tool_call: expected its result in messages",
    },
    {
      messages: [
        userMessage("go"),
        assistantMessage([call("a")]),
        result("a"),
        assistantMessage("x"),
        result("a"),
      ],
      error: "messages[4].content[0].tool_result: expected a tool call",
    },
    {
      messages: [userMessage("go"), assistantMessage([call("a")]), result("a"), result("a")],
      error: "messages[3].content[0].tool_result: expected a tool call",
    },
  ];
  it.each(unpaired)("are refused if they do not match: $error", async ({ messages, error }) => {
    await expect(converse(messages)).rejects.toThrow(error);
  });
});

describe("an assistant message", () => {
  it("is sent back unchanged, with all of its thinking", async () => {
    const { messages, text, warnings } = await converse([
      userMessage("go"),
      assistantMessage([
        thinking("Hm.", SIGNED),
        thinking("", { type: "thinking", signature: "empty" }),
        thinking("", { type: "redacted_thinking", data: "secret" }),
        native("anthropic", {
          type: "server_tool_use",
          id: "s",
          name: "web_search",
          input: { "2": 1, "1": 2 },
        }),
        textPart("Found."),
      ]),
      userMessage("thanks"),
    ]);
    expect((messages as { content: unknown }[])[1]?.content).toEqual([
      { type: "thinking", thinking: "Hm.", signature: "sig" },
      { type: "thinking", thinking: "", signature: "empty" },
      { type: "redacted_thinking", data: "secret" },
      { type: "server_tool_use", id: "s", name: "web_search", input: { "2": 1, "1": 2 } },
      textBlock("Found."),
    ]);
    expect(text).toContain('"type":"redacted_thinking","data":"secret"');
    expect(warnings).toEqual([]);
  });

  it("keeps the citations that the API takes, and no others", async () => {
    const citation = {
      type: "page_location",
      cited_text: "x",
      document_index: 0,
      start_page_number: 1,
      end_page_number: 2,
    };
    const cited = {
      ...textPart("So."),
      citations: [
        { rawJson: JSON.stringify(citation) },
        { rawJson: '{"type":"url_citation"}' },
        { rawJson: "" },
      ],
    };
    const { messages } = await converse([
      userMessage("go"),
      assistantMessage([cited as PartInput]),
      userMessage("ok"),
    ]);
    expect((messages as { content: unknown }[])[1]?.content).toEqual([
      { ...textBlock("So."), citations: [citation] },
    ]);
  });

  it("is sent without thinking that has no signature", async () => {
    const unsigned = thinking("Hm.", { type: "thinking" });
    const { messages, warnings } = await converse([
      userMessage("go"),
      assistantMessage([unsigned, textPart("So.")]),
      userMessage("ok"),
    ]);
    expect((messages as { content: unknown }[])[1]?.content).toEqual([textBlock("So.")]);
    expect(warnings).toEqual(["foreign_state_stripped messages[1].content[0]"]);
  });

  it("is sent with thinking that has no signature to a model that is not Anthropic's", async () => {
    const unsigned = thinking("Hm.", { type: "thinking", signature: "" }, "kimi-k3");
    const messages = [userMessage("go"), assistantMessage([unsigned, textPart("So.")]), userMessage("ok")];
    const sent = await converse(messages, { model: "kimi-k3" });
    expect((sent.messages as { content: unknown }[])[1]?.content).toEqual([
      { type: "thinking", thinking: "Hm.", signature: "" },
      textBlock("So."),
    ]);
    expect(sent.warnings).toEqual([]);
  });

  it("keeps the thinking of an alias or a snapshot of the same model", async () => {
    const dated = thinking("Hm.", SIGNED, "claude-sonnet-4-5-20250929");
    expect(
      (await converse([userMessage("go"), assistantMessage([dated, textPart("So.")]), userMessage("ok")]))
        .warnings,
    ).toEqual([]);
    const deployed: PartInput = {
      part: { case: "reasoning", value: { text: "Hm." } },
      providerState: {
        provider: "anthropic",
        model: "claude-x",
        dataJson: JSON.stringify({ block: SIGNED, model: "claude-sonnet-4-5" }),
      },
    };
    expect(
      (await converse([userMessage("go"), assistantMessage([deployed, textPart("So.")]), userMessage("ok")]))
        .warnings,
    ).toEqual([]);
  });

  const foreign = assistantMessage([
    thinking("Elsewhere.", { item: {} }, "gpt-6", "openai"),
    thinking("Older.", SIGNED, "claude-opus-4-6"),
    native("openai", { type: "web_search_call" }),
    textPart("So."),
  ]);
  it("is sent without the state of other providers and models", async () => {
    const { messages, warnings } = await converse([userMessage("go"), foreign, userMessage("ok")]);
    expect((messages as { content: unknown }[])[1]?.content).toEqual([textBlock("So.")]);
    expect(warnings).toEqual(
      [0, 1, 2].map((index) => `foreign_state_stripped messages[1].content[${index}]`),
    );
  });

  it("is sent with foreign thinking as text, or refused, as foreign_state says", async () => {
    const history = [userMessage("go"), foreign, userMessage("ok")];
    const asText = await converse(history, { foreignState: StatePolicy.TO_TEXT });
    expect((asText.messages as { content: unknown }[])[1]?.content).toEqual([
      textBlock("Elsewhere."),
      textBlock("Older."),
      textBlock("So."),
    ]);
    await expect(converse(history, { foreignState: StatePolicy.REJECT })).rejects.toThrow(
      "messages[1].content[0]",
    );
  });

  it("has its images moved to the next user turn, after the results", async () => {
    const image = imagePart("https://a.example/b.png");
    const { messages, warnings } = await converse([
      userMessage("draw"),
      assistantMessage([image, call("a")]),
      result("a"),
      userMessage("nice"),
    ]);
    expect(messages).toMatchObject([
      {},
      { content: [{ type: "tool_use" }] },
      { content: [{ type: "tool_result" }, { type: "image" }, textBlock("nice")] },
    ]);
    expect(warnings).toEqual(["converted_content messages[1].content[0]"]);
    const last = await converse([userMessage("draw"), assistantMessage([image])]);
    expect(last.messages).toEqual([
      { role: "user", content: [textBlock("draw"), { type: "image", source: expect.anything() }] },
    ]);
  });

  describe("that used a container", () => {
    const codeTool = {
      tool: {
        case: "hosted",
        value: { provider: "anthropic", configJson: '{"type":"code_execution_20250825"}' },
      },
    } as const;
    const container = (expires_at = "9999-01-01T00:00:00Z", id = "box") =>
      native("anthropic", { type: "container", id, expires_at });
    const caller = { type: "code_execution_20260120", tool_id: "t" };
    const byCode: PartInput = {
      part: {
        case: "toolCall",
        value: { id: "a", name: "look", input: { case: "argumentsJson", value: "{}" } },
      },
      providerState: {
        provider: "anthropic",
        model: "claude-sonnet-4-5",
        dataJson: JSON.stringify({ block: { caller } }),
      },
    };
    const next = [userMessage("go on")];

    it("names it again for the provider's tools", async () => {
      const history = [userMessage("go"), assistantMessage([textPart("made a file"), container()]), ...next];
      const { body, warnings, messages } = await converse(history, { tools: [codeTool] });
      expect(body.container).toBe("box");
      expect(warnings).toEqual([]);
      expect(messages).toMatchObject([{}, { content: [textBlock("made a file")] }, {}]);
      expect((await converse(history)).body.container).toBeUndefined();
    });

    it("names the last one, even if answers without one follow", async () => {
      const history = [
        ...[userMessage("go"), assistantMessage([textPart("a"), container("", "old")])],
        ...[userMessage("go"), assistantMessage([textPart("b"), container("", "new")])],
        ...[userMessage("go"), assistantMessage("c"), ...next],
      ];
      expect((await converse(history, { tools: [codeTool] })).body.container).toBe("new");
    });

    it("does not name one that has expired, with a warning", async () => {
      const history = [
        userMessage("go"),
        assistantMessage([textPart("a"), container("2025-01-01T00:00:00Z")]),
      ];
      const { body, warnings } = await converse([...history, ...next], { tools: [codeTool] });
      expect(body.container).toBeUndefined();
      expect(warnings).toEqual(["foreign_state_stripped messages[1].content[1]"]);
    });

    it("names the one in which code waits, even if it has expired", async () => {
      const named = assistantMessage([byCode, container("2025-01-01T00:00:00Z")]);
      const waiting = [userMessage("go"), named, result("a")];
      expect((await converse(waiting)).body.container).toBe("box");
      const later = await converse([...waiting, assistantMessage("ok"), ...next]);
      expect(later.body.container).toBeUndefined();
    });

    it("merges it with the skills of the caller's options, which may name another", async () => {
      const history = [userMessage("go"), assistantMessage([textPart("a"), container()]), ...next];
      const getContainer = async (container: object | string | null) =>
        (await converse(history, { tools: [codeTool], ...options({ container }) })).body.container;
      const skills = [{ type: "anthropic", skill_id: "pptx" }];
      expect(await getContainer({ skills })).toEqual({ id: "box", skills });
      expect(await getContainer({ id: "mine", skills })).toEqual({ id: "mine", skills });
      expect(await getContainer("mine")).toBe("mine");
      expect(await getContainer(null)).toBeUndefined();
    });
  });

  it("is refused if it has parts that an assistant cannot send", async () => {
    await expect(
      converse([assistantMessage([documentPart("https://a.example/b.pdf")]), userMessage("x")]),
    ).rejects.toThrow("messages[0].content[0]: expected text, thinking");
    const broken: PartInput = {
      part: { case: "native", value: { provider: "anthropic", kind: "x", dataJson: "[" } },
    };
    await expect(converse([assistantMessage([broken]), userMessage("x")])).rejects.toThrow(
      "messages[0].content[0].native.data_json: expected the text of a JSON object",
    );
  });
});

describe("a conversation that ends with the assistant", () => {
  const prefill = [userMessage("Name a colour."), assistantMessage("The colour is \n")];

  it("is a prefill for older models, without trailing white space", async () => {
    const { messages } = await converse(prefill);
    expect(messages).toMatchObject([{}, { role: "assistant", content: [textBlock("The colour is")] }]);
    const blank = await converse([userMessage("x"), assistantMessage(" ")]);
    expect(blank.messages).toHaveLength(1);
  });

  it("is refused for newer models, unless the provider paused the turn", async () => {
    await expect(converse(prefill, { model: NEW })).rejects.toThrow(
      "messages[1]: expected a message of the user or a tool at the end, found text",
    );
    const thought = [userMessage("x"), assistantMessage(thinking("Hm.", SIGNED))];
    await expect(converse(thought)).rejects.toThrow("messages[1]: expected a message of the user or a tool");
    const paused = assistantMessage([
      textPart("Searching."),
      native("anthropic", { type: "server_tool_use", id: "s" }),
    ]);
    const { messages } = await converse([userMessage("x"), paused], { model: NEW });
    expect(messages).toMatchObject([{}, { role: "assistant", content: [{}, { type: "server_tool_use" }] }]);
  });
});

function textBlock(text: string) {
  return { type: "text", text };
}
