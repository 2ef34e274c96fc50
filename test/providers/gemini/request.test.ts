import { describe, expect, it } from "vitest";
import { InvalidRequestError, UnsupportedToolChoiceError } from "../../../src/core/errors.ts";
import { developerMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { documentPart, imagePart, textPart } from "../../../src/core/parts.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  ResponseFormat_Type as Format,
  LossPolicy,
  ToolChoice_Mode as Mode,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { toPath } from "../../../src/providers/gemini/request.ts";
import { getCodes, NEW_MODEL, OLD_MODEL, translate } from "./support.ts";

const functionTool = (name: string, parameters = "", strict = false) =>
  ({
    tool: { case: "function", value: { name, description: "does it", parametersJson: parameters, strict } },
  }) as const;
const hostedTool = (config: object, provider = "gemini") =>
  ({ tool: { case: "hosted", value: { provider, configJson: JSON.stringify(config) } } }) as const;
const CITY = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';

describe("system and developer messages", () => {
  it("become the system instruction if they come first", async () => {
    const { body, warnings } = await translate({
      messages: [systemMessage("Be brief."), developerMessage("Be kind."), userMessage("hi")],
    });
    expect(body.systemInstruction).toEqual({ parts: [{ text: "Be brief.\n\nBe kind." }] });
    expect(body.contents).toEqual([{ role: "user", parts: [{ text: "hi" }] }]);
    expect(warnings).toEqual([]);
  });

  it("stay in place inside the conversation, as marked text of the user", async () => {
    const { body, warnings } = await translate({ messages: [userMessage("hi"), systemMessage("Be brief.")] });
    expect(body.contents[1]).toEqual({
      role: "user",
      parts: [{ text: "<system_message>\nBe brief.\n</system_message>" }],
    });
    expect(getCodes(warnings)).toEqual(["converted_content messages[1]"]);
  });

  it("are sent as contents if there are no others, since the API wants one", async () => {
    const { body } = await translate({ messages: [systemMessage("Say hi.")] });
    expect(body.systemInstruction).toBeUndefined();
    expect(body.contents).toHaveLength(1);
  });
});

describe("media in user messages", () => {
  const png = new Uint8Array([1, 2, 3]);
  const partsFor = async (model: string, ...content: Parameters<typeof userMessage>[0][]) => {
    const { body, warnings } = await translate({ model, messages: [userMessage(content as never)] });
    return { parts: body.contents[0]?.parts ?? [], warnings };
  };

  it("are sent as bytes, URLs and file URIs", async () => {
    const { parts } = await partsFor(
      NEW_MODEL,
      textPart("look"),
      imagePart(png),
      imagePart("https://example.com/a/cat.webp?size=2"),
      imagePart("data:image/jpeg;base64,AQID"),
      { part: { case: "audio", value: { mediaType: "audio/wav", source: { case: "data", value: png } } } },
      documentPart(png),
      documentPart("https://example.com/paper"),
      {
        part: {
          case: "document",
          value: { mediaType: "application/pdf", source: { case: "fileId", value: "files/abc" } },
        },
      },
      { part: { case: "image", value: { source: { case: "fileId", value: "gs://bucket/cat.png" } } } },
    );
    expect(parts).toEqual([
      { text: "look" },
      { inlineData: { mimeType: "image/png", data: "AQID" } },
      { fileData: { mimeType: "image/webp", fileUri: "https://example.com/a/cat.webp?size=2" } },
      { inlineData: { mimeType: "image/jpeg", data: "AQID" } },
      { inlineData: { mimeType: "audio/wav", data: "AQID" } },
      { inlineData: { mimeType: "application/pdf", data: "AQID" } },
      { fileData: { fileUri: "https://example.com/paper" } },
      {
        fileData: {
          mimeType: "application/pdf",
          fileUri: "https://generativelanguage.googleapis.com/v1beta/files/abc",
        },
      },
      { fileData: { fileUri: "gs://bucket/cat.png" } },
    ]);
  });

  it("have a resolution if the model takes one for each part", async () => {
    const detailed = {
      part: { case: "image", value: { detail: "high", source: { case: "data", value: png } } },
    } as const;
    const { parts } = await partsFor(NEW_MODEL, detailed);
    expect(parts[0]?.mediaResolution).toEqual({ level: "MEDIA_RESOLUTION_HIGH" });
    const old = await partsFor(OLD_MODEL, detailed);
    expect(old.parts[0]).not.toHaveProperty("mediaResolution");
    expect(getCodes(old.warnings)).toEqual(["unsupported_setting messages[0].content[0].image.detail"]);
  });

  it.each([
    ["image", "image/gif", "messages[0].content[0].image.media_type: expected image/png"],
    ["image", "video/mp4", "messages[0].content[0].image.media_type: expected image/png"],
    [
      "audio",
      "image/png",
      "messages[0].content[0].audio.media_type: expected one like audio/wav, found image/png",
    ],
  ] as const)(
    "are refused by field if the API does not take their media type (%s, %s)",
    async (kind, mediaType, message) => {
      const part = {
        part: { case: kind, value: { mediaType, source: { case: "data", value: png } } },
      } as const;
      await expect(partsFor(NEW_MODEL, part)).rejects.toThrow(message);
    },
  );

  it("lose the file name of a document, with a warning", async () => {
    const { warnings } = await partsFor(NEW_MODEL, documentPart(png, { fileName: "a.pdf" }));
    expect(getCodes(warnings)).toEqual(["unsupported_setting messages[0].content[0].document.file_name"]);
  });
});

describe("messages", () => {
  it("lose the name of their participant, with a warning", async () => {
    const messages = [{ role: Role.USER, name: "Ada", content: [textPart("hi")] }];
    const { warnings } = await translate({ messages });
    expect(getCodes(warnings)).toEqual(["unsupported_setting messages[0].name"]);
  });

  it("without content, which other providers may have taken, are left out with a note", async () => {
    const messages = [userMessage("hi"), userMessage(""), systemMessage(""), userMessage("go on")];
    const { body, warnings } = await translate({ messages, lossPolicy: LossPolicy.REFUSE });
    expect(body.contents).toEqual([
      { role: "user", parts: [{ text: "hi" }] },
      { role: "user", parts: [{ text: "go on" }] },
    ]);
    expect(getCodes(warnings)).toEqual([
      "unsupported_content messages[1]",
      "unsupported_content messages[2]",
    ]);
    await expect(translate({ messages: [userMessage("")] })).rejects.toThrow(
      "messages: expected a message with content, found none",
    );
  });
});

describe("tools", () => {
  it("declare functions together and hosted tools alongside them", async () => {
    const { body } = await translate({
      tools: [functionTool("weather", CITY), hostedTool({ googleSearch: {} }), functionTool("now")],
    });
    expect(body.tools).toEqual([
      {
        functionDeclarations: [
          { name: "weather", description: "does it", parametersJsonSchema: JSON.parse(CITY) },
          { name: "now", description: "does it" },
        ],
      },
      { googleSearch: {} },
    ]);
    expect(body.toolConfig).toEqual({
      functionCallingConfig: { mode: "VALIDATED" },
      includeServerSideToolInvocations: true,
    });
  });

  it("compile their schemas for the API and report relaxed keywords", async () => {
    const schema = { type: "object", properties: { n: { type: "string", pattern: "^[a-z]+$" } } };
    const { body, warnings } = await translate({ tools: [functionTool("f", JSON.stringify(schema))] });
    expect(JSON.stringify(body.tools)).not.toContain('"pattern":');
    expect(warnings.map(({ field }) => field)).toEqual([
      "tools[0].function.parameters_json#/properties/n/pattern",
    ]);
  });

  it.each([
    '{"type":"object"}',
    '{"type":"object","properties":{}}',
    '{"type":"object","properties":{},"required":[],"additionalProperties":false}',
  ])("have no schema if they take no arguments: %s", async (schema) => {
    const { body } = await translate({ tools: [functionTool("now", schema)] });
    expect(body.tools).toEqual([{ functionDeclarations: [{ name: "now", description: "does it" }] }]);
  });

  it("keep their schema if they take any arguments", async () => {
    const { body } = await translate({
      tools: [functionTool("any", '{"type":"object","additionalProperties":true}')],
    });
    expect(body.tools?.[0]?.functionDeclarations).toMatchObject([
      { parametersJsonSchema: { type: "object" } },
    ]);
  });

  it("are left out with a warning if they are hosted by another provider", async () => {
    const { body, warnings } = await translate({ tools: [hostedTool({ type: "web_search" }, "openai")] });
    expect(body.tools).toBeUndefined();
    expect(getCodes(warnings)).toEqual(["unsupported_setting tools[0].hosted"]);
  });

  it("are refused if the model does not take functions and hosted tools together", async () => {
    const tools = [functionTool("now"), hostedTool({ googleSearch: {} })];
    await expect(translate({ model: OLD_MODEL, tools })).rejects.toThrow("tools[1].hosted: the model takes");
  });

  it("are refused by field if the API does not take their name", async () => {
    await expect(translate({ tools: [functionTool("7eleven")] })).rejects.toThrow(
      'tools[0].function.name: expected a letter or "_" first, found "7"',
    );
  });

  it("are refused if there are more than 512", async () => {
    const tools = Array.from({ length: 513 }, (_, index) => functionTool(`tool_${index}`));
    await expect(translate({ tools })).rejects.toThrow("tools: expected at most 512 functions, found 513");
  });

  it("validate calls if one tool is strict", async () => {
    const { body } = await translate({ tools: [functionTool("weather", CITY, true)] });
    expect(body.toolConfig).toEqual({ functionCallingConfig: { mode: "VALIDATED" } });
  });
});

describe("tool choice", () => {
  const tools = [functionTool("weather", CITY)];
  it.each([
    [{ mode: Mode.AUTO }, { mode: "AUTO" }],
    [{ mode: Mode.NONE }, { mode: "NONE" }],
    [{ mode: Mode.REQUIRED }, { mode: "ANY" }],
    [
      { mode: Mode.NAMED, toolName: "weather" },
      { mode: "ANY", allowedFunctionNames: ["weather"] },
    ],
  ])("is translated from %j to %j", async (toolChoice, functionCallingConfig) => {
    const { body } = await translate({ tools, toolChoice });
    expect(body.toolConfig).toEqual({ functionCallingConfig });
  });

  it("is left to the API if the caller sets none", async () => {
    expect((await translate({ tools })).body.toolConfig).toBeUndefined();
  });

  it("removes hosted tools too if it is NONE", async () => {
    const { body } = await translate({
      tools: [...tools, hostedTool({ codeExecution: {} })],
      toolChoice: { mode: Mode.NONE },
    });
    expect(body.tools).toHaveLength(1);
    expect(body.toolConfig).toEqual({ functionCallingConfig: { mode: "NONE" } });
  });

  it.each([{ mode: Mode.REQUIRED }, { mode: Mode.NAMED, toolName: "codeExecution" }])(
    "is refused if it forces a hosted tool: %j",
    async (toolChoice) => {
      const hosted = [hostedTool({ codeExecution: {} })];
      await expect(translate({ tools: hosted, toolChoice })).rejects.toBeInstanceOf(
        UnsupportedToolChoiceError,
      );
    },
  );

  it("keeps parallel calls if they are switched off, with a warning", async () => {
    const { warnings } = await translate({ tools, toolChoice: { mode: Mode.AUTO, parallel: false } });
    expect(getCodes(warnings)).toEqual(["unsupported_setting tool_choice.parallel"]);
  });
});

describe("the response format", () => {
  const schema = { type: Format.JSON_SCHEMA, schemaJson: CITY } as const;

  it("is sent as a media type and a JSON Schema", async () => {
    expect((await translate({ responseFormat: { type: Format.JSON } })).body.generationConfig).toEqual({
      responseMimeType: "application/json",
    });
    expect((await translate({ responseFormat: schema })).body.generationConfig).toEqual({
      responseMimeType: "application/json",
      responseJsonSchema: JSON.parse(CITY),
    });
    expect(
      (await translate({ responseFormat: { type: Format.TEXT } })).body.generationConfig,
    ).toBeUndefined();
  });

  it("is sent together with tools if the model takes both", async () => {
    const { body } = await translate({ tools: [functionTool("now")], responseFormat: schema });
    expect(body.generationConfig).toHaveProperty("responseJsonSchema");
  });

  it("becomes an instruction with a warning if the model does not take both", async () => {
    const { body, warnings } = await translate({
      model: OLD_MODEL,
      messages: [systemMessage("Be brief."), userMessage("hi")],
      tools: [functionTool("now")],
      responseFormat: schema,
    });
    expect(body.generationConfig).toBeUndefined();
    expect(JSON.stringify(body.systemInstruction)).toContain("Be brief.\\n\\nAnswer with JSON that fits");
    expect(JSON.stringify(body.systemInstruction)).toContain("city");
    expect(getCodes(warnings)).toEqual(["adjusted_setting response_format"]);
    const strict = {
      model: OLD_MODEL,
      tools: [functionTool("now")],
      responseFormat: schema,
      lossPolicy: LossPolicy.REFUSE,
    };
    await expect(translate(strict)).rejects.toThrow("response_format:");
  });

  it("is refused if its schema is not an object", async () => {
    const responseFormat = { type: Format.JSON_SCHEMA, schemaJson: "[]" };
    await expect(translate({ responseFormat })).rejects.toThrow(
      "response_format.schema_json: expected the text of a JSON object, found a list",
    );
  });
});

describe("sampling settings", () => {
  it("are sent in generationConfig", async () => {
    const { body } = await translate({
      temperature: 0,
      topP: 0.5,
      maxTokens: 100,
      stopSequences: ["a", "b", "c", "d", "e"],
    });
    expect(body.generationConfig).toEqual({
      temperature: 0,
      topP: 0.5,
      maxOutputTokens: 100,
      stopSequences: ["a", "b", "c", "d", "e"],
    });
  });

  it("are left out with a warning if the model does not take them", async () => {
    const { body, warnings } = await translate({
      model: "gemini-3.8-flash",
      temperature: 1,
      topP: 1,
      maxTokens: 9,
    });
    expect(body.generationConfig).toEqual({ maxOutputTokens: 9 });
    expect(getCodes(warnings)).toEqual(["unsupported_setting temperature", "unsupported_setting top_p"]);
  });

  it("refuse more than 5 stop sequences", async () => {
    const stopSequences = ["a", "b", "c", "d", "e", "f"];
    await expect(translate({ stopSequences })).rejects.toThrow("stop_sequences: expected at most 5, found 6");
  });

  it("leave out metadata, with a warning", async () => {
    const { warnings } = await translate({ metadata: { team: "a" } });
    expect(getCodes(warnings)).toEqual(["unsupported_setting metadata"]);
    await expect(
      translate({ metadata: { team: "a" }, lossPolicy: LossPolicy.REFUSE }),
    ).rejects.toBeInstanceOf(InvalidRequestError);
  });
});

describe("reasoning effort", () => {
  it.each([
    [NEW_MODEL, "high", { thinkingLevel: "high", includeThoughts: true }, []],
    [NEW_MODEL, "minimal", { thinkingLevel: "minimal", includeThoughts: true }, []],
    ["gemini-3-pro-preview", "medium", { thinkingLevel: "low", includeThoughts: true }, ["adjusted_setting"]],
    [NEW_MODEL, "none", { thinkingLevel: "minimal", includeThoughts: true }, ["adjusted_setting"]],
    [NEW_MODEL, "max", { thinkingLevel: "high", includeThoughts: true }, ["adjusted_setting"]],
    ["gemini-4-hydrogen", "xhigh", { thinkingLevel: "xhigh", includeThoughts: true }, []],
    [OLD_MODEL, "none", { thinkingBudget: 0 }, []],
    [OLD_MODEL, "low", { thinkingBudget: 1024, includeThoughts: true }, []],
    [OLD_MODEL, "medium", { thinkingBudget: 8192, includeThoughts: true }, []],
    [OLD_MODEL, "high", { thinkingBudget: 24576, includeThoughts: true }, []],
    ["gemini-2.5-pro", "none", { thinkingBudget: 1024, includeThoughts: true }, ["adjusted_setting"]],
    ["tunedModels/mine", "high", { thinkingLevel: "high", includeThoughts: true }, []],
    ["tunedModels/mine", "none", { thinkingBudget: 0 }, []],
    ["gemini-2.0-flash", "high", undefined, ["unsupported_setting"]],
    ["gemini-2.0-flash", "none", undefined, []],
    [OLD_MODEL, "dynamic", undefined, ["unsupported_setting"]],
    [NEW_MODEL, "", undefined, []],
  ])("is translated for %s from %j to %j", async (model, reasoningEffort, thinkingConfig, codes) => {
    const { body, warnings } = await translate({ model, reasoningEffort });
    expect(body.generationConfig?.thinkingConfig).toEqual(thinkingConfig);
    expect(warnings.map(({ code }) => code)).toEqual(codes);
  });
});

describe("provider options", () => {
  const options = (body: object) => ({ gemini: JSON.stringify(body) });

  it("are merged into the body last, with tools appended", async () => {
    const { body } = await translate({
      temperature: 1,
      tools: [functionTool("now")],
      providerOptionsJson: {
        ...options({
          generationConfig: { topK: 40, temperature: 0.5 },
          safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "OFF" }],
          labels: { team: "a" },
          tools: [{ urlContext: {} }],
        }),
        openai: '{"store":true}',
      },
    });
    expect(body.generationConfig).toEqual({ temperature: 0.5, topK: 40 });
    expect(body.tools).toHaveLength(2);
    expect(body).toMatchObject({ labels: { team: "a" }, safetySettings: [{ threshold: "OFF" }] });
    expect(body).not.toHaveProperty("store");
  });

  it("remove fields that the cached content holds from the request, with a warning", async () => {
    const { body, warnings } = await translate({
      messages: [systemMessage("Be brief."), userMessage("hi")],
      tools: [functionTool("now")],
      providerOptionsJson: options({ cachedContent: "cachedContents/a" }),
    });
    expect(body).toEqual({
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
      cachedContent: "cachedContents/a",
    });
    expect(getCodes(warnings)).toEqual(["adjusted_setting messages"]);
  });

  it("are refused if they are not an object", async () => {
    await expect(translate({ providerOptionsJson: { gemini: "1" } })).rejects.toThrow(
      'provider_options_json["gemini"]: expected the text of a JSON object, found a number',
    );
  });
});

describe("toPath", () => {
  it.each([
    ["gemini-3.5-flash", "/v1beta/models/gemini-3.5-flash"],
    ["models/gemini-3.5-flash", "/v1beta/models/gemini-3.5-flash"],
    ["tunedModels/my-model", "/v1beta/tunedModels/my-model"],
    ["publishers/google/models/gemini-3.5-flash", "/v1beta/publishers/google/models/gemini-3.5-flash"],
    ["odd model?key=x#y", "/v1beta/models/odd%20model%3Fkey%3Dx%23y"],
  ])("gives the path for the model %s", (model, path) => {
    expect(toPath("v1beta", model, false)).toBe(`${path}:generateContent`);
    expect(toPath("v1beta", model, true)).toBe(`${path}:streamGenerateContent?alt=sse`);
  });

  it.each(["../files", "models/../files", "models//x", "tunedModels/."])("refuses the model %s", (model) => {
    expect(() => toPath("v1beta", model, false)).toThrow("model: expected the id of a model");
  });
});
