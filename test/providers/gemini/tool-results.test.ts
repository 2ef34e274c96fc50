import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { assistantMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { imagePart, type PartInput, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { type MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { call, getCodes, OLD_MODEL, translate } from "./support.ts";

type MessageInit = MessageInitShape<typeof MessageSchema>;

describe("tool results", () => {
  const turn = assistantMessage([call("a", "first"), call("b", "second")]);
  const png = new Uint8Array([1, 2, 3]);

  it("are in one content directly after the calls, in the order of the calls", async () => {
    const messages = [
      userMessage("hi"),
      turn,
      systemMessage("Be brief."),
      userMessage("quick"),
      toolResult("b", "2", { failed: true }),
      toolResult("a", [textPart("1"), textPart("one")]),
    ];
    const { body } = await translate({ messages });
    expect(body.contents.map(({ role }) => role)).toEqual(["user", "model", "user", "user", "user"]);
    expect(body.contents[2]?.parts).toEqual([
      { functionResponse: { name: "first", response: { output: "1\none" } } },
      { functionResponse: { name: "second", response: { error: "2" } } },
    ]);
  });

  it("are objects and lists if they are JSON, digit by digit, and texts otherwise", async () => {
    const outputs = ['{"degrees":21.0,"sky":{"clear":true}}', " [1, 2] ", "{degrees: 21}", "42", '"text"'];
    const calls = outputs.map((_, index) => call(`call_${index}`, "f"));
    const messages = [
      userMessage("hi"),
      assistantMessage(calls),
      ...outputs.map((output, index) => toolResult(`call_${index}`, output)),
    ];
    const { text } = await translate({ messages });
    const responses = [...text.matchAll(/"response":(\{"output":.*?\})\}\}(?=[,\]])/g)].map(
      ([, json]) => json,
    );
    expect(responses).toEqual([
      '{"output":{"degrees":21.0,"sky":{"clear":true}}}',
      '{"output":[1, 2]}',
      '{"output":"{degrees: 21}"}',
      '{"output":"42"}',
      '{"output":"\\"text\\""}',
    ]);
  });

  it("can be in one message or in several", async () => {
    const messages = [
      userMessage("hi"),
      turn,
      { role: Role.TOOL, toolCallId: "a", content: [textPart("1")] },
      {
        role: Role.TOOL,
        content: [{ part: { case: "toolResult", value: { toolCallId: "b", content: [textPart("2")] } } }],
      },
    ] satisfies MessageInit[];
    const { body } = await translate({ messages });
    expect(body.contents[2]?.parts).toMatchObject([
      { functionResponse: { name: "first", response: { output: "1" } } },
      { functionResponse: { name: "second", response: { output: "2" } } },
    ]);
  });

  it("belong to the later call if two turns use one id", async () => {
    const once = [assistantMessage([call("a", "first")]), toolResult("a", "1")];
    const again = [assistantMessage([call("a", "second")]), toolResult("a", "2")];
    const { body } = await translate({ messages: [userMessage("hi"), ...once, ...again] });
    expect(body.contents[2]?.parts).toMatchObject([
      { functionResponse: { name: "first", response: { output: "1" } } },
    ]);
    expect(body.contents[4]?.parts).toMatchObject([
      { functionResponse: { name: "second", response: { output: "2" } } },
    ]);
  });

  it("hold images if the model takes them, else the images follow all results", async () => {
    const messages = [
      userMessage("hi"),
      turn,
      toolResult("a", [textPart("seen"), imagePart(png)]),
      toolResult("b", "2"),
    ];
    const image = { inlineData: { mimeType: "image/png", data: "AQID" } };
    const { body } = await translate({ messages });
    expect(body.contents[2]?.parts[0]).toEqual({
      functionResponse: { name: "first", response: { output: "seen" }, parts: [image] },
    });
    const old = await translate({ model: OLD_MODEL, messages });
    expect(old.body.contents[2]?.parts).toEqual([
      { functionResponse: { name: "first", response: { output: "seen" } } },
      { functionResponse: { name: "second", response: { output: "2" } } },
      { text: "From the result of first:" },
      image,
    ]);
    expect(getCodes(old.warnings)).toEqual(["converted_content messages[2].content[0].tool_result"]);
  });

  it("can have native parts, or a native functionResponse in place of the whole result", async () => {
    const native = (kind: string, dataJson: string) =>
      ({ part: { case: "native", value: { provider: "gemini", kind, dataJson } } }) as const;
    const whole = '{"functionResponse":{"name":"first","response":{"result":1.0},"willContinue":true}}';
    const file = '{"fileData":{"mimeType":"image/png","fileUri":"gs://b/a.png"}}';
    const messages = [
      userMessage("hi"),
      turn,
      toolResult("a", [native("functionResponse", whole)]),
      toolResult("b", [textPart("2"), native("fileData", file)]),
    ];
    const { text } = await translate({ messages });
    const beside = toolResult("a", [native("functionResponse", whole), textPart("1")]);
    await expect(translate({ messages: [userMessage("hi"), turn, beside] })).rejects.toThrow(
      "messages[2].content[0].tool_result.content[0]: expected only a functionResponse part",
    );
    expect(text).toContain(
      `[${whole},{"functionResponse":{"name":"second","response":{"output":"2"},"parts":[${file}]}}]`,
    );
  });

  it("can have text alongside them, which belongs to the call that the message names", async () => {
    const result: PartInput = {
      part: { case: "toolResult", value: { toolCallId: "a", content: [textPart("1")] } },
    };
    const messages: MessageInit[] = [
      userMessage("hi"),
      turn,
      { role: Role.TOOL, toolCallId: "a", content: [result, textPart("one")] },
      { role: Role.TOOL, toolCallId: "b", content: [] },
    ];
    const { body } = await translate({ messages });
    expect(body.contents[2]?.parts).toMatchObject([
      { functionResponse: { name: "first", response: { output: "1\none" } } },
      { functionResponse: { name: "second", response: { output: "" } } },
    ]);
  });

  it("are refused by field if they belong to no call, and calls without results are too", async () => {
    const stray = toolResult("x", "?");
    await expect(translate({ messages: [userMessage("hi"), stray] })).rejects.toThrow(
      "messages[1].content[0].tool_result.tool_call_id: expected the id of a call without a result",
    );
    const half = [userMessage("hi"), turn, toolResult("a", "1")];
    await expect(translate({ messages: half })).rejects.toThrow(
      "messages[1].content[1].tool_call: expected a tool result for every call",
    );
    const twice = [...half, toolResult("a", "1")];
    await expect(translate({ messages: twice })).rejects.toThrow(
      "messages[3].content[0].tool_result.tool_call_id",
    );
  });
});
