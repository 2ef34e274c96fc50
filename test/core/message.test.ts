import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  assistantMessage,
  developerMessage,
  reasoningOf,
  systemMessage,
  textOf,
  toolCallsOf,
  userMessage,
} from "../../src/core/message.ts";
import { audioPart, documentPart, imagePart, reasoningPart, textPart } from "../../src/core/parts.ts";
import { toolResult } from "../../src/core/tools.ts";
import { type ContentPart, ContentPartSchema, Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import { ResponseSchema } from "../../src/gen/outrigger/v1/response_pb.ts";

const bytes = Uint8Array.of(1, 2, 3);

function thinkingPart(text: string): ContentPart {
  return create(ContentPartSchema, { part: { case: "reasoning", value: { text } } });
}

function toolCallPart(id: string): ContentPart {
  return create(ContentPartSchema, { part: { case: "toolCall", value: { id, name: "look" } } });
}

describe("the constructors of messages", () => {
  it.each([
    [systemMessage("Be brief."), Role.SYSTEM],
    [developerMessage("Be brief."), Role.DEVELOPER],
    [userMessage("Be brief."), Role.USER],
    [assistantMessage("Be brief."), Role.ASSISTANT],
  ])("set the role and make one text part of a text (%#)", (message, role) => {
    expect(message.role).toBe(role);
    expect(message.content.map(({ part }) => part)).toEqual([{ case: "text", value: "Be brief." }]);
  });

  it("take one part or several, keep their order and add nothing", () => {
    const image = imagePart("https://example.com/a.png");
    expect(userMessage(image).content).toEqual([image]);
    const parts = [textPart("What is this?"), image, textPart("")];
    expect(userMessage(parts).content).toEqual(parts);
    expect(assistantMessage([]).content).toEqual([]);
  });

  it("also take the fields of a part", () => {
    const { content } = userMessage({ part: { case: "text", value: "hi" } });
    expect(content).toEqual([textPart("hi")]);
  });

  it("leave the caller's list alone", () => {
    const parts = [textPart("one")];
    userMessage(parts).content.push(textPart("two"));
    expect(parts).toEqual([textPart("one")]);
  });
});

describe("the constructors of parts", () => {
  it.each([
    [
      imagePart("https://example.com/a.png", { mediaType: "image/png" }),
      { case: "url", value: "https://example.com/a.png" },
    ],
    [imagePart(bytes, { mediaType: "image/png" }), { case: "data", value: bytes }],
    [
      documentPart("https://example.com/a.pdf", { mediaType: "image/png" }),
      { case: "url", value: "https://example.com/a.pdf" },
    ],
    [documentPart(bytes, { mediaType: "image/png", fileName: "a.pdf" }), { case: "data", value: bytes }],
  ])("distinguish bytes from a URL (%#)", ({ part }, source) => {
    expect(part.value).toMatchObject({ source, mediaType: "image/png" });
  });

  it("name a file at the provider, or the object of a URL", () => {
    expect(imagePart({ fileId: "file_1" }).part.value).toMatchObject({
      source: { case: "fileId", value: "file_1" },
    });
    expect(audioPart(new URL("https://example.com/a.wav")).part.value).toMatchObject({
      source: { case: "url", value: "https://example.com/a.wav" },
    });
  });

  it("set the detail of an image and the type of audio", () => {
    expect(imagePart(bytes, { detail: "low" }).part.value).toMatchObject({ detail: "low" });
    const audio = { case: "audio", value: { mediaType: "audio/wav", source: { value: bytes } } };
    expect(audioPart(bytes, { mediaType: "audio/wav" }).part).toMatchObject(audio);
  });

  it("leave the media type to the contract's default unless it is given", () => {
    expect(imagePart(bytes).part.value).toMatchObject({ mediaType: "" });
    expect(documentPart(bytes).part.value).toMatchObject({ mediaType: "", fileName: "" });
    expect(documentPart(bytes, { fileName: "a.pdf" }).part.value).toMatchObject({ fileName: "a.pdf" });
  });
});

describe("reasoningPart()", () => {
  it("makes reasoning without state if there is no signature", () => {
    const { part, providerState } = reasoningPart({ text: "first" });
    expect(part).toMatchObject({ case: "reasoning", value: { text: "first", redacted: false } });
    expect(providerState).toBeUndefined();
  });

  it("keeps a signature as the state of the provider and model that wrote it", () => {
    const { providerState } = reasoningPart({ text: "", signature: "s", provider: "openai", model: "o3" });
    expect(providerState).toMatchObject({ provider: "openai", model: "o3", dataJson: '{"signature":"s"}' });
  });
});

describe("the accessors", () => {
  const message = assistantMessage([
    thinkingPart("first"),
    textPart("Hello, "),
    toolCallPart("call_1"),
    thinkingPart(""),
    thinkingPart("second"),
    textPart("world"),
    toolCallPart("call_2"),
  ]);
  const response = create(ResponseSchema, { message });

  it.each([
    ["a message", message],
    ["a response", response],
  ])("read %s", (_what, source) => {
    expect(textOf(source)).toBe("Hello, world");
    expect(reasoningOf(source)).toBe("first\n\nsecond");
    expect(toolCallsOf(source).map(({ id }) => id)).toEqual(["call_1", "call_2"]);
  });

  it.each([
    ["nothing", undefined],
    ["a response without a message", create(ResponseSchema)],
    ["a message without content", assistantMessage([])],
  ])("find nothing in %s", (_what, source) => {
    expect([textOf(source), reasoningOf(source), toolCallsOf(source)]).toEqual(["", "", []]);
  });

  it("do not reach into tool results", () => {
    expect(textOf(toolResult("call_1", "sunny"))).toBe("");
  });
});
