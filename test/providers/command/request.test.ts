import { describe, expect, it } from "vitest";
import { InvalidRequestError, UnsupportedToolChoiceError } from "../../../src/core/errors.ts";
import { assistantMessage, developerMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { imagePart, type PartInput, textPart } from "../../../src/core/parts.ts";
import { jsonSchema } from "../../../src/core/response-format.ts";
import { functionTool, toolResult } from "../../../src/core/tools.ts";
import { LossPolicy, StatePolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { toProgramInput } from "../../../src/providers/command/request.ts";
import { toRequest } from "./programs.ts";

type Options = Parameters<typeof toProgramInput>[1];
type Fields = Parameters<typeof toRequest>[0];

function toInput(fields: Fields = {}, options: Partial<Options> = {}) {
  return toProgramInput(toRequest(fields), { command: ["/bin/agent"], provider: "local", ...options });
}

describe("the prompt", () => {
  it("is the instructions and the question", () => {
    const messages = [systemMessage("Be brief."), developerMessage("In French."), userMessage("Hello?")];
    expect(toInput({ messages }).input).toBe("Be brief.\n\nIn French.\n\nHello?");
  });

  it("is a transcript if there were turns before", () => {
    const messages = [
      systemMessage("Be brief."),
      userMessage("Hello?"),
      assistantMessage("Hi."),
      userMessage("Who are you?"),
    ];
    expect(toInput({ messages }).input).toBe(
      "Be brief.\n\nUser:\nHello?\n\nAssistant:\nHi.\n\nUser:\nWho are you?",
    );
  });

  it("has tool calls and their results as text, with a warning for each", () => {
    const call = { id: "c1", name: "find", input: { case: "argumentsJson", value: '{"q":1}' } } as const;
    const messages = [
      userMessage("Find it."),
      assistantMessage([{ part: { case: "toolCall", value: call } }]),
      toolResult("c1", "Found."),
    ];
    const { input, warnings } = toInput({ messages });
    expect(input).toContain('Assistant:\nCalled the tool find with: {"q":1}');
    expect(input).toContain("Tool:\nThe tool returned: Found.");
    expect(warnings.map(({ field, code }) => [field, code])).toEqual([
      ["messages[1].content[0]", "converted_content"],
      ["messages[2].content[0]", "converted_content"],
    ]);
  });

  it("leaves out earlier activities and reasoning of the program, and treats other models' by foreign_state", () => {
    const native = (provider: string) => ({
      part: { case: "native", value: { provider, kind: "command_execution", dataJson: "{}" } } as const,
    });
    const reasoning = {
      part: { case: "reasoning", value: { text: "Hm.", redacted: false } } as const,
      providerState: { provider: "other", model: "x", dataJson: "{}" },
    };
    const messages = (...content: Parameters<typeof assistantMessage>[0][]) => [
      userMessage("a"),
      assistantMessage(content as never),
      userMessage("b"),
    ];
    const local = toInput({ messages: messages(native("local") as never), lossPolicy: LossPolicy.REFUSE });
    expect(local.input).toBe("User:\na\n\nUser:\nb");
    expect(local.warnings).toMatchObject([{ code: "unsupported_content" }]);
    expect(toInput({ messages: messages(native("other") as never) }).warnings).toMatchObject([
      { code: "foreign_state_stripped" },
    ]);
    const text = toInput({ messages: messages(reasoning as never), foreignState: StatePolicy.TO_TEXT });
    expect(text.input).toContain("Assistant:\nHm.");
  });

  it("cannot have images without arguments for them", () => {
    const image = {
      part: { case: "image", value: { source: { case: "url", value: "https://x" } } },
    } as const;
    expect(() => toInput({ messages: [userMessage([image])] })).toThrow(
      "messages[0].content[0].image: expected text: the program is configured without images",
    );
  });

  it("asks for the form of the answer, with a warning that nothing enforces it", () => {
    const responseFormat = jsonSchema("person", { type: "object" }, { strict: true });
    const { input, warnings } = toInput({ responseFormat });
    expect(input).toBe(
      'Answer with JSON that fits the following JSON Schema, and with nothing else:\n{"type":"object"}\n\nSay hello.',
    );
    expect(warnings).toMatchObject([{ field: "response_format", code: "adjusted_setting" }]);
  });

  it("is refused as an argument if no program could take it", () => {
    const withText = (value: string) => ({ messages: [userMessage(value)] });
    expect(toInput(withText("x".repeat(200_000))).input).toHaveLength(200_000);
    expect(() => toInput(withText("x".repeat(200_000)), { prompt: "argument" })).toThrow(InvalidRequestError);
    expect(() => toInput(withText("a\0b"), { prompt: "argument" })).toThrow(/NUL/);
  });
});

describe("the arguments", () => {
  const command = ["/bin/agent", "run", "-m", "{model}", "{effort}", "x{model}"];
  const efforts = { low: ["-c", "effort=low"], high: ["-c", "effort=high"] };

  it("have the model and the effort as separate arguments", () => {
    const { args } = toInput({ model: "org/m-1.5:x", reasoningEffort: "high" }, { command, efforts });
    expect(args).toEqual(["run", "-m", "org/m-1.5:x", "-c", "effort=high", "x{model}"]);
    expect(toInput({}, { command, efforts }).args).toEqual(["run", "-m", "m-1", "x{model}"]);
  });

  it("never contain a model that could be an option or several words", () => {
    for (const model of ["-c", "--config=x", "a b", "a;b", "", "a\nb", "a".repeat(300)])
      expect(() => toInput({ model }, { command, efforts })).toThrow(/^model: expected/);
  });

  it("have the nearest effort, with a warning, and refuse an unknown one", () => {
    const nearest = toInput({ reasoningEffort: "medium" }, { command, efforts });
    expect(nearest.args).toContain("effort=low");
    expect(nearest.warnings).toMatchObject([{ field: "reasoning_effort", code: "adjusted_setting" }]);
    expect(() => toInput({ reasoningEffort: "__proto__" }, { command, efforts })).toThrow(
      "reasoning_effort: expected one of low, high",
    );
    expect(toInput({ reasoningEffort: "low" }).warnings).toMatchObject([{ code: "unsupported_setting" }]);
  });
});

describe("the files", () => {
  const command = ["/bin/agent", "{images}", "{schema}", "-"];
  const files = { command, images: ["--image", "{file}"], schema: ["--schema", "{file}"] };
  const png = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

  it("are the images of the request, which the prompt names by their numbers", () => {
    const messages = [
      userMessage([imagePart(png), textPart("What is it?")]),
      assistantMessage("A square."),
      userMessage([textPart("And this?"), imagePart("data:image/jpeg;base64,/9j/")]),
    ];
    const { args, input, warnings } = toInput({ messages }, files);
    expect(args).toEqual([
      "--image",
      { name: "image-1.png", content: png },
      "--image",
      { name: "image-2.jpg", content: Buffer.from("/9j/", "base64") },
      "-",
    ]);
    expect(input).toBe(
      "User:\n[image 1]\nWhat is it?\n\nAssistant:\nA square.\n\nUser:\nAnd this?\n[image 2]",
    );
    expect(warnings).toEqual([]);
  });

  it("are refused if the sidecar does not have the bytes of an image, or if there are too many", () => {
    const withImages = (...images: PartInput[]) => toInput({ messages: [userMessage(images)] }, files);
    expect(() => withImages(imagePart("https://example.com/a.png"))).toThrow(
      "messages[0].content[0].image: expected the bytes of the image, or a data: URL, for a program; found a url",
    );
    const many = Array.from({ length: 65 }, () => imagePart(png));
    expect(() => withImages(...many)).toThrow("messages[0].content[64].image: expected at most 64 images");
  });

  it("have the schema of the answer, which is then not in the prompt", () => {
    const responseFormat = jsonSchema("thing", { type: "object", properties: { a: { type: "string" } } });
    const { args, input, warnings } = toInput({ responseFormat }, files);
    expect(args).toEqual(["--schema", { name: "schema.json", content: responseFormat.schemaJson }, "-"]);
    expect(input).toBe("Say hello.");
    expect(warnings).toEqual([]);
    expect(toInput({}, files).args).toEqual(["-"]);
  });

  it("have no schema of a list, which the model's API may not take: it is in the prompt", () => {
    const responseFormat = jsonSchema("things", { type: "array", items: { type: "string" } });
    const { args, input, warnings } = toInput({ responseFormat }, files);
    expect(args).toEqual(["-"]);
    expect(input).toContain(responseFormat.schemaJson);
    expect(warnings).toMatchObject([{ field: "response_format", code: "adjusted_setting" }]);
  });
});

describe("what a program does not take", () => {
  const fields: Fields = {
    tools: [functionTool({ name: "find" })],
    temperature: 0.5,
    topP: 0.5,
    maxTokens: 10,
    stopSequences: ["x"],
    metadata: { a: "b" },
    providerOptionsJson: { local: "{}" },
  };

  it("is left out with a warning for each", () => {
    expect(toInput(fields).warnings.map(({ field, code }) => `${field} ${code}`)).toEqual([
      "tools unsupported_setting",
      "temperature unsupported_setting",
      "top_p unsupported_setting",
      "max_tokens unsupported_setting",
      "stop_sequences unsupported_setting",
      "metadata unsupported_setting",
      'provider_options_json["local"] unsupported_setting',
    ]);
  });

  it("is refused if the request says so", () => {
    expect(() => toInput({ ...fields, lossPolicy: LossPolicy.REFUSE })).toThrow(
      /temperature: a program has no such setting/,
    );
  });

  it("is refused if the model must call a tool", () => {
    expect(() => toInput({ toolChoice: { mode: 3 } })).toThrow(UnsupportedToolChoiceError);
  });
});
