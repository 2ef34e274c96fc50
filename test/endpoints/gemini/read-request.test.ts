/** Bodies of `generateContent` -> requests of the contract. */
import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { readCountRequest, readRequest } from "../../../src/endpoints/gemini/read-request.ts";
import { type ContentPart, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ResponseFormat_Type, ToolChoice_Mode } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { expectReadOrRefused } from "../support/changed-bodies.ts";
import { createDirectory } from "../support/directory.ts";

const models = createDirectory({
  providers: new Map([
    ["openai", "openai-responses"],
    ["anthropic", "anthropic-messages"],
    ["gemini", "gemini"],
    ["local", "openai-chat"],
  ]),
});

function read(body: object | string, model = "openai/m") {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return readRequest(bytes, { models, model, isStreamed: false });
}

function readViolations(body: object, model?: string): unknown {
  try {
    read(body, model);
  } catch (thrown) {
    if (thrown instanceof InvalidRequestError) return thrown.violations;
    throw thrown;
  }
  return [];
}

const base = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
const withConfig = (generationConfig: object) => ({ ...base, generationConfig });

/** A body with every kind of field that is read. */
const whole = {
  systemInstruction: { parts: [{ text: "a" }, { text: "b" }] },
  contents: [
    {
      role: "user",
      parts: [
        { text: "a" },
        { inlineData: { mimeType: "image/png", data: "AAAA" } },
        { inlineData: { mimeType: "application/pdf", data: "-_8=", displayName: "a.pdf" } },
        { fileData: { mimeType: "audio/wav", fileUri: "https://a/b.wav" } },
        { fileData: { fileUri: "files/abc" } },
      ],
    },
    {
      role: "model",
      parts: [
        { text: "a", thought: true },
        { text: "", thought: true, thoughtSignature: "b3IxLltd" },
        { text: "b" },
        { functionCall: { id: "t1", name: "f", args: { b: 1, a: 2 } }, thoughtSignature: "c2ln" },
      ],
    },
    { role: "model", parts: [{ functionCall: { name: "f", args: {} } }] },
    {
      role: "user",
      parts: [
        { text: "c" },
        { functionResponse: { id: "t1", name: "f", response: { output: "d" } } },
        { functionResponse: { name: "f", response: { error: { code: 1 } } } },
      ],
    },
  ],
  tools: [
    {
      functionDeclarations: [
        {
          name: "f",
          description: "a",
          parameters: { type: "OBJECT", properties: { a: { type: "STRING" } }, required: ["a"] },
        },
        { name: "g", parametersJsonSchema: { type: "object" } },
      ],
    },
    { googleSearch: {} },
  ],
  toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
  generationConfig: {
    temperature: 1,
    topP: 0.5,
    topK: 3,
    maxOutputTokens: 100,
    candidateCount: 1,
    stopSequences: ["a"],
    responseMimeType: "application/json",
    responseSchema: { type: "OBJECT" },
    thinkingConfig: { thinkingBudget: 3000 },
    seed: 1,
  },
  safetySettings: [{ category: "a", threshold: "b" }],
};

/** The same with the proto names of the fields. */
function toProtoNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toProtoNames);
  if (typeof value !== "object" || value === null) return value;
  const toName = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [toName(name), toProtoNames(each)]));
}

const getKinds = (content: readonly ContentPart[] = []) => content.map(({ part }) => part.case);

describe("readRequest", () => {
  it("joins contents of the model, and reads results before the rest of the user's content", () => {
    const { request, toBodyPath } = read(whole);
    expect(request.messages.map(({ role }) => role)).toEqual([
      Role.SYSTEM,
      Role.USER,
      Role.ASSISTANT,
      Role.TOOL,
      Role.TOOL,
      Role.USER,
    ]);
    expect(getKinds(request.messages[1]?.content)).toEqual([
      "text",
      "image",
      "document",
      "audio",
      "document",
    ]);
    expect(getKinds(request.messages[2]?.content)).toEqual(["reasoning", "text", "toolCall", "toolCall"]);
    expect(toBodyPath("messages[2].content[3].tool_call")).toBe("contents[2].parts[0]");
    expect(toBodyPath("messages[3].content[0].tool_result")).toBe("contents[3].parts[1].functionResponse");
    expect(toBodyPath("messages[5].content[0].text")).toBe("contents[3].parts[0]");
    expect(toBodyPath("tools[0].function")).toBe("tools[0].functionDeclarations[0]");
    for (const [field, path] of [
      ["max_tokens", "generationConfig.maxOutputTokens"],
      ["temperature", "generationConfig.temperature"],
      ["top_p", "generationConfig.topP"],
      ["stop_sequences[0]", "stop_sequences[0]"],
      ["stop_sequences", "generationConfig.stopSequences"],
      ["response_format.schema_json", "generationConfig.responseSchema"],
      ["reasoning_effort", "generationConfig.thinkingConfig"],
      ["tool_choice.tool_name", "toolConfig"],
      ["provider", "model"],
    ] as const)
      expect(toBodyPath(field)).toBe(path);
  });

  it("leaves out a result that came twice, as Gemini CLI sends it in a resumed session", () => {
    const call = { role: "model", parts: [{ functionCall: { id: "t1", name: "f", args: {} } }] };
    const toPart = (output: string) => ({ functionResponse: { id: "t1", name: "f", response: { output } } });
    const readResults = (...outputs: string[]) =>
      read({ contents: [...base.contents, call, { role: "user", parts: outputs.map(toPart) }] });
    const { request, warnings } = readResults("a", "a");
    expect(request.messages.filter(({ role }) => role === Role.TOOL)).toHaveLength(1);
    expect(warnings).toEqual([
      {
        code: "converted_content",
        param: "contents[2].parts[1].functionResponse",
        message: "is repeated; the copy was left out",
      },
    ]);
    expect(readResults("a", "b").request.messages.filter(({ role }) => role === Role.TOOL)).toHaveLength(2);
  });

  it("finds the calls of results by their ids, else by their names", () => {
    const { request } = read(whole);
    const calls = request.messages[2]?.content.flatMap(({ part }) =>
      part.case === "toolCall" ? [part.value.id] : [],
    );
    expect(request.messages.slice(3, 5).map(({ toolCallId }) => toolCallId)).toEqual(calls);
    const results = request.messages.slice(3, 5).map(({ content }) => content[0]?.part.value);
    expect(results).toMatchObject([
      { failed: false, content: [{ part: { value: "d" } }] },
      { failed: true, content: [{ part: { value: '{"code":1}' } }] },
    ]);
  });

  it("finds the call of a result whose name has other punctuation, as Semantic Kernel writes it", () => {
    const calls = ["a-b", "c-d"].map((name) => ({ functionCall: { name, args: {} } }));
    const results = ["c__d", "a__b"].map((name) => ({
      functionResponse: { name, response: { output: name } },
    }));
    const contents = [...base.contents, { role: "model", parts: calls }, { role: "user", parts: results }];
    const { request } = read({ contents });
    const [first, second] =
      request.messages[1]?.content.map(({ part }) => (part.value as { id: string }).id) ?? [];
    expect(request.messages.slice(2).map(({ toolCallId }) => toolCallId)).toEqual([second, first]);
  });

  it("keeps the order of the keys of arguments, and bytes in the URL-safe alphabet", () => {
    const { request } = read(whole);
    const call = request.messages[2]?.content[2]?.part.value;
    expect(call).toMatchObject({ input: { value: '{"b":1,"a":2}' } });
    const document = request.messages[1]?.content[2]?.part.value;
    expect(document).toMatchObject({ fileName: "a.pdf", source: { value: Buffer.from([251, 255]) } });
  });

  it("reads the settings, and schemas in Google's dialect", () => {
    const { request } = read(whole);
    expect(request).toMatchObject({
      temperature: 1,
      topP: 0.5,
      maxTokens: 100,
      stopSequences: ["a"],
      reasoningEffort: "medium",
    });
    expect(request.toolChoice).toMatchObject({ mode: ToolChoice_Mode.NAMED, toolName: "f" });
    // The choice allows no other function; a tool of the provider is no function.
    expect(request.tools.map(({ tool }) => tool.case)).toEqual(["function", "hosted"]);
    const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    const parametersJson = JSON.stringify(schema);
    expect(request.tools[0]?.tool).toMatchObject({ value: { name: "f", parametersJson } });
    expect(request.responseFormat).toMatchObject({
      type: ResponseFormat_Type.JSON_SCHEMA,
      schemaJson: '{"type":"object"}',
    });
  });

  it("reads the proto names of fields as their JSON names", () => {
    expect(read(toProtoNames(whole) as object).request).toEqual(read(whole).request);
    expect(readViolations({ contents: [{ parts: [{ inline_data: { mime_type: "a/b" } }] }] })).toMatchObject([
      { field: "contents[0].parts[0].inline_data.data" },
    ]);
  });

  it("reads numbers in texts, enum values in any case, and one value as a list", () => {
    const { request } = read({
      contents: { parts: { text: "Hi" } },
      tools: { functionDeclarations: { name: "f" } },
      toolConfig: { functionCallingConfig: { mode: "any" } },
      generationConfig: { maxOutputTokens: "7", stopSequences: "a" },
    });
    expect(request).toMatchObject({ maxTokens: 7, stopSequences: ["a"] });
    expect(request.toolChoice?.mode).toBe(ToolChoice_Mode.REQUIRED);
    expect(request.messages).toHaveLength(1);
  });

  it.each([
    ["AUTO", ToolChoice_Mode.AUTO],
    ["NONE", ToolChoice_Mode.NONE],
    ["ANY", ToolChoice_Mode.REQUIRED],
    ["VALIDATED", undefined],
  ])("reads the mode %s of function calls, which is no setting without functions", (mode, choice) => {
    const contents = [{ parts: [{ text: "Hi" }] }];
    const toolConfig = { functionCallingConfig: { mode } };
    const tools = [{ functionDeclarations: [{ name: "f" }, { name: "g" }] }];
    expect(read({ contents, tools, toolConfig }).request.toolChoice?.mode).toBe(choice);
    if (mode !== "ANY") expect(read({ contents, toolConfig }).request.toolChoice).toBeUndefined();
  });

  it("passes settings, tools and parts of Gemini to Gemini", () => {
    const { request, warnings } = read(
      {
        ...whole,
        contents: [{ parts: [{ fileData: { fileUri: "https://a/b.mp4" }, videoMetadata: { fps: 1 } }] }],
        cached_content: "cachedContents/a",
        toolConfig: { retrievalConfig: { languageCode: "en" } },
      },
      "gemini/m",
    );
    expect(JSON.parse(request.providerOptionsJson.gemini ?? "")).toEqual({
      safetySettings: [{ category: "a", threshold: "b" }],
      cachedContent: "cachedContents/a",
      generationConfig: { topK: 3, thinkingConfig: { thinkingBudget: 3000 }, seed: 1 },
      toolConfig: { retrievalConfig: { languageCode: "en" } },
    });
    expect(request.tools[2]?.tool).toMatchObject({
      case: "hosted",
      value: { provider: "gemini", configJson: '{"googleSearch":{}}' },
    });
    expect(getKinds(request.messages[1]?.content)).toEqual(["native"]);
    expect(warnings).toEqual([]);
  });

  it("takes the type of a file without one from its name", () => {
    const parts = [
      { fileData: { fileUri: "https://a/b.png" } },
      { fileData: { fileUri: "https://a/b.wav" } },
    ];
    const { request } = read({ contents: [{ role: "user", parts }] }, "openai/m");
    expect(getKinds(request.messages[0]?.content)).toEqual(["image", "audio"]);
  });

  it("keeps signatures of Gemini with their parts and the ids of calls", () => {
    const { request } = read(whole, "gemini/m");
    const state = request.messages[2]?.content[2]?.providerState;
    expect(state).toMatchObject({ provider: "gemini", model: "m" });
    expect(JSON.parse(state?.dataJson ?? "")).toEqual({
      part: { functionCall: { id: "t1" }, thoughtSignature: "c2ln" },
    });
  });

  it("warns about settings that the provider does not support", () => {
    const params = (model: string) => read(whole, model).warnings.map(({ param }) => param);
    expect(params("openai/m")).toEqual(["safetySettings", "generationConfig.topK", "generationConfig.seed"]);
    expect(params("anthropic/m")).toEqual(["safetySettings", "generationConfig.seed"]);
    expect(params("local/m")).toEqual(["safetySettings", "generationConfig.topK"]);
    expect(JSON.parse(read(whole, "anthropic/m").request.providerOptionsJson.anthropic ?? "")).toEqual({
      top_k: 3,
      unsupported_tool_choice: "auto",
    });
  });

  it.each([
    [{ thinkingBudget: 0 }, "none"],
    [{ thinkingBudget: -1 }, ""],
    [{ thinkingBudget: 1024 }, "low"],
    [{ thinkingBudget: 30_000 }, "high"],
    [{ thinkingLevel: "HIGH", includeThoughts: true }, "high"],
    [{ includeThoughts: true }, ""],
  ])("reads the effort of %j as %j", (thinkingConfig, effort) => {
    expect(read(withConfig({ thinkingConfig })).request.reasoningEffort).toBe(effort);
  });

  it.each<[string, object]>([
    ["contents", { contents: [] }],
    ["contents", { contents: undefined }],
    ["contents[0].role", { contents: [{ role: "assistant", parts: [] }] }],
    ["contents[0].parts[0].executableCode", { contents: [{ parts: [{ executableCode: {} }] }] }],
    [
      "contents[0].parts[0].inlineData.data",
      { contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: "?" } }] }] },
    ],
    [
      "contents[0].parts[0].thoughtSignature",
      { contents: [{ role: "model", parts: [{ text: "a", thoughtSignature: "b3IxLgAA" }] }] },
    ],
    ["tools[0].functionDeclarations[0].name", { tools: [{ functionDeclarations: [{}] }] }],
    ["toolConfig.functionCallingConfig.mode", { toolConfig: { functionCallingConfig: { mode: "MAYBE" } } }],
    ["generationConfig.candidateCount", withConfig({ candidateCount: 2 })],
    ["generation_config.candidate_count", { generation_config: { candidate_count: 2 } }],
    ["generationConfig.temperature", withConfig({ temperature: 3 })],
    ["generationConfig.maxOutputTokens", withConfig({ maxOutputTokens: 1.5 })],
    ["generationConfig.responseMimeType", withConfig({ responseMimeType: "text/x.enum" })],
    ["generationConfig.stopSequences", withConfig({ stopSequences: Array(65).fill("a") })],
    ["generationConfig.responseModalities", withConfig({ responseModalities: ["TEXT", "AUDIO"] })],
    ["cachedContent", { cachedContent: "cachedContents/a" }],
    ["cached_content", { cached_content: "cachedContents/a" }],
  ])("refuses a mistake with its path: %s", (field, change) => {
    expect(readViolations({ ...base, ...change })).toMatchObject([{ field }]);
  });

  it("counts contents alone, or a whole request", () => {
    const count = (body: object) =>
      readCountRequest(Buffer.from(JSON.stringify(body)), { models, model: "openai/m" }).request.messages
        .length;
    expect([count(base), count({ generateContentRequest: { model: "models/m", ...base } })]).toEqual([1, 1]);
  });

  it.each(["openai/m", "gemini/m"])(
    "reads or refuses any value at any path, and throws nothing else (%s)",
    (model) => expectReadOrRefused(whole, (body) => read(body, model)),
  );
});
