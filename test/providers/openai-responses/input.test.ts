import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { assistantMessage, developerMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { documentPart, imagePart, type PartInput, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { createMediaReader, resolveMedia } from "../../../src/kit/media/media.ts";
import { build, toRefusal } from "./build.ts";
import { HI, inputMessage, media, native, outputMessage, PNG, PNG_BASE64, toInput } from "./conversation.ts";

/** A user's message with one part. */
async function userPart(part: PartInput): Promise<unknown> {
  const { input, warnings } = await toInput([userMessage(part)]);
  expect(warnings).toEqual([]);
  const [content] = input.map((item) => item.content as unknown[]);
  return content?.[0];
}

describe("system and developer messages", () => {
  it("become the instructions at the beginning", async () => {
    const messages = [systemMessage("Be brief."), developerMessage("Be kind."), userMessage("hi")];
    expect(await toInput(messages)).toEqual({
      instructions: "Be brief.\n\nBe kind.",
      input: [HI],
      warnings: [],
    });
  });

  it("are joined, and empty ones are skipped", async () => {
    const messages = [
      systemMessage(""),
      { role: Role.SYSTEM, content: [textPart("a"), textPart("b")] },
      userMessage("hi"),
    ];
    expect(await toInput(messages)).toEqual({ instructions: "ab", input: [HI], warnings: [] });
    expect((await toInput([systemMessage(""), userMessage("hi")])).instructions).toBeUndefined();
  });

  it("keep their place and role later in the conversation", async () => {
    const messages = [userMessage("hi"), systemMessage("Now brief."), developerMessage("Now kind.")];
    expect(await toInput(messages)).toEqual({
      instructions: undefined,
      input: [HI, inputMessage("system", "Now brief."), inputMessage("developer", "Now kind.")],
      warnings: [],
    });
  });

  it("become the input if there is no other message", async () => {
    expect(await toInput([systemMessage("a"), developerMessage("b")])).toEqual({
      instructions: undefined,
      input: [inputMessage("system", "a"), inputMessage("developer", "b")],
      warnings: [],
    });
  });

  it("stay in the input if they hold more than text", async () => {
    const shows = { role: Role.SYSTEM, content: [textPart("See:"), imagePart("https://x.test/a.png")] };
    const { instructions, input } = await toInput([systemMessage("a"), shows, userMessage("hi")]);
    expect(instructions).toBe("a");
    expect(input).toEqual([
      {
        type: "message",
        role: "system",
        content: [
          { type: "input_text", text: "See:" },
          { type: "input_image", image_url: "https://x.test/a.png" },
        ],
      },
      HI,
    ]);
  });
});

describe("names of speakers", () => {
  it("are left out with a warning in all messages but a tool's", async () => {
    const messages = [
      { ...systemMessage("a"), name: "house" },
      { ...userMessage("hi"), name: "ann" },
      { ...assistantMessage("yes"), name: "bot" },
      { ...toolResult("c", "x"), name: "look" },
    ];
    const { input, warnings } = await toInput(messages);
    expect(input).toEqual([
      HI,
      outputMessage("yes"),
      { type: "function_call_output", call_id: "c", output: "x" },
    ]);
    expect(warnings).toEqual(
      ["messages[0].name", "messages[1].name", "messages[2].name"].map(
        (field) => `unsupported_setting ${field}`,
      ),
    );
  });
});

describe("parts of a user's message", () => {
  it.each<[string, PartInput, unknown]>([
    ["text", textPart("ä\n😀"), { type: "input_text", text: "ä\n😀" }],
    [
      "an image by its URL",
      imagePart("https://x.test/a.png?b=c"),
      { type: "input_image", image_url: "https://x.test/a.png?b=c" },
    ],
    [
      "an image by its bytes",
      imagePart(PNG, { mediaType: "image/webp" }),
      { type: "input_image", image_url: `data:image/webp;base64,${PNG_BASE64}` },
    ],
    [
      "an image without a media type",
      imagePart(PNG),
      { type: "input_image", image_url: `data:image/png;base64,${PNG_BASE64}` },
    ],
    [
      "an image in a data: URI",
      imagePart(`data:image/jpeg;base64,${PNG_BASE64}`),
      { type: "input_image", image_url: `data:image/jpeg;base64,${PNG_BASE64}` },
    ],
    [
      "an image by its file id, with a level of detail",
      media("image", { detail: "high", source: { case: "fileId", value: "file-1" } }),
      { type: "input_image", file_id: "file-1", detail: "high" },
    ],
    [
      "an unknown level of detail",
      media("image", { detail: "original", source: { case: "url", value: "https://x.test/a.gif" } }),
      { type: "input_image", image_url: "https://x.test/a.gif", detail: "original" },
    ],
    [
      "a document by its bytes, with a name",
      documentPart(PNG, { mediaType: "text/csv", fileName: "prices.csv" }),
      { type: "input_file", filename: "prices.csv", file_data: `data:text/csv;base64,${PNG_BASE64}` },
    ],
    [
      "a PDF without a name",
      documentPart(PNG),
      {
        type: "input_file",
        filename: "document.pdf",
        file_data: `data:application/pdf;base64,${PNG_BASE64}`,
      },
    ],
    [
      "another document without a name",
      documentPart(PNG, { mediaType: "text/plain" }),
      { type: "input_file", filename: "document", file_data: `data:text/plain;base64,${PNG_BASE64}` },
    ],
    [
      "a document in a data: URI",
      documentPart(`data:application/pdf;base64,${PNG_BASE64}`, { fileName: "a.pdf" }),
      { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${PNG_BASE64}` },
    ],
    [
      "a document by its URL",
      documentPart("https://x.test/a.pdf"),
      { type: "input_file", file_url: "https://x.test/a.pdf" },
    ],
    [
      "a document by its file id",
      media("document", { source: { case: "fileId", value: "file-2" } }),
      { type: "input_file", file_id: "file-2" },
    ],
  ])("are translated: %s", async (_name, part, expected) => {
    expect(await userPart(part)).toEqual(expected);
  });

  it("keep their order if text and images are mixed", async () => {
    const { input } = await toInput([
      userMessage([textPart("a"), imagePart("https://x.test/1.png"), textPart("b")]),
    ]);
    expect(input).toEqual([
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "a" },
          { type: "input_image", image_url: "https://x.test/1.png" },
          { type: "input_text", text: "b" },
        ],
      },
    ]);
  });

  it.each([
    ["url", { case: "url", value: "https://x.test/a.pdf" }, { file_url: "https://x.test/a.pdf" }],
    ["file id", { case: "fileId", value: "file-2" }, { file_id: "file-2" }],
  ])("lose the name of a document that is sent by its %s, with a warning", async (_name, source, sent) => {
    const part = media("document", { fileName: "a.pdf", source });
    const { input, warnings } = await toInput([userMessage(part)]);
    expect(input[0]?.content).toEqual([{ type: "input_file", ...sent }]);
    expect(warnings).toEqual(["unsupported_setting messages[0].content[0].document.file_name"]);
  });

  it.each<[string, PartInput, string]>([
    [
      "audio",
      media("audio", { mediaType: "audio/wav", source: { case: "data", value: PNG } }),
      "messages[0].content[0].audio",
    ],
    [
      "a type of image that the API does not take",
      imagePart(PNG, { mediaType: "image/tiff" }),
      "messages[0].content[0].image.media_type",
    ],
    [
      "an SVG in a data: URI",
      imagePart("data:image/svg+xml,<svg/>"),
      "messages[0].content[0].image.media_type",
    ],
    ["an image without a source", media("image", {}), "messages[0].content[0].image"],
    ["a path where no files may be read", imagePart("/etc/passwd"), "messages[0].content[0].image.url"],
    ["an unsupported URL scheme", documentPart("ftp://x.test/a"), "messages[0].content[0].document.url"],
    [
      "a tool call",
      { part: { case: "toolCall", value: { id: "c", name: "look" } } },
      "messages[0].content[0]",
    ],
    ["nothing", {}, "messages[0].content[0]"],
  ])("are refused by field: %s", async (_name, part, field) => {
    const violations = await toRefusal(build({ messages: [userMessage(part)] }));
    expect(violations.map((violation) => violation.field)).toEqual([field]);
  });

  it("are refused in a message without a role", async () => {
    const violations = await toRefusal(
      build({ messages: [{ role: Role.UNSPECIFIED, content: [textPart("x")] }] }),
    );
    expect(violations.map(({ field }) => field)).toEqual(["messages[0].role"]);
  });
});

describe("a local file", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "outrigger-"));
    writeFileSync(join(folder, "a.png"), PNG);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("is read if its folder is allowed", async () => {
    const reader = createMediaReader({ allowFilesUnder: [folder] });
    const { input } = await toInput(
      [userMessage(imagePart(join(folder, "a.png")))],
      {},
      {
        media: ({ value }, field) => resolveMedia(value, { reader }, field),
      },
    );
    expect(input[0]?.content).toEqual([
      { type: "input_image", image_url: `data:image/png;base64,${PNG_BASE64}` },
    ]);
  });
});

describe("native parts", () => {
  it("are sent back with their original spelling", async () => {
    const spelled =
      '{"type":"tool_search_output","tools":[{"2":1.0,"1":"\\u00e9"}],"n":12345678901234567890}';
    const { text } = await build({
      messages: [userMessage("hi"), assistantMessage(native("openai", spelled))],
    });
    expect(text).toContain(`},${spelled}],`);
  });

  it("belong to the provider under the name of its entry and under the name of its API", async () => {
    const block = { type: "compaction", id: "cmp_1", encrypted_content: "gAAA" };
    const parts = ["azure-west", "openai"].map((owner) => native(owner, JSON.stringify(block)));
    const { input, warnings } = await toInput([assistantMessage(parts)], {}, { provider: "azure-west" });
    expect(input).toEqual([block, block]);
    expect(warnings).toEqual([]);
  });

  it("become items alongside messages if they answer calls of the provider's tools", async () => {
    const approval = { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true };
    const screen = {
      type: "computer_call_output",
      call_id: "call_3",
      output: { type: "computer_screenshot", file_id: "file-1" },
    };
    const { input, warnings } = await toInput([
      userMessage([textPart("a"), native("openai", JSON.stringify(approval)), textPart("b")]),
      {
        role: Role.TOOL,
        content: [
          native("openai", JSON.stringify(screen)),
          { part: { case: "toolResult", value: { toolCallId: "c", content: [textPart("x")] } } },
        ],
      },
      userMessage(native("openai", JSON.stringify(approval))),
    ]);
    expect(input).toEqual([
      inputMessage("user", "a"),
      approval,
      inputMessage("user", "b"),
      { type: "function_call_output", call_id: "c", output: "x" },
      screen,
      approval,
    ]);
    expect(warnings).toEqual([]);
  });

  it("stay inside their message or result if they are content", async () => {
    const marked = { type: "input_text", text: "a", prompt_cache_breakpoint: { mode: "explicit" } };
    const part = native("openai", JSON.stringify(marked));
    const { input } = await toInput([userMessage([part, textPart("b")]), toolResult("c", [part])]);
    expect(input).toEqual([
      { type: "message", role: "user", content: [marked, { type: "input_text", text: "b" }] },
      { type: "function_call_output", call_id: "c", output: [marked] },
    ]);
  });

  it("are left out if another provider wrote them, with messages that hold nothing else", async () => {
    const part = native("gemini", '{"executableCode":{}}');
    const { input, warnings } = await toInput([
      userMessage("hi"),
      userMessage(part),
      toolResult("c", [part]),
    ]);
    expect(input).toEqual([HI, { type: "function_call_output", call_id: "c", output: "" }]);
    expect(warnings).toEqual([
      "foreign_state_stripped messages[1].content[0]",
      "foreign_state_stripped messages[2].content[0].tool_result.content[0]",
    ]);
  });

  it.each([Role.USER, Role.ASSISTANT, Role.TOOL])(
    "that are no JSON object are refused by their field, role %j",
    async (role) => {
      const violations = await toRefusal(
        build({ messages: [{ role, toolCallId: "c", content: [native("openai", "[1]")] }] }),
      );
      expect(violations.map(({ field }) => field)).toEqual(["messages[0].content[0].native.data_json"]);
    },
  );
});
