import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentParameters,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
  ThinkingLevel,
  Type,
} from "@google/genai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { useSimulator } from "../support.ts";
import { weatherTool } from "./support.ts";

const simulator = useSimulator();

const originalFetch = globalThis.fetch;
afterEach(() => vi.unstubAllGlobals());

function createClient(apiKey = "test-key"): GoogleGenAI {
  return new GoogleGenAI({
    apiKey,
    vertexai: false,
    httpOptions: { baseUrl: simulator().geminiBaseUrl, retryOptions: { attempts: 1 } },
  });
}

/** Fetches a response whose reads return one event each, however the network splits them. */
async function fetchEventByEvent(...args: Parameters<typeof originalFetch>): Promise<Response> {
  const response = await originalFetch(...args);
  const text = await response.text();
  const events = text.split(/(?<=\n\n|\r\n\r\n)/).map((event) => new TextEncoder().encode(event));
  return new Response(ReadableStream.from(events), response);
}

function request(changes: Partial<GenerateContentParameters> = {}): GenerateContentParameters {
  return { model: "sim-text", contents: "Where is Ελλάδα? 🧭", ...changes };
}

async function collect(parameters: GenerateContentParameters): Promise<GenerateContentResponse[]> {
  const chunks: GenerateContentResponse[] = [];
  for await (const chunk of await createClient().models.generateContentStream(parameters)) chunks.push(chunk);
  return chunks;
}

function textOf(...responses: readonly GenerateContentResponse[]): string {
  const parts = responses.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
  return parts.map(({ text = "", thought }) => (thought === true ? "" : text)).join("");
}

function getParts(...responses: readonly GenerateContentResponse[]): Part[] {
  return responses.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
}

async function caught(run: () => Promise<unknown>): Promise<ApiError> {
  const error: unknown = await run().then(
    () => new Error("nothing was thrown"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

describe("models.generateContent()", () => {
  it("returns a whole answer that quotes the prompt", async () => {
    const response = await createClient().models.generateContent(request());
    expect(response.text).toContain("“Where is Ελλάδα? 🧭”");
    expect(response).toMatchObject({ modelVersion: "sim-text", candidates: [{ finishReason: "STOP" }] });
    expect(response.usageMetadata?.totalTokenCount).toBe(
      (response.usageMetadata?.promptTokenCount ?? 0) + (response.usageMetadata?.candidatesTokenCount ?? 0),
    );
  });

  it("accepts the settings of the SDK", async () => {
    const config = {
      systemInstruction: "Be kind.",
      temperature: 0.5,
      topP: 0.9,
      topK: 20,
      seed: 7,
      maxOutputTokens: 5000,
      stopSequences: ["Fair winds"],
      presencePenalty: 0.1,
      safetySettings: [],
      thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW },
    };
    const response = await createClient().models.generateContent(request({ config }));
    expect(response.text).not.toContain("Fair winds");
  });
});

describe("models.generateContentStream()", () => {
  it.each([
    "sim-text",
    "sim-echo",
    "sim-reasoning",
    "sim-long:tokens=300,rate=1000000",
    "sim-text:half_surrogates=1",
    "sim-text:chunk=random:7",
    "sim-tools:calls=2",
  ])("streams the same content as a whole answer of %s", async (model) => {
    const asked = request({
      model,
      config: {
        thinkingConfig: { includeThoughts: true },
        tools: [{ functionDeclarations: [weatherTool] }],
      },
    });
    const chunks = await collect(asked);
    const whole = await createClient().models.generateContent(asked);
    const getThoughts = (...responses: GenerateContentResponse[]): string =>
      getParts(...responses)
        .map(({ text = "", thought }) => (thought === true ? text : ""))
        .join("");
    const getCalls = (...responses: GenerateContentResponse[]): unknown[] =>
      getParts(...responses).flatMap(({ functionCall }) =>
        functionCall === undefined ? [] : [functionCall.args],
      );
    expect(textOf(...chunks)).toBe(textOf(whole));
    expect(getThoughts(...chunks)).toBe(getThoughts(whole));
    expect(getCalls(...chunks)).toEqual(getCalls(whole));
    const last = chunks.at(-1);
    expect(last?.usageMetadata).toEqual(whole.usageMetadata);
    expect(last?.candidates?.[0]?.finishReason).toBe("STOP");
    expect(chunks.slice(0, -1).every(({ candidates }) => candidates?.[0]?.finishReason === undefined)).toBe(
      true,
    );
  });
});

describe("a round trip of tools", () => {
  const contents: Content[] = [
    { role: "user", parts: [{ text: "What is the weather in Paris and in London?" }] },
  ];
  const config = { tools: [{ functionDeclarations: [weatherTool] }] };

  /** The content of an answer without empty texts, and the responses to its calls. */
  function goOn(
    answer: readonly GenerateContentResponse[],
    parts = getParts(...answer).filter(({ text, thoughtSignature }) => text !== "" || thoughtSignature),
  ): Content[] {
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
    const responses = calls.map(({ id, name }, index) => ({
      functionResponse: {
        ...(id === undefined ? {} : { id }),
        name,
        response: { output: `${index + 20} °C 🌤` },
      },
    }));
    return [...contents, { role: "model", parts }, { role: "user", parts: responses as Part[] }];
  }

  it.each(["sim-tools:calls=2", "sim-tools:calls=2,no_ids=1", "sim-reasoning:calls=2"])(
    "of %s answers with the results of the tools",
    async (model) => {
      const asked = { model, contents, config };
      const first = await createClient().models.generateContent(asked);
      expect(first.functionCalls?.map(({ args }) => args)).toMatchObject([
        { city: "Paris" },
        { city: "London" },
      ]);
      for (const answer of [[first], await collect(asked)]) {
        const second = await createClient().models.generateContent({ ...asked, contents: goOn(answer) });
        expect(second.text).toContain("`get_weather` said “20 °C 🌤”");
        expect(second.text).toContain("`get_weather` said “21 °C 🌤”");
      }
    },
  );

  it("refuses signatures that are missing or altered", async () => {
    const asked = { model: "sim-reasoning:calls=2", contents, config };
    const first = await createClient().models.generateContent(asked);
    const [call, ...rest] = getParts(first);
    const send = (part: Part): Promise<unknown> =>
      createClient().models.generateContent({ ...asked, contents: goOn([first], [part, ...rest]) });
    const { thoughtSignature = "", ...bare } = call ?? {};
    expect((await caught(() => send(bare))).message).toContain("missing a thought_signature");
    for (const place of [0, Math.floor(thoughtSignature.length / 2), thoughtSignature.length - 3]) {
      const other = thoughtSignature[place] === "A" ? "B" : "A";
      const altered = thoughtSignature.slice(0, place) + other + thoughtSignature.slice(place + 1);
      const error = await caught(() => send({ ...bare, thoughtSignature: altered }));
      expect(error.message).toContain("Corrupted thought signature.");
    }
    await send({ ...bare, thoughtSignature: "skip_thought_signature_validator" });
  });

  it("runs in the SDK's automatic function calling", async () => {
    const seen: unknown[] = [];
    const tool = {
      tool: () => Promise.resolve({ functionDeclarations: [weatherTool] }),
      callTool: (
        calls: readonly { readonly id?: string; readonly name?: string; readonly args?: unknown }[],
      ) => {
        seen.push(...calls.map(({ args }) => args));
        const parts = calls.map(({ id, name }) => ({
          functionResponse: {
            ...(id === undefined ? {} : { id }),
            ...(name === undefined ? {} : { name }),
            response: { output: "rain" },
          },
        }));
        return Promise.resolve(parts);
      },
    };
    const response = await createClient().models.generateContent({
      model: "sim-reasoning:rounds=2",
      contents,
      config: { tools: [tool], automaticFunctionCalling: {} },
    });
    expect(seen).toMatchObject([{ city: "Paris" }, { city: "Paris" }]);
    expect(response.text).toContain("rain");
  });

  it("can be forced to one of the tools", async () => {
    const other = { name: "get_time" };
    const response = await createClient().models.generateContent({
      model: "sim-text",
      contents,
      config: {
        tools: [{ functionDeclarations: [weatherTool, other] }],
        toolConfig: {
          functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ["get_time"] },
        },
      },
    });
    expect(response.functionCalls?.map(({ name, args }) => [name, args])).toEqual([["get_time", {}]]);
  });
});

describe("a chat", () => {
  it("sends thoughts back with their signatures, whole and streamed", async () => {
    const chat = createClient().chats.create({
      model: "sim-reasoning",
      config: { thinkingConfig: { includeThoughts: true } },
    });
    expect((await chat.sendMessage({ message: "One?" })).text).toContain("One?");
    const chunks: GenerateContentResponse[] = [];
    for await (const chunk of await chat.sendMessageStream({ message: "Two?" })) chunks.push(chunk);
    expect(textOf(...chunks)).toContain("Two?");
    expect((await chat.sendMessage({ message: "Three?" })).text).toContain("Three?");
    const signed = chat
      .getHistory()
      .flatMap(({ parts = [] }) => parts.filter(({ thoughtSignature }) => thoughtSignature));
    expect(signed).toHaveLength(3);
  });
});

describe("structured output", () => {
  const contents = "Plan a trip to Oslo.";
  const properties = { city: { type: "string" }, days: { type: "integer", minimum: 2, maximum: 5 } };

  it("fits a JSON Schema", async () => {
    const responseJsonSchema = { type: "object", properties, required: ["city", "days"] };
    const config = { responseMimeType: "application/json", responseJsonSchema };
    const { text = "" } = await createClient().models.generateContent(request({ contents, config }));
    expect(JSON.parse(text)).toEqual({ city: "Oslo", days: expect.any(Number) as number });
  });

  it("fits a schema of the SDK", async () => {
    const responseSchema = {
      type: Type.OBJECT,
      properties: {
        city: { type: Type.STRING, nullable: true },
        stops: { type: Type.ARRAY, items: { type: Type.INTEGER }, minItems: "3" },
      },
      required: ["city", "stops"],
    };
    const config = { responseMimeType: "application/json", responseSchema };
    const { text = "" } = await createClient().models.generateContent(request({ contents, config }));
    expect(JSON.parse(text)).toEqual({
      city: "Oslo",
      stops: Array.from({ length: 3 }, () => expect.any(Number) as number),
    });
  });
});

describe("grounding", () => {
  it("names the sources of a search", async () => {
    const config = { tools: [{ googleSearch: {} }] };
    const { candidates } = await createClient().models.generateContent(
      request({ contents: "News?", config }),
    );
    const { groundingChunks, groundingSupports, webSearchQueries } = candidates?.[0]?.groundingMetadata ?? {};
    expect(groundingChunks).toHaveLength(2);
    expect(groundingSupports).toHaveLength(2);
    expect(webSearchQueries).toEqual(["News?"]);
  });
});

describe("errors", () => {
  const ask = (model: string, client = createClient()): Promise<unknown> =>
    client.models.generateContent(request({ model }));

  it.each([
    ["of a wrong key", () => ask("sim-text", createClient("invalid")), 400, "API_KEY_INVALID"],
    [
      "of an unknown model",
      () => ask("gemini-nonexistent"),
      404,
      "models/gemini-nonexistent is not found for API version v1,",
    ],
    [
      "of a rate limit",
      () => ask("sim-text:status=429,retry_after=34.4"),
      429,
      '\\"retryDelay\\":\\"34.4s\\"',
    ],
    ["of the server", () => ask("sim-text:status=503"), 503, "The model is overloaded."],
    [
      "of the request",
      () => createClient().models.generateContent(request({ config: { temperature: 3 } })),
      400,
      "temperature must be in the range [0.0, 2.0]",
    ],
  ])("%s are an ApiError with its status", async (_, run, status, words) => {
    const error = await caught(run);
    expect(error.status).toBe(status);
    expect(JSON.stringify(error.message)).toContain(words.replaceAll("\\", "\\"));
  });

  it("in a stream are thrown while it is read, in every error style", async () => {
    // The SDK finds an error outside of events only at the beginning of a read.
    vi.stubGlobal("fetch", fetchEventByEvent);
    for (const style of ["event", "failed"]) {
      const model = `sim-text:error_after=4,error_style=${style},error_code=RESOURCE_EXHAUSTED`;
      const error: unknown = await collect(request({ model })).catch((reason: unknown) => reason);
      expect(String(error)).toContain("RESOURCE_EXHAUSTED");
    }
  });

  it("of the socket end the call", async () => {
    await expect(ask("sim-text:drop=1")).rejects.toThrow("fetch failed");
  });
});

describe("cancellation", () => {
  const isAsked =
    (model: string) =>
    ({ path }: { path: string }): boolean =>
      decodeURIComponent(path).includes(`/${model}:`);

  it("is noticed by the simulator long before the answer is complete", async () => {
    const model = "sim-long:tokens=10000,rate=50";
    const leave = new AbortController();
    const reading = (async () => {
      const asked = request({ model, config: { abortSignal: leave.signal } });
      for await (const _ of await createClient().models.generateContentStream(asked)) leave.abort();
    })();
    await expect(reading).rejects.toThrow(/abort/i);
    const seen = await simulator().waitForClose({ where: isAsked(model) });
    expect(seen.aborted).toBe(true);
  });

  it("is possible before the response headers", async () => {
    const model = "sim-text:delay_ms=60000";
    const leave = new AbortController();
    const answer = createClient().models.generateContent(
      request({ model, config: { abortSignal: leave.signal } }),
    );
    await simulator().waitForRequest({ where: isAsked(model) });
    leave.abort();
    await expect(answer).rejects.toThrow(/abort/i);
    const seen = await simulator().waitForClose({ where: isAsked(model) });
    expect(seen).toMatchObject({ aborted: true, status: undefined });
  });
});
