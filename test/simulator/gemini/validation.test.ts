import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import {
  type AnsweredObject,
  ask,
  headers,
  hello,
  model,
  post,
  refusal,
  streaming,
  textOf,
  toPath,
  user,
  weatherTool,
} from "./support.ts";

const simulator = useSimulator();

const call = { functionCall: { name: "get_weather", args: { city: "Oslo" }, id: "call_1" } };
const response = { functionResponse: { name: "get_weather", id: "call_1", response: { output: "rain" } } };
const config = (generationConfig: object): object => ({ generationConfig });
const declaring = (...functionDeclarations: object[]): object => ({ tools: [{ functionDeclarations }] });
const calling = (functionCallingConfig: object): object => ({
  ...declaring(weatherTool),
  toolConfig: { functionCallingConfig },
});

describe("API keys", () => {
  it.each<[string, Record<string, string>, string]>([
    ["a header", headers, ""],
    ["a bearer", { authorization: "Bearer test-key" }, ""],
    ["the query", {}, "?key=test-key"],
  ])("are accepted in %s", async (_, sent, query) => {
    const sending = { headers: sent, call: `generateContent${query}` };
    expect((await post(simulator(), hello, sending)).status).toBe(200);
  });

  it("are required: without one the status is 403", async () => {
    expect(await refusal(simulator(), hello, { headers: {} })).toMatchObject({
      code: 403,
      status: "PERMISSION_DENIED",
      message: expect.stringContaining("Method doesn't allow unregistered callers") as string,
    });
  });

  it.each([
    { headers: { "x-goog-api-key": "invalid" } },
    { headers: {}, call: "generateContent?key=invalid" },
  ])("that are refused get 400 API_KEY_INVALID (%j)", async (sending) => {
    expect(await refusal(simulator(), hello, sending)).toMatchObject({
      code: 400,
      status: "INVALID_ARGUMENT",
      details: [{ reason: "API_KEY_INVALID" }, {}],
    });
  });
});

describe("paths", () => {
  it.each(["v1", "v1beta", "v1alpha"])("can have the version %s", async (version) => {
    const path = toPath({}).replace("v1beta", version);
    const answer = await fetch(`${simulator().geminiBaseUrl}${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(hello),
    });
    expect(answer.status).toBe(200);
  });

  it("can name the model without encoding", async () => {
    const answer = await fetch(
      `${simulator().geminiBaseUrl}/v1beta/models/sim-echo:rate=1000000:generateContent`,
      {
        method: "POST",
        headers,
        body: JSON.stringify(hello),
      },
    );
    expect(await answer.json()).toMatchObject({ modelVersion: "sim-echo:rate=1000000" });
  });

  it("that name an unknown model get 404", async () => {
    expect(await refusal(simulator(), hello, { model: "gemini-9" })).toMatchObject({
      code: 404,
      status: "NOT_FOUND",
      message: expect.stringMatching(/^models\/gemini-9 is not found for API version v1beta/) as string,
    });
  });

  it("belong to no API if they are misspelt or name another method", async () => {
    for (const path of ["/v1beta/models/%E0%A4%A:generateContent", "/v1beta/models/sim-text:predict"]) {
      const answer = await fetch(`${simulator().geminiBaseUrl}${path}`, {
        method: "POST",
        headers,
        body: "{}",
      });
      expect(answer.status).toBe(404);
      expect(await answer.text()).toContain("It answers POST /v1/responses");
    }
  });

  it("accept only POST", async () => {
    const answer = await fetch(`${simulator().geminiBaseUrl}${toPath({})}`, { headers });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { status: "NOT_FOUND" } });
  });
});

describe("bodies", () => {
  it.each(["", "{", "[]", "null", '"text"'])("that are %j get 400", async (body) => {
    expect(await refusal(simulator(), body)).toMatchObject({ code: 400, status: "INVALID_ARGUMENT" });
  });

  it("get all their violations in one error", async () => {
    const body = {
      contents: [{ parts: [{ text: 5 }], speaker: "x" }],
      generation_config: { maxOutputTokens: "many", topP: [1] },
      stream: true,
    };
    const found = [
      ["contents[0].parts[0].text", "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5"],
      [
        "contents[0]",
        "Invalid JSON payload received. Unknown name \"speaker\" at 'contents[0]': Cannot find field.",
      ],
      [
        "generation_config.max_output_tokens",
        "Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32), \"many\"",
      ],
      [
        "generation_config.top_p",
        "Invalid JSON payload received. Unknown name \"top_p\" at 'generation_config': Proto field is not repeating, cannot start list.",
      ],
      [undefined, 'Invalid JSON payload received. Unknown name "stream": Cannot find field.'],
    ] as const;
    expect(await refusal(simulator(), body)).toEqual({
      code: 400,
      status: "INVALID_ARGUMENT",
      message: found.map(([, description]) => description).join("\n"),
      details: [
        {
          "@type": "type.googleapis.com/google.rpc.BadRequest",
          fieldViolations: found.map(([field, description]) =>
            field === undefined ? { description } : { field, description },
          ),
        },
      ],
    });
  });

  it.each<[string, object, string]>([
    ["no contents", { contents: undefined }, "* GenerateContentRequest.contents: contents is not specified"],
    [
      "a text for a content",
      { contents: ["Hi"] },
      "Invalid value at 'contents[0]' (type.googleapis.com/google.ai.generativelanguage.v1beta.Content), \"Hi\"",
    ],
    [
      "a role of others",
      { contents: [{ role: "assistant", parts: [{ text: "x" }] }] },
      "Please use a valid role: user, model.",
    ],
    [
      "no parts",
      { contents: [{ role: "user" }] },
      "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.",
    ],
    [
      "an empty part",
      { contents: [user({})] },
      "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field",
    ],
    [
      "an empty text",
      { contents: [user("x", "")] },
      "contents[0].parts[1].data: required oneof field 'data' must have one initialized field",
    ],
    [
      "two kinds of data in a part",
      { contents: [user({ text: "x", inlineData: { mimeType: "image/png", data: "AAAA" } })] },
      "(oneof), oneof field 'data' is already set. Cannot set 'inlineData'",
    ],
    [
      "data that is no base64",
      { contents: [user({ inlineData: { mimeType: "image/png", data: "%%" } })] },
      "Invalid value at 'contents[0].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"%%\"",
    ],
    [
      "arguments as text",
      { contents: [user("x"), model({ functionCall: { name: "f", args: "{}" } })] },
      "'contents[1].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct), \"{}\"",
    ],
    [
      "a call without a name",
      { contents: [user("x"), model({ functionCall: { args: {} } }), user(response)] },
      "contents[1].parts[0].function_call.name: Name cannot be empty.",
    ],
    [
      "a response without a name",
      { contents: [user("x"), model(call), user({ functionResponse: { response: {} } })] },
      "contents[2].parts[0].function_response.name: Name cannot be empty.",
    ],
    [
      "a call at the beginning",
      { contents: [model(call), user(response)] },
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ],
    [
      "a response without its call",
      { contents: [user(response)] },
      "Please ensure that function response turn comes immediately after a function call turn.",
    ],
    [
      "a call without its response",
      { contents: [user("x"), model(call), user("y")] },
      "Please ensure that the number of function response parts is equal to the number of function call parts",
    ],
    [
      "responses in two contents",
      { contents: [user("x"), model(call, call), user(response), user(response)] },
      "Please ensure that the number of function response parts is equal",
    ],
    [
      "a response to another call",
      {
        contents: [
          user("x"),
          model(call),
          user({ functionResponse: { ...response.functionResponse, id: "call_2" } }),
        ],
      },
      "the function response for get_weather with id call_2 matches no function call",
    ],
    [
      "a response of another function",
      { contents: [user("x"), model(call), user({ functionResponse: { name: "f", response: {} } })] },
      "the function response for f matches no function call",
    ],
    [
      "the model alone",
      { contents: [model({ text: "x" })] },
      "Please ensure that single turn requests end with a user role or the role field is empty.",
    ],
    [
      "the model last",
      { contents: [user("x"), model({ text: "y" })] },
      "Please ensure that multiturn requests end with a user role or a function response.",
    ],
    [
      "a high temperature",
      config({ temperature: 2.5 }),
      "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].",
    ],
    [
      "a negative top_p",
      config({ topP: -1 }),
      "generation_config.top_p: top_p must be in the range [0.0, 1.0].",
    ],
    ["no top_k", config({ topK: 0 }), "generation_config.top_k: top_k must be positive."],
    [
      "no room",
      config({ maxOutputTokens: 0 }),
      "generation_config.max_output_tokens: max_output_tokens must be positive.",
    ],
    ["half a token", config({ maxOutputTokens: 1.5 }), "(TYPE_INT32), 1.5"],
    ["two candidates", config({ candidateCount: 2 }), "Multiple candidates is not enabled for this model"],
    [
      "six stop sequences",
      config({ stopSequences: [..."abcdef"] }),
      "generation_config.stop_sequences: the number of stop_sequences must not exceed 5.",
    ],
    [
      "an unknown format",
      config({ responseMimeType: "text/html" }),
      "allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` and `text/x.enum`.",
    ],
    [
      "a schema without its format",
      config({ responseJsonSchema: {} }),
      "response_schema: only allowed for mimetypes `application/json` and `text/x.enum`.",
    ],
    [
      "two schemas",
      config({ responseMimeType: "application/json", responseJsonSchema: {}, responseSchema: {} }),
      "response_schema and response_json_schema cannot both be set.",
    ],
    [
      "a keyword of others",
      config({
        responseMimeType: "application/json",
        responseSchema: { type: "object", properties: { a: { type: "string", const: "x" } } },
      }),
      "Unknown name \"const\" at 'generation_config.response_schema.properties[0].value': Cannot find field.",
    ],
    [
      "a budget and a level",
      config({ thinkingConfig: { thinkingBudget: 100, thinkingLevel: "low" } }),
      "You can only set only one of thinking budget and thinking level.",
    ],
    [
      "an unknown level",
      config({ thinkingConfig: { thinkingLevel: "max" } }),
      '(type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), "max"',
    ],
    ["a flag as a word", config({ thinkingConfig: { includeThoughts: "yes" } }), '(TYPE_BOOL), "yes"'],
    [
      "an invalid function name",
      declaring({ name: "get weather" }),
      "tools[0].function_declarations[0].name: [FIELD_INVALID] Invalid function name.",
    ],
    [
      "two schemas of a function",
      declaring({ ...weatherTool, parameters: { type: "OBJECT" } }),
      "parameters and parameters_json_schema cannot both be set.",
    ],
    [
      "a duplicate function",
      declaring(weatherTool, weatherTool),
      "Duplicate function declaration found: get_weather",
    ],
    [
      "too many functions",
      declaring(...Array.from({ length: 513 }, (_, index) => ({ name: `f${index}` }))),
      "at most 512 function declarations",
    ],
    [
      "a function of Chat Completions",
      { tools: [{ type: "function", function: weatherTool }] },
      "Unknown name \"type\" at 'tools[0]': Cannot find field.",
    ],
    [
      "tools of both sides",
      { tools: [{ functionDeclarations: [weatherTool] }, { googleSearch: {} }] },
      "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.",
    ],
    [
      "names that only ANY takes",
      calling({ mode: "AUTO", allowedFunctionNames: ["get_weather"] }),
      "allowed_function_names should only be set when the mode is ANY or VALIDATED.",
    ],
    [
      "a name that is not declared",
      calling({ mode: "ANY", allowedFunctionNames: ["other"] }),
      "other is not one of the function_declarations.",
    ],
    [
      "ANY without functions",
      { toolConfig: { functionCallingConfig: { mode: "ANY" } } },
      "Function calling config is set without function_declarations.",
    ],
    [
      "an unknown mode",
      calling({ mode: "REQUIRED" }),
      '(type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), "REQUIRED"',
    ],
    [
      "a token to continue with",
      { continuationToken: "AAAA" },
      "The simulator does not know how to honour 'continuation_token'.",
    ],
  ])("with %s get 400", async (_, changes, message) => {
    expect(await refusal(simulator(), { ...hello, ...changes })).toMatchObject({
      code: 400,
      status: "INVALID_ARGUMENT",
      message: expect.stringContaining(message) as string,
    });
  });

  it("that name cached content get 403", async () => {
    expect(await refusal(simulator(), { ...hello, cachedContent: "cachedContents/x" })).toMatchObject({
      code: 403,
      status: "PERMISSION_DENIED",
    });
  });

  it("with an unknown option in the model string get 400", async () => {
    const { message } = await refusal(simulator(), hello, { model: "sim-text:speed=3" });
    expect(message).toContain("Unknown option 'speed' in the model string.");
  });

  it.each<[string, object]>([
    [
      "names of protobuf",
      {
        generation_config: { max_output_tokens: 1000, stop_sequences: ["§"] },
        system_instruction: { parts: [{ text: "x" }] },
      },
    ],
    ["numbers as strings", config({ maxOutputTokens: "1000", temperature: "0.5" })],
    [
      "nulls",
      {
        systemInstruction: null,
        tools: null,
        safetySettings: null,
        toolConfig: null,
        generationConfig: { topK: null },
      },
    ],
    ["single values for lists", { contents: { role: "user", parts: { text: "Hello" } } }],
    [
      "words in small letters",
      { ...calling({ mode: "any" }), generationConfig: { thinkingConfig: { thinkingLevel: "low" } } },
    ],
    ["parts that are marked as no thoughts", { contents: [user({ text: "x", thought: false })] }],
    [
      "every kind of part",
      {
        contents: [
          user(
            "Look",
            { inlineData: { mimeType: "image/png", data: "iVBO-_==" } },
            { fileData: { mimeType: "application/pdf", fileUri: "gs://a/b.pdf" } },
          ),
          model(
            { text: "I see." },
            { executableCode: { language: "PYTHON", code: "1" } },
            { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
            { ...call, thoughtSignature: "skip_thought_signature_validator" },
          ),
          user(
            {
              functionResponse: {
                ...response.functionResponse,
                parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }],
              },
            },
            "And?",
          ),
        ],
      },
    ],
    [
      "tools of both sides where it says so",
      {
        tools: [{ functionDeclarations: [weatherTool], googleSearch: {} }],
        toolConfig: { includeServerSideToolInvocations: true },
      },
    ],
  ])("with %s are accepted", async (_, changes) => {
    expect(await ask(simulator(), "sim-text", changes)).toMatchObject({
      candidates: [{ finishReason: "STOP" }],
    });
  });

  it("can have a system instruction with any role", async () => {
    const changes = { systemInstruction: { role: "model", parts: [{ text: "Be kind." }] } };
    const plain = await ask(simulator(), "sim-text");
    const { usageMetadata } = await ask(simulator(), "sim-text", changes);
    expect(usageMetadata.promptTokenCount).toBeGreaterThan(plain.usageMetadata.promptTokenCount);
  });
});

describe("a stream without alt=sse", () => {
  it("is one JSON list", async () => {
    const answer = await post(simulator(), hello, { call: "streamGenerateContent" });
    expect(answer.headers.get("content-type")).toBe("application/json; charset=UTF-8");
    const objects = (await answer.json()) as AnsweredObject[];
    expect(objects.length).toBeGreaterThan(5);
    expect(textOf(...objects)).toBe(textOf(await ask(simulator(), "sim-text")));
  });

  it("has its errors in a list too", async () => {
    const getError = async (call: string): Promise<unknown> =>
      (await post(simulator(), hello, { call, model: "sim-text:status=503" })).json();
    expect(await getError("streamGenerateContent")).toMatchObject([
      { error: { code: 503, status: "UNAVAILABLE" } },
    ]);
    expect(await getError(streaming)).toMatchObject({ error: { code: 503, status: "UNAVAILABLE" } });
  });

  it("has a failure after its first objects in the list", async () => {
    const sending = { call: "streamGenerateContent", model: "sim-text:error_after=2" };
    const objects = (await (await post(simulator(), hello, sending)).json()) as unknown[];
    expect(objects).toHaveLength(3);
    expect(objects[2]).toMatchObject({ error: { code: 500, status: "INTERNAL" } });
  });
});
