import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { assistantMessage, toolCallsOf, userMessage } from "../../../src/core/message.ts";
import { imagePart, type PartInput, textPart } from "../../../src/core/parts.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { type MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { StatePolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import {
  answered,
  call,
  event,
  getCodes,
  NEW_MODEL,
  OLD_MODEL,
  readTurn,
  resultsFor,
  translate,
} from "./support.ts";

type MessageInit = MessageInitShape<typeof MessageSchema>;

const modelParts = async (parts: readonly object[], model = NEW_MODEL) => {
  const turn = answered(parts, model);
  const messages = [userMessage("hi"), turn, ...resultsFor(turn), userMessage("go")];
  return (await translate({ model, messages })).body.contents[1]?.parts;
};

describe("assistant messages of the same model", () => {
  it.each([
    [
      "a signature on a call",
      [{ functionCall: { id: "a", name: "f", args: { x: 1 } }, thoughtSignature: "S1" }],
    ],
    [
      "a signature on the first of several calls",
      [
        { functionCall: { name: "f", args: {} }, thoughtSignature: "S1" },
        { functionCall: { name: "f", args: {} } },
      ],
    ],
    ["a signature on text", [{ text: "a" }, { text: "b", thoughtSignature: "S1" }, { text: "c" }]],
    ["a signature on an empty text", [{ text: "a" }, { text: "", thoughtSignature: "S1" }]],
    ["a signature on a thought", [{ text: "hm", thought: true, thoughtSignature: "S1" }, { text: "a" }]],
    ["a signature alone", [{ text: "a" }, { thoughtSignature: "S1" }]],
    [
      "a signature on an image",
      [{ inlineData: { mimeType: "image/png", data: "AQID" }, thoughtSignature: "S1" }],
    ],
    [
      "a draft image in the reasoning",
      [{ thought: true, inlineData: { mimeType: "image/png", data: "AQID" } }],
    ],
    ["an audio clip", [{ inlineData: { mimeType: "audio/wav", data: "AQID" } }]],
    [
      "code and its result",
      [
        { executableCode: { language: "PYTHON", code: "1" }, thoughtSignature: "S1" },
        { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
      ],
    ],
    [
      "calls of hosted tools",
      [
        { toolCall: { toolType: "GOOGLE_SEARCH", id: "t" }, thoughtSignature: "S1" },
        { toolResponse: { toolType: "GOOGLE_SEARCH", id: "t" } },
      ],
    ],
    ["a part of an unknown kind", [{ hologram: { depth: 1 } }]],
    ["an unknown field of a text", [{ text: "a", partMetadata: { k: "v" } }]],
  ])("send back %s unchanged", async (_, parts) => {
    expect(await modelParts(parts)).toEqual(parts);
  });

  it.each([
    "partMetadata",
    "videoMetadata",
    "mediaResolution",
    "mediaProcessing",
    "speechMetadata",
    "audioTranscription",
  ])("are texts also if the field %s precedes the text", async (name) => {
    const parts = [{ [name]: { k: "v" }, text: "a" }];
    expect(answered(parts).content.map(({ part }) => part)).toEqual([{ case: "text", value: "a" }]);
    expect(await modelParts(parts)).toEqual(parts);
  });

  it("send back the id of a call only if the API gave one", async () => {
    const turn = answered([{ functionCall: { id: "native_1", name: "f", args: {} } }]);
    expect(toolCallsOf(turn)[0]?.id).toBe("native_1");
    const messages = [userMessage("hi"), turn, toolResult("native_1", "ok")];
    const { body } = await translate({ messages });
    expect(body.contents[2]?.parts).toEqual([
      { functionResponse: { id: "native_1", name: "f", response: { output: "ok" } } },
    ]);
  });

  it("never send an id that was generated here", async () => {
    const turn = answered([{ functionCall: { name: "f", args: {} }, thoughtSignature: "S" }]);
    const [{ id: toolCallId } = { id: "" }] = toolCallsOf(turn);
    expect(toolCallId).not.toBe("");
    const { body } = await translate({
      messages: [userMessage("hi"), turn, toolResult(toolCallId, "ok")],
    });
    expect(JSON.stringify(body)).not.toContain(toolCallId);
  });

  it("do not send back data of the answer as a whole", async () => {
    const grounding = { groundingMetadata: { webSearchQueries: ["weather"] } };
    const messages = [userMessage("hi"), answered([{ text: "a" }], NEW_MODEL, grounding), userMessage("go")];
    const { body, warnings } = await translate({ messages });
    expect(body.contents[1]?.parts).toEqual([{ text: "a" }]);
    expect(warnings).toEqual([]);
  });

  it("are left out if they are empty", async () => {
    const messages = [userMessage("hi"), { role: Role.ASSISTANT, content: [] }, userMessage("go")];
    const { body } = await translate({ messages });
    expect(body.contents.map(({ role }) => role)).toEqual(["user", "user"]);
  });
});

describe("assistant messages of another model or provider", () => {
  const foreign = (part: NonNullable<PartInput["part"]>, dataJson = '{"item":{"id":"rs_1"}}'): PartInput => ({
    part,
    providerState: { provider: "openai", model: "gpt-5.2", dataJson },
  });
  const thought = foreign({ case: "reasoning", value: { text: "hm" } });

  it("keep images that the API has as files", async () => {
    const fileId = "https://generativelanguage.googleapis.com/v1beta/files/a";
    const turn = assistantMessage([imagePart({ fileId }, { mediaType: "image/png" }), textPart("a")]);
    const { body } = await translate({ messages: [userMessage("hi"), turn, userMessage("go")] });
    expect(body.contents[1]?.parts).toEqual([
      { fileData: { mimeType: "image/png", fileUri: fileId } },
      { text: "a" },
    ]);
  });

  it("lose reasoning and native parts, with warnings", async () => {
    const native = foreign({
      case: "native",
      value: { provider: "openai", kind: "web_search_call", dataJson: "{}" },
    });
    const messages = [
      userMessage("hi"),
      assistantMessage([thought, native, textPart("a")]),
      userMessage("go"),
    ];
    const { body, warnings } = await translate({ messages });
    expect(body.contents[1]?.parts).toEqual([{ text: "a" }]);
    expect(getCodes(warnings)).toEqual([
      "foreign_state_stripped messages[1].content[0]",
      "foreign_state_stripped messages[1].content[1]",
    ]);
  });

  it("become text under TO_TEXT and are refused under REJECT", async () => {
    const messages = [userMessage("hi"), assistantMessage([thought, textPart("a")]), userMessage("go")];
    const { body } = await translate({ messages, foreignState: StatePolicy.TO_TEXT });
    expect(body.contents[1]?.parts).toEqual([{ text: "hm" }, { text: "a" }]);
    await expect(translate({ messages, foreignState: StatePolicy.REJECT })).rejects.toThrow(
      "messages[1].content[0]",
    );
  });

  it("get the placeholder signature on the first call of each step, for models that check signatures", async () => {
    const step = (id: string): MessageInit[] => [
      assistantMessage([textPart("a"), call(`${id}1`), call(`${id}2`)]),
      toolResult(`${id}1`, "ok"),
      toolResult(`${id}2`, "ok"),
    ];
    const messages = [userMessage("hi"), ...step("a"), ...step("b")];
    const { body, warnings } = await translate({ messages });
    const signatures = body.contents
      .filter(({ role }) => role === "model")
      .map(({ parts }) => parts.map(({ thoughtSignature }) => thoughtSignature));
    const placeholder = "skip_thought_signature_validator";
    expect(signatures).toEqual([
      [undefined, placeholder, undefined],
      [undefined, placeholder, undefined],
    ]);
    expect(getCodes(warnings)).toEqual([
      "converted_content messages[1].content[1].tool_call",
      "converted_content messages[4].content[1].tool_call",
    ]);
    const old = await translate({ model: OLD_MODEL, messages });
    expect(JSON.stringify(old.body)).not.toContain("thoughtSignature");
  });

  it("lose the signatures of another Gemini model, which the API would refuse", async () => {
    const parts = [
      { text: "hm", thought: true, thoughtSignature: "S1" },
      { text: "a", thoughtSignature: "S2" },
      { executableCode: { code: "1" }, thoughtSignature: "S3" },
      { functionCall: { id: "n", name: "f", args: {} }, thoughtSignature: "S4" },
    ];
    const turn = answered(parts, OLD_MODEL);
    const messages = [userMessage("hi"), turn, toolResult("n", "ok")];
    const { body } = await translate({ messages });
    expect(body.contents[1]?.parts).toEqual([
      { text: "a" },
      { executableCode: { code: "1" } },
      { functionCall: { name: "f", args: {} }, thoughtSignature: "skip_thought_signature_validator" },
    ]);
    expect(body.contents[2]?.parts[0]).toEqual({
      functionResponse: { name: "f", response: { output: "ok" } },
    });
  });

  it("keep their signatures if the request names the model by its deployment", async () => {
    const facts = { model: "tunedModels/mine" };
    const turn = readTurn(
      JSON.stringify({ ...event([{ text: "a", thoughtSignature: "S" }]), modelVersion: NEW_MODEL }),
      facts.model,
    );
    const messages = [userMessage("hi"), turn, userMessage("go")];
    const { body } = await translate({ ...facts, messages });
    expect(body.contents[1]?.parts).toEqual([{ text: "a", thoughtSignature: "S" }]);
  });

  it("keep their signatures if the request names the model by an alias", async () => {
    const turn = answered([{ text: "a", thoughtSignature: "S" }], NEW_MODEL);
    const messages = [userMessage("hi"), turn, userMessage("go")];
    const { body } = await translate({ model: `models/${NEW_MODEL}`, messages });
    expect(body.contents[1]?.parts).toEqual([{ text: "a", thoughtSignature: "S" }]);
  });

  it.each([
    ["broken JSON", call("a", "f", '{"x":'), '{"x":'],
    ["a list", call("a", "f", "[1]"), "[1]"],
    ["free text", call("a", "f", "SELECT 1", "text"), "SELECT 1"],
  ])("have arguments that are %s put into an object, with a warning", async (_, part, input) => {
    const messages = [userMessage("hi"), assistantMessage([part]), toolResult("a", "ok")];
    const { body, warnings } = await translate({ model: OLD_MODEL, messages });
    expect(body.contents[1]?.parts).toEqual([{ functionCall: { name: "f", args: { input } } }]);
    expect(getCodes(warnings)).toEqual(["converted_content messages[1].content[0].tool_call.arguments_json"]);
  });
});

describe("the JSON text of arguments and native parts", () => {
  const args = '{"10":1,"2":1.0,"n":12345678901234567890,"t":"\\u00e4 b"}';
  const native = '{"hologram":{"depth":1e3,"10":[1.0, 2.50]}}';
  const spelled = '{"hologram":{"depth":1e3,"10":[1.0,2.50]}}';
  const part = `{"functionCall":{"name":"f","args":${args}}}`;

  it("is sent back unchanged", async () => {
    const turn = readTurn(`{"candidates":[{"content":{"parts":[${part},${native}]}}]}`, OLD_MODEL);
    expect(toolCallsOf(turn)[0]?.input.value).toBe(args);
    expect(turn.content[1]?.part.value).toMatchObject({ dataJson: spelled });
    const messages = [userMessage("hi"), turn, ...resultsFor(turn)];
    const { text } = await translate({ model: OLD_MODEL, messages });
    expect(text).toContain(`[${part},${spelled}]`);
  });

  it("is kept without insignificant white space", async () => {
    const body = JSON.stringify(JSON.parse(`{"candidates":[{"content":{"parts":[${native}]}}]}`), null, 2);
    const [whole] = readTurn(body, OLD_MODEL).content;
    expect(whole?.part.value).toMatchObject({ dataJson: JSON.stringify(JSON.parse(native)) });
  });

  it("is taken from the first candidate", () => {
    const other = '{"index":1,"content":{"parts":[{"functionCall":{"name":"g","args":{"wrong":1}}}]}}';
    const first = `{"index":0,"content":{"parts":[{"text":"a"},${part}]}}`;
    const turn = readTurn(`{"candidates":[${other},${first}]}`, OLD_MODEL);
    expect(toolCallsOf(turn)[0]?.input.value).toBe(args);
  });

  it("loses only the signature if another model is requested", async () => {
    const signed = '{"hologram":{"depth":1.0},"thoughtSignature":"S"}';
    const turn = readTurn(`{"candidates":[{"content":{"parts":[${signed}]}}]}`, OLD_MODEL);
    const { text } = await translate({ messages: [userMessage("hi"), turn, userMessage("go")] });
    expect(text).toContain('"parts":[{"hologram":{"depth":1.0}}]');
  });
});
