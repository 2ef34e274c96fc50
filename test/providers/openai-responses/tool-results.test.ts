import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { assistantMessage, userMessage } from "../../../src/core/message.ts";
import { documentPart, imagePart, type PartInput, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { ProviderStateSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { LossPolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { ToolInputKind } from "../../../src/kit/stream/stream-writer.ts";
import { build, toRefusal } from "./build.ts";
import { HI, type MessageInit, media, outputMessage, PNG, PNG_BASE64, toInput } from "./conversation.ts";

describe("tool calls and their results", () => {
  const call = (id: string, value: string, kind: ToolInputKind = "argumentsJson"): PartInput => ({
    part: {
      case: "toolCall",
      value: { id, name: "look", input: { case: kind, value } },
    },
  });

  it("are sent with their calls and the answer", async () => {
    const long = '{"b":12345678901234567890,"10":1.0,"2":"\\u00e9"}';
    const { input, warnings } = await toInput([
      userMessage("hi"),
      assistantMessage([textPart("Looking."), call("c1", long), call("c2", "{}")]),
      toolResult("c2", "two"),
      toolResult("c1", "one"),
      assistantMessage("Done."),
    ]);
    expect(input).toEqual([
      HI,
      outputMessage("Looking."),
      { type: "function_call", call_id: "c1", name: "look", arguments: long },
      { type: "function_call", call_id: "c2", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c2", output: "two" },
      { type: "function_call_output", call_id: "c1", output: "one" },
      outputMessage("Done."),
    ]);
    expect(warnings).toEqual([]);
  });

  it("keep arguments that are not JSON", async () => {
    const { input } = await toInput([userMessage("hi"), assistantMessage(call("c1", '{"a":'))]);
    expect(input[1]).toEqual({ type: "function_call", call_id: "c1", name: "look", arguments: '{"a":' });
  });

  it("have a separate kind of item for custom tools", async () => {
    const { input } = await toInput([
      userMessage("hi"),
      assistantMessage([call("c1", "SELECT 1", "text"), call("c2", "{}")]),
      toolResult("c1", "1"),
      toolResult("c2", "2"),
    ]);
    expect(input.slice(1)).toEqual([
      { type: "custom_tool_call", call_id: "c1", name: "look", input: "SELECT 1" },
      { type: "function_call", call_id: "c2", name: "look", arguments: "{}" },
      { type: "custom_tool_call_output", call_id: "c1", output: "1" },
      { type: "function_call_output", call_id: "c2", output: "2" },
    ]);
  });

  it("name the program of the model that called, as the call did", async () => {
    const program = { type: "program", caller_id: "call_0" };
    const ofCaller = (id: string, caller: object): PartInput => {
      const dataJson = JSON.stringify({ item: { type: "function_call", caller } });
      return {
        ...call(id, "{}"),
        providerState: create(ProviderStateSchema, { provider: "openai", dataJson }),
      };
    };
    const { input } = await toInput([
      userMessage("hi"),
      assistantMessage([ofCaller("c1", program), ofCaller("c2", { type: "direct" })]),
      toolResult("c1", "1"),
      toolResult("c2", "2"),
      assistantMessage(call("c1", "{}")),
      toolResult("c1", "3"),
    ]);
    expect(input.filter(({ type }) => type === "function_call_output")).toEqual([
      { type: "function_call_output", call_id: "c1", caller: program, output: "1" },
      { type: "function_call_output", call_id: "c2", output: "2" },
      expect.not.objectContaining({ caller: expect.anything() }),
    ]);
  });

  it("have the kind of the latest call if an id is repeated", async () => {
    const { input } = await toInput([
      assistantMessage(call("c", "x", "text")),
      toolResult("c", "1"),
      assistantMessage(call("c", "{}")),
      toolResult("c", "2"),
    ]);
    expect(input.map(({ type }) => type)).toEqual([
      "custom_tool_call",
      "custom_tool_call_output",
      "function_call",
      "function_call_output",
    ]);
  });

  it.each<[string, MessageInit, unknown]>([
    ["no content", toolResult("c", undefined), ""],
    ["an empty text", toolResult("c", ""), ""],
    [
      "several texts",
      toolResult("c", [textPart("a"), textPart("b")]),
      [
        { type: "input_text", text: "a" },
        { type: "input_text", text: "b" },
      ],
    ],
    [
      "a text that equals our error mark",
      toolResult("c", [textPart("The tool failed:"), textPart("b")]),
      [
        { type: "input_text", text: "The tool failed:" },
        { type: "input_text", text: "b" },
      ],
    ],
    [
      "an image and a document",
      toolResult("c", [imagePart(PNG), documentPart(PNG, { fileName: "a.pdf" })]),
      [
        { type: "input_image", image_url: `data:image/png;base64,${PNG_BASE64}` },
        { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${PNG_BASE64}` },
      ],
    ],
    ["text beside no tool_result", { role: Role.TOOL, toolCallId: "c", content: [textPart("a")] }, "a"],
    ["nothing at all", { role: Role.TOOL, toolCallId: "c" }, ""],
  ])("are sent with %s", async (_name, message, output) => {
    const { input, warnings } = await toInput([userMessage("hi"), message]);
    expect(input).toEqual([HI, { type: "function_call_output", call_id: "c", output }]);
    expect(warnings).toEqual([]);
  });

  it.each<[string, unknown, unknown]>([
    ["a text", "no such city", "The tool failed: no such city"],
    ["nothing", undefined, "The tool failed: "],
    [
      "two texts",
      [textPart("a"), textPart("b")],
      [
        { type: "input_text", text: "The tool failed:" },
        { type: "input_text", text: "a" },
        { type: "input_text", text: "b" },
      ],
    ],
    [
      "an image",
      [imagePart("https://x.test/a.png")],
      [
        { type: "input_text", text: "The tool failed:" },
        { type: "input_image", image_url: "https://x.test/a.png" },
      ],
    ],
  ])("mark an error in their text, with %s", async (_name, content, output) => {
    const result = toolResult("c", content, { failed: true });
    const { input, warnings } = await toInput([userMessage("hi"), result], { lossPolicy: LossPolicy.REFUSE });
    expect(input[1]).toEqual({ type: "function_call_output", call_id: "c", output });
    expect(warnings).toEqual(["converted_content messages[1].content[0].tool_result.failed"]);
  });

  it("may share a message, and other text belongs to the call that the message names", async () => {
    const result = (toolCallId: string, text: string, failed = false): PartInput => ({
      part: { case: "toolResult", value: { toolCallId, failed, content: [textPart(text)] } },
    });
    const message = {
      role: Role.TOOL,
      toolCallId: "c2",
      content: [result("c1", "one"), textPart("before"), result("", "two"), result("c3", "three", true)],
    };
    const { input } = await toInput([userMessage("hi"), message]);
    expect(input.slice(1)).toEqual([
      { type: "function_call_output", call_id: "c1", output: "one" },
      {
        type: "function_call_output",
        call_id: "c2",
        output: [
          { type: "input_text", text: "before" },
          { type: "input_text", text: "two" },
        ],
      },
      { type: "function_call_output", call_id: "c3", output: "The tool failed: three" },
    ]);
  });

  it("are refused by field if they hold audio", async () => {
    const audio = media("audio", { mediaType: "audio/wav", source: { case: "data", value: PNG } });
    const violations = await toRefusal(build({ messages: [toolResult("c", [audio])] }));
    expect(violations.map(({ field }) => field)).toEqual([
      "messages[0].content[0].tool_result.content[0].audio",
    ]);
  });

  it("keep ids of 64 characters, and replace longer ones in call and result alike, with a warning", async () => {
    const fits = "c".repeat(64);
    const long = `${"c".repeat(64)}1`;
    const other = `${"c".repeat(64)}2`;
    const messages = [
      assistantMessage([call(fits, "{}"), call(long, "{}"), call(other, "x", "text")]),
      toolResult(other, "2"),
      toolResult(long, "1"),
    ];
    const { input, warnings } = await toInput(messages, { lossPolicy: LossPolicy.REFUSE });
    const ids = input.map(({ call_id }) => String(call_id));
    expect(ids[0]).toBe(fits);
    expect([ids[4], ids[3]]).toEqual([ids[1], ids[2]]);
    expect(new Set(ids.slice(1)).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(input[3]?.type).toBe("custom_tool_call_output");
    expect(warnings).toEqual(["converted_content messages[0].content[1].tool_call.id"]);
    // The same if the provider stores the call.
    const later = await toInput([toolResult(long, "1")]);
    expect(later.input[0]?.call_id).toBe(ids[1]);
  });
});
