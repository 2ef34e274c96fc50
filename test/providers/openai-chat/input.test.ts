import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { assistantMessage, developerMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { documentPart, imagePart, type PartInput, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { type ContentPart, ContentPartSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { LossPolicy, StatePolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { list, type Wire } from "./reading.ts";
import {
  answerTo,
  PROVIDER,
  type ProfileInit,
  type RequestInit,
  respond,
  sent,
  toMessages,
} from "./support.ts";

const PNG = new Uint8Array([1, 2, 3]);
const PNG_URL = "data:image/png;base64,AQID";

type Messages = NonNullable<RequestInit["messages"]>;

async function converted(messages: Messages, init: ProfileInit = {}, more: RequestInit = {}) {
  const { body, warnings } = await sent({ messages, ...more }, init);
  return { messages: toMessages(body), warnings };
}

function call(id: string, name = "f", argumentsJson = "{}"): PartInput {
  return {
    part: { case: "toolCall", value: { id, name, input: { case: "argumentsJson", value: argumentsJson } } },
  };
}

function reasoning(text: string, provider = "other"): PartInput {
  return {
    part: { case: "reasoning", value: { text } },
    providerState: { provider, model: "model-1", dataJson: "{}" },
  };
}

function audioPart(mediaType: string, source: "url" | "data" = "data"): ContentPart {
  const from =
    source === "url" ? { case: "url", value: "https://x.example/a" } : { case: "data", value: PNG };
  return create(ContentPartSchema, { part: { case: "audio", value: { mediaType, source: from as never } } });
}

function fileId(kind: "image" | "audio" | "document"): ContentPart {
  return create(ContentPartSchema, {
    part: { case: kind, value: { source: { case: "fileId", value: "file_1" } } } as never,
  });
}

describe("roles", () => {
  it("keep their order; developer is sent only if the server accepts it", async () => {
    const messages = [
      systemMessage("s"),
      developerMessage("d"),
      userMessage("u"),
      assistantMessage("a"),
      systemMessage("s2"),
      userMessage("u2"),
    ];
    const roles = async (init: ProfileInit) =>
      (await converted(messages, init)).messages.map(({ role, content }) => `${role} ${content}`);
    const common = ["user u", "assistant a", "system s2", "user u2"];
    expect(await roles({})).toEqual(["system s", "system d", ...common]);
    expect(await roles("openai")).toEqual(["system s", "developer d", ...common]);
  });

  it("have names if the server accepts them, and a warning if it does not", async () => {
    const named = [
      { ...userMessage("hi"), name: "ada" },
      { ...assistantMessage("yo"), name: "bot" },
    ];
    expect((await converted(named)).messages).toEqual([
      { role: "user", name: "ada", content: "hi" },
      { role: "assistant", name: "bot", content: "yo" },
    ]);
    const { messages, warnings } = await converted(named, "mistral");
    expect(messages.map(({ name }) => name)).toEqual([undefined, undefined]);
    expect(warnings).toEqual([
      "unsupported_setting messages[0].name",
      "unsupported_setting messages[1].name",
    ]);
  });

  it("are refused if they are unknown", async () => {
    await expect(converted([{ role: 9 as Role, content: [] }])).rejects.toThrow("messages[0].role");
  });
});

describe("the content of a user message", () => {
  it("is a string for a single text, otherwise a list", async () => {
    const { messages } = await converted([userMessage("a"), userMessage([textPart("a"), textPart("b")])]);
    expect(messages.map(({ content }) => content)).toEqual([
      "a",
      [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    ]);
  });

  it.each<[string, PartInput, ProfileInit, unknown]>([
    ["image bytes", imagePart(PNG), {}, { type: "image_url", image_url: { url: PNG_URL } }],
    [
      "an image URL with its detail",
      {
        part: {
          case: "image",
          value: { detail: "low", source: { case: "url", value: "https://x.example/a.png" } },
        },
      },
      {},
      { type: "image_url", image_url: { url: "https://x.example/a.png", detail: "low" } },
    ],
    [
      "audio",
      audioPart("audio/mpeg"),
      {},
      { type: "input_audio", input_audio: { data: "AQID", format: "mp3" } },
    ],
    ...Object.entries({
      ...{ "x-wav": "wav", wave: "wav", "vnd.wave": "wav", mp4: "m4a", "x-m4a": "m4a" },
      ...{ "x-aiff": "aiff", "x-flac": "flac", OGG: "ogg", "wav;codec=1": "wav" },
    }).map(([subtype, format]): [string, PartInput, ProfileInit, unknown] => [
      `audio/${subtype}`,
      audioPart(`audio/${subtype}`),
      {},
      { type: "input_audio", input_audio: { data: "AQID", format } },
    ]),
    [
      "audio as base64 alone",
      audioPart("audio/wav"),
      "mistral",
      { type: "input_audio", input_audio: "AQID" },
    ],
    [
      "audio by URL",
      audioPart("", "url"),
      "mistral",
      { type: "input_audio", input_audio: "https://x.example/a" },
    ],
    [
      "a document",
      documentPart(PNG, { mediaType: "application/pdf", fileName: "a.pdf" }),
      {},
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AQID" } },
    ],
    [
      "a document without a name",
      documentPart(PNG),
      {},
      { type: "file", file: { filename: "document.pdf", file_data: "data:application/pdf;base64,AQID" } },
    ],
    ["an uploaded document", fileId("document"), {}, { type: "file", file: { file_id: "file_1" } }],
    [
      "a document by URL",
      documentPart("https://x.example/a.pdf"),
      "openrouter",
      { type: "file", file: { filename: "document.pdf", file_data: "https://x.example/a.pdf" } },
    ],
    [
      "a document at Mistral",
      documentPart("https://x.example/a.pdf", { fileName: "a.pdf" }),
      "mistral",
      { type: "document_url", document_url: "https://x.example/a.pdf", document_name: "a.pdf" },
    ],
    [
      "a document without a name at Mistral",
      documentPart("https://x.example/a.pdf"),
      "mistral",
      { type: "document_url", document_url: "https://x.example/a.pdf" },
    ],
    ["an uploaded document at Mistral", fileId("document"), "mistral", { type: "file", file_id: "file_1" }],
    [
      "a document at Perplexity",
      documentPart(PNG, { fileName: "a.pdf" }),
      "perplexity",
      { type: "file_url", file_url: { url: "AQID" }, file_name: "a.pdf" },
    ],
    [
      "a document by URL at Perplexity",
      documentPart("https://x.example/a.pdf"),
      "perplexity",
      { type: "file_url", file_url: { url: "https://x.example/a.pdf" } },
    ],
    [
      "a native part",
      {
        part: {
          case: "native",
          value: { provider: "openai-chat", kind: "video_url", dataJson: '{"type":"video_url"}' },
        },
      },
      {},
      { type: "video_url" },
    ],
  ])("can be %s", async (_, part, init, expected) => {
    const { messages, warnings } = await converted([userMessage([textPart("see"), part])], init);
    expect(messages[0]?.content).toEqual([{ type: "text", text: "see" }, expected]);
    expect(warnings).toEqual([]);
  });

  it.each<[string, PartInput, ProfileInit, string]>([
    ["an image by id", fileId("image"), {}, "image.file_id"],
    [
      "an image of an unsupported type",
      imagePart(PNG, { mediaType: "image/tiff" }),
      "openai",
      "image.media_type",
    ],
    ["audio where the server takes none", audioPart("audio/wav"), "groq", "audio"],
    ["audio by URL", audioPart("", "url"), {}, "audio.url"],
    ["audio by id", fileId("audio"), {}, "audio.file_id"],
    ["audio in an unsupported format", audioPart("audio/flac"), "openai", "audio.media_type"],
    ["a document where the server takes none", documentPart(PNG), "groq", "document"],
    ["a document by URL", documentPart("https://x.example/a.pdf"), {}, "document.url"],
    ["a document by id", fileId("document"), "perplexity", "document.file_id"],
    ["a tool call", call("a"), {}, ""],
  ])("is refused, naming the field, for %s", async (_, part, init, field) => {
    const refused = converted([userMessage([part])], init);
    await expect(refused).rejects.toBeInstanceOf(InvalidRequestError);
    const path = field === "" ? "messages[0].content[0]" : `messages[0].content[0].${field}`;
    await expect(refused).rejects.toMatchObject({ violations: [{ field: path }] });
  });
});

describe("tool results", () => {
  const assistant = assistantMessage([call("a"), call("b")]);

  it("follow their calls directly, in one message each", async () => {
    const [b, a] = ["b", "a"].map((id) => toolResult(id, `of ${id}`).content[0] ?? {});
    const both = { role: Role.TOOL, content: [b ?? {}, a ?? {}] };
    const { messages, warnings } = await converted([userMessage("go"), assistant, both, userMessage("on")]);
    expect(messages.slice(2)).toEqual([
      { role: "tool", tool_call_id: "a", content: "of a" },
      { role: "tool", tool_call_id: "b", content: "of b" },
      { role: "user", content: "on" },
    ]);
    expect(warnings).toEqual([]);
  });

  it("are moved there if another message is between, with a warning", async () => {
    const { messages, warnings } = await converted([
      assistant,
      toolResult("a", "1"),
      userMessage("wait"),
      toolResult("b", "2"),
    ]);
    expect(messages.map(({ role }) => role)).toEqual(["assistant", "tool", "tool", "user"]);
    expect(warnings).toEqual(["converted_content messages[3].content[0].tool_result"]);
  });

  it("answer the call before them if ids repeat in later turns", async () => {
    const turn = (answer: string) => [assistantMessage([call("a")]), toolResult("a", answer)];
    const { messages } = await converted([...turn("1"), ...turn("2")]);
    expect(messages.map(({ content }) => content)).toEqual([null, "1", null, "2"]);
  });

  it("are required for every call, and refused without a call", async () => {
    await expect(converted([assistant, toolResult("a", "1")])).rejects.toMatchObject({
      violations: [{ field: "messages[0].content[1].tool_call" }],
    });
    await expect(converted([toolResult("x", "1")])).rejects.toMatchObject({
      violations: [{ field: "messages[0].content[0].tool_result.tool_call_id" }],
    });
  });

  it("may be a message without a result part", async () => {
    const plain = { role: Role.TOOL, toolCallId: "a", content: [textPart("x"), textPart("y")] };
    const { messages } = await converted([assistantMessage([call("a")]), plain]);
    expect(messages[1]).toEqual({ role: "tool", tool_call_id: "a", content: "x\n\ny" });
  });

  it("state in their text that a tool failed", async () => {
    const failed = (content: unknown) => toolResult("a", content, { failed: true });
    const only = assistantMessage([call("a")]);
    const { messages, warnings } = await converted([only, failed("no disk")]);
    expect(messages[1]?.content).toBe("The tool failed: no disk");
    expect(warnings).toEqual(["converted_content messages[1].content[0].tool_result.failed"]);
    expect((await converted([only, failed(undefined)])).messages[1]?.content).toBe("The tool failed:");
  });

  it("have their images sent after all results of the turn, with a warning", async () => {
    const { messages, warnings } = await converted([
      assistant,
      toolResult("a", [textPart("shot"), imagePart(PNG)]),
      toolResult("b", [imagePart(PNG)]),
      userMessage("on"),
    ]);
    const image = { type: "image_url", image_url: { url: PNG_URL } };
    expect(messages.slice(1)).toEqual([
      { role: "tool", tool_call_id: "a", content: "shot" },
      { role: "tool", tool_call_id: "b", content: "(see the user message below)" },
      {
        role: "user",
        content: [
          { type: "text", text: "Of the tool result a:" },
          image,
          { type: "text", text: "Of the tool result b:" },
          image,
        ],
      },
      { role: "user", content: "on" },
    ]);
    expect(warnings).toEqual([
      "converted_content messages[1].content[0].tool_result.content",
      "converted_content messages[2].content[0].tool_result.content",
    ]);
  });

  it("hold images if the server accepts them", async () => {
    const { messages, warnings } = await converted(
      [assistantMessage([call("abcABC123")]), toolResult("abcABC123", [textPart("shot"), imagePart(PNG)])],
      "mistral",
    );
    expect(messages[1]?.content).toEqual([
      { type: "text", text: "shot" },
      { type: "image_url", image_url: { url: PNG_URL } },
    ]);
    expect(warnings).toEqual([]);
  });

  it("have ids in the format of the server, the same for call and result in every turn", async () => {
    const turn = [
      assistantMessage([call("toolu_01AbC"), call("ok1234567")]),
      toolResult("toolu_01AbC", "1"),
      toolResult("ok1234567", "2"),
    ];
    const { messages, warnings } = await converted(turn, "mistral");
    const [first, second] = list(messages[0]?.tool_calls);
    expect(first?.id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(second?.id).toBe("ok1234567");
    expect(messages.slice(1).map(({ tool_call_id }) => tool_call_id)).toEqual([first?.id, "ok1234567"]);
    expect(warnings).toEqual(["converted_content messages[0].content[0].tool_call.id"]);
    expect((await converted(turn, "mistral")).messages).toEqual(messages);
  });

  it("have ids of at most 40 characters for OpenAI", async () => {
    const [fits, long] = ["c".repeat(40), "c".repeat(41)];
    const turn = [assistantMessage([call(fits), call(long)]), toolResult(fits, "1"), toolResult(long, "2")];
    const { messages, warnings } = await converted(turn, "openai");
    const [first, second] = list(messages[0]?.tool_calls);
    expect(first?.id).toBe(fits);
    expect(second?.id).toMatch(/^call_[a-zA-Z0-9]{24}$/);
    expect(messages.slice(1).map(({ tool_call_id }) => tool_call_id)).toEqual([fits, second?.id]);
    expect(warnings).toEqual(["converted_content messages[0].content[1].tool_call.id"]);
  });
});

describe("an assistant message", () => {
  it("has the value for empty content that the server expects", async () => {
    const turn = [assistantMessage([call("a")]), toolResult("a", "1")];
    expect((await converted(turn)).messages[0]?.content).toBeNull();
    expect((await converted(turn, { emptyAssistantContent: "" })).messages[0]?.content).toBe("");
  });

  it("is left out if no part can be sent", async () => {
    const { messages, warnings } = await converted([
      userMessage("hi"),
      assistantMessage([]),
      assistantMessage(""),
    ]);
    expect(messages).toEqual([{ role: "user", content: "hi" }]);
    expect(warnings).toEqual(["unsupported_content messages[1]", "unsupported_content messages[2]"]);
  });

  it("has its texts joined", async () => {
    const { messages } = await converted([assistantMessage([textPart("a"), textPart("b")])]);
    expect(messages).toEqual([{ role: "assistant", content: "ab" }]);
  });

  it("has arguments that do not parse wrapped if the server parses them", async () => {
    const turn = [assistantMessage([call("a", "f", '{"x":')]), toolResult("a", "1")];
    const writeArguments = async (init: ProfileInit) => {
      const { messages, warnings } = await converted(turn, init);
      const [first] = list(messages[0]?.tool_calls);
      return { arguments: (first as { function: Wire }).function.arguments, warnings };
    };
    expect(await writeArguments({})).toEqual({
      arguments: '{"invalid_arguments":"{\\"x\\":"}',
      warnings: ["converted_content messages[0].content[0].tool_call.arguments_json"],
    });
    expect(await writeArguments({ parsesArguments: false })).toEqual({ arguments: '{"x":', warnings: [] });
  });

  it("has custom tool calls sent back unchanged", async () => {
    const response = await answerTo([
      { tool_calls: [{ index: 0, id: "a", type: "custom", custom: { name: "g", input: "x" } }] },
    ]);
    const { messages } = await converted([response.message ?? {}, toolResult("a", "1")]);
    expect(messages[0]?.tool_calls).toEqual([{ id: "a", type: "custom", custom: { name: "g", input: "x" } }]);
  });

  it.each<[string, object, ProfileInit, object]>([
    [
      "reasoning_content",
      { reasoning_content: "hm", content: "x" },
      {},
      { reasoning_content: "hm", content: "x" },
    ],
    ["reasoning", { reasoning: "hm", content: "x" }, {}, { reasoning: "hm", content: "x" }],
    [
      "another field than it was received in",
      { reasoning_content: "hm", content: "x" },
      { reasoningField: "reasoning" },
      { reasoning: "hm", content: "x" },
    ],
    [
      "details, with signatures",
      {
        reasoning: "hm",
        reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "s", format: null, index: 0 }],
        content: "x",
      },
      {},
      {
        content: "x",
        reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "s", format: null, index: 0 }],
      },
    ],
    [
      "a content list with its signature",
      {
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }], signature: "s", closed: true },
          { type: "reference", reference_ids: [1] },
          { type: "text", text: "x" },
        ],
      },
      {},
      {
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }], signature: "s", closed: true },
          { type: "reference", reference_ids: [1] },
          { type: "text", text: "x" },
        ],
      },
    ],
    [
      "two parts of a content list, each with its signature",
      {
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }], signature: "s1" },
          { type: "thinking", thinking: [{ type: "text", text: "yes" }], signature: "s2" },
          { type: "text", text: "x" },
        ],
      },
      {},
      {
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }], signature: "s1" },
          { type: "thinking", thinking: [{ type: "text", text: "yes" }], signature: "s2" },
          { type: "text", text: "x" },
        ],
      },
    ],
    [
      "a content list with more than text in its reasoning",
      {
        content: [
          {
            type: "thinking",
            thinking: [
              { type: "text", text: "hm" },
              { type: "reference", reference_ids: [1] },
            ],
          },
        ],
      },
      {},
      {
        content: [
          {
            type: "thinking",
            thinking: [
              { type: "text", text: "hm" },
              { type: "reference", reference_ids: [1] },
            ],
          },
        ],
      },
    ],
    [
      "tags, with the white space beside them",
      { content: "<think>\nhm\n</think>\n\nx" },
      { thinkTags: true },
      { content: "<think>\nhm\n</think>\n\nx" },
    ],
  ])("is sent back with its reasoning in %s", async (_, message, init, expected) => {
    const profile = { replayReasoning: true, ...(init as object) };
    const response = respond({ model: "model-1", choices: [{ message }] }, profile);
    const { messages, warnings } = await converted([response.message ?? {}], profile);
    expect(messages).toEqual([{ role: "assistant", ...expected }]);
    expect(warnings).toEqual([]);
  });

  it.each([
    ["vllm", "reasoning"],
    ["ollama", "reasoning"],
    ["sglang", "reasoning_content"],
    ["llama-cpp", "reasoning_content"],
    ["fireworks", "reasoning_content"],
    ["alibaba", "reasoning_content"],
  ] as const)(
    "is sent back with its reasoning to %s, in the one field that it reads: %s",
    async (profile, field) => {
      const message = { reasoning: "hm", reasoning_content: "hm", content: "x" };
      const response = respond({ model: "model-1", choices: [{ message }] }, profile);
      const { messages, warnings } = await converted([response.message ?? {}], profile);
      expect(messages).toEqual([{ role: "assistant", content: "x", [field]: "hm" }]);
      expect(warnings).toEqual([]);
    },
  );

  describe("with thinking blocks", () => {
    const blocks = [
      { type: "thinking", thinking: "hm, yes", signature: "s1" },
      { type: "redacted_thinking", data: "sealed" },
      { type: "thinking", thinking: "", signature: "s2" },
    ];
    const message = { reasoning_content: "hm, yes", thinking_blocks: blocks, content: "x" };
    const whole = () => respond({ model: "model-1", choices: [{ message }] });
    const sentBack = { role: "assistant", content: "x", thinking_blocks: blocks };

    it("is sent back with them, whether the server is known to take reasoning or not", async () => {
      const history = [whole().message ?? {}];
      for (const profile of [{}, { replayReasoning: true }])
        expect(await converted(history, profile)).toMatchObject({ messages: [sentBack], warnings: [] });
    });

    it("is the same whole and in a stream that sends each block in pieces", async () => {
      const piece = (text: string, block: object) => ({ reasoning_content: text, thinking_blocks: [block] });
      const streamed = await answerTo([
        piece("", { type: "thinking", thinking: "", signature: "" }),
        piece("hm, ", { type: "thinking", thinking: "hm, ", signature: null }),
        piece("yes", { type: "thinking", thinking: "yes" }),
        piece("", { type: "thinking", thinking: "", signature: "s1" }),
        { thinking_blocks: [{ type: "redacted_thinking", data: "sealed" }] },
        piece("", { type: "thinking", thinking: "", signature: "s2" }),
        { content: "x" },
      ]);
      expect(streamed.message).toEqual(whole().message);
      expect((await converted([streamed.message ?? {}])).messages).toEqual([sentBack]);
    });

    it("is sent without them to another model, which cannot verify them", async () => {
      const { messages, warnings } = await converted([whole().message ?? {}], {}, { model: "model-2" });
      expect(messages).toEqual([{ role: "assistant", content: "x" }]);
      expect(warnings).toEqual(["foreign_state_stripped messages[0].content[0]"]);
    });
  });

  it("is sent without its reasoning if the server takes none back, with a warning", async () => {
    const response = respond({ model: "model-1", choices: [{ message: { reasoning: "hm", content: "x" } }] });
    const { messages, warnings } = await converted(
      [response.message ?? {}],
      {},
      { lossPolicy: LossPolicy.REFUSE },
    );
    expect(messages).toEqual([{ role: "assistant", content: "x" }]);
    expect(warnings).toEqual(["foreign_state_stripped messages[0].content[0]"]);
  });

  it("has an empty reasoning field if the server requires one", async () => {
    const { messages } = await converted([assistantMessage("x")], "deepseek");
    expect(messages).toEqual([{ role: "assistant", content: "x", reasoning_content: "" }]);
  });

  it("keeps thought signatures and all other fields of a call", async () => {
    const wire = {
      id: "a",
      type: "function",
      function: { name: "f", arguments: "{}" },
      extra_content: { google: { thought_signature: "c2ln" } },
    };
    const response = await answerTo([{ tool_calls: [{ index: 0, ...wire }] }]);
    const history = [response.message ?? {}, toolResult("a", "1")];
    expect((await converted(history)).messages[0]?.tool_calls).toEqual([wire]);
    // Another model cannot read it.
    const { extra_content: _, ...bare } = wire;
    expect((await converted(history, {}, { model: "model-2" })).messages[0]?.tool_calls).toEqual([bare]);
  });

  it("has refusals, generated images and audio sent back in their original fields", async () => {
    const message = {
      refusal: "no",
      images: [{ type: "image_url", image_url: { url: PNG_URL } }],
      audio: { id: "audio_1", data: "AQID", transcript: "hi", expires_at: 1 },
    };
    const response = respond({ model: "model-1", choices: [{ message }] });
    const { messages } = await converted([response.message ?? {}]);
    expect(messages).toEqual([
      {
        role: "assistant",
        content: null,
        refusal: "no",
        images: message.images,
        audio: { id: "audio_1" },
      },
    ]);
  });

  it("has an image of another provider moved to a user message, with a warning", async () => {
    const { messages, warnings } = await converted([assistantMessage([textPart("see"), imagePart(PNG)])]);
    expect(messages).toEqual([
      { role: "assistant", content: "see" },
      { role: "user", content: [{ type: "image_url", image_url: { url: PNG_URL } }] },
    ]);
    expect(warnings).toEqual(["converted_content messages[0].content[1].image"]);
  });

  it.each([
    [StatePolicy.STRIP, "x", "foreign_state_stripped messages[0].content[0]"],
    [StatePolicy.TO_TEXT, "hm\n\nx", "foreign_state_to_text messages[0].content[0]"],
  ])("follows foreign_state %i for reasoning of another provider", async (foreignState, content, warning) => {
    const history = [assistantMessage([reasoning("hm"), textPart("x")])];
    const { messages, warnings } = await converted(history, { replayReasoning: true }, { foreignState });
    expect(messages).toEqual([{ role: "assistant", content }]);
    expect(warnings).toEqual([warning]);
  });

  it("is refused with another provider's reasoning or blocks if foreign_state is REJECT", async () => {
    const foreignState = StatePolicy.REJECT;
    const native: PartInput = {
      part: { case: "native", value: { provider: "gemini", kind: "k", dataJson: "{}" } },
    };
    for (const part of [reasoning("hm"), native]) {
      await expect(converted([assistantMessage([part])], {}, { foreignState })).rejects.toThrow("REJECT");
    }
    await expect(converted([userMessage([native])], {}, { foreignState })).rejects.toThrow("REJECT");
  });

  it("is sent without another provider's blocks, with a warning", async () => {
    const native: PartInput = {
      part: { case: "native", value: { provider: "gemini", kind: "k", dataJson: "{}" } },
    };
    const { messages, warnings } = await converted([assistantMessage([textPart("x"), native])]);
    expect(messages).toEqual([{ role: "assistant", content: "x" }]);
    expect(warnings).toEqual(["foreign_state_stripped messages[0].content[1]"]);
  });

  it("is refused with parts that an assistant cannot have", async () => {
    await expect(converted([assistantMessage([documentPart(PNG)])])).rejects.toMatchObject({
      violations: [{ field: "messages[0].content[0]" }],
    });
  });

  it("has its state recognised by the provider's name", async () => {
    const thought = reasoning("hm", PROVIDER);
    const { messages } = await converted([assistantMessage([thought, textPart("x")])], {
      replayReasoning: true,
      reasoningField: "reasoning",
    });
    expect(messages).toEqual([{ role: "assistant", content: "x", reasoning: "hm" }]);
  });
});
