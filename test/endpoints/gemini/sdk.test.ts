/** Google's official SDK against the Gemini API over real sockets, with a simulator of each provider behind it. */
import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
  type Tool,
  Type,
} from "@google/genai";
import { describe, expect, it } from "vitest";
import { AccessControl } from "../../../src/server/access/access-control.ts";
import { type Column, columns } from "../../providers/support/columns.ts";
import type { Fact } from "../../providers/support/facts.ts";
import { accessKey } from "../../server/support/access-keys.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";

const servers = useTestServers();

const tools: Tool[] = [
  {
    functionDeclarations: [
      {
        name: "get_weather",
        description: "The weather in a city",
        parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
      },
    ],
  },
];

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A server with the API, and Google's SDK as its client. */
async function start(
  options: Parameters<typeof startApi>[1] = {},
): Promise<ApiServer & { readonly models: GoogleGenAI["models"] }> {
  const api = await startApi(servers, options);
  const { models } = new GoogleGenAI({ apiKey: "any", httpOptions: { baseUrl: api.server.url } });
  return { ...api, models };
}

/** The facts of the latest request that the provider got, read by code that shares nothing with the adapters. */
function getFacts({ simulator }: ApiServer, { read }: Column): readonly Fact[] {
  return read(simulator.requests.at(-1)?.body as never).facts;
}

const post = (body: string): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body,
});

const user = (text: string): Content => ({ role: "user", parts: [{ text }] });

/** Joins the chunks of a stream as clients do: each content of the model is returned as it came. */
async function collect(stream: AsyncIterable<GenerateContentResponse>) {
  const chunks: GenerateContentResponse[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const contents = chunks.flatMap(({ candidates }) => candidates?.[0]?.content ?? []);
  const parts = contents.flatMap(({ parts: each = [] }) => each);
  return { contents, parts, last: chunks.at(-1) };
}

/** The parts with the texts of each kind joined, without ids and signatures. */
function comparable(parts: readonly Part[]): object {
  const join = (thought: boolean) =>
    parts.map((part) => (thought === (part.thought ?? false) ? (part.text ?? "") : "")).join("");
  const calls = parts.flatMap(({ functionCall }) =>
    functionCall === undefined ? [] : [[functionCall.name, functionCall.args]],
  );
  return { text: join(false), thoughts: join(true), calls };
}

describe.each(columns)("With $title behind it, the Gemini API", (column) => {
  const model = (sim: string) => `${column.name}/${sim}`;

  it("answers a text with its usage", async () => {
    const { models } = await start();
    const answer = await models.generateContent({
      model: model("sim-echo"),
      contents: "Grüße 👋",
      config: { systemInstruction: "Repeat.", maxOutputTokens: 500 },
    });
    expect(answer.text).toBe("Grüße 👋");
    expect(answer.modelVersion).toBe("sim-echo");
    // A provider that speaks this API chooses the id itself.
    expect(answer.responseId).toMatch(column.name === "gemini" ? /^req_/ : /^inf_/);
    expect(answer.candidates?.[0]).toMatchObject({
      finishReason: "STOP",
      index: 0,
      content: { role: "model" },
    });
    const { promptTokenCount = 0, candidatesTokenCount = 0, totalTokenCount } = answer.usageMetadata ?? {};
    expect(candidatesTokenCount).toBeGreaterThan(0);
    expect(promptTokenCount).toBeGreaterThan(0);
    expect(totalTokenCount).toBeGreaterThanOrEqual(promptTokenCount + candidatesTokenCount);
  });

  it("takes a model whose provider is encoded in the path, and warns about settings without effect", async () => {
    const api = await start();
    const path = `/v1beta/models/${encodeURIComponent(model("sim-echo"))}:generateContent`;
    const body = JSON.stringify({
      contents: [{ parts: [{ text: "Hi" }] }],
      safety_settings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
      generation_config: { max_output_tokens: "500", candidate_count: 1 },
    });
    const response = await api.fetch(path, post(body));
    expect(response.status).toBe(200);
    const warnings = JSON.parse(response.headers.get("outrigger-warnings") ?? "[]");
    const isGemini = column.name === "gemini";
    expect(warnings.map(({ param }: { param: string }) => param)).toEqual(
      isGemini ? [] : ["safety_settings"],
    );
    expect(JSON.stringify(api.simulator.requests.at(-1)?.body)).toContain("500");
  });

  it("streams what a whole answer holds, as events and as a list", async () => {
    const api = await start();
    const request = {
      model: model("sim-tools:preamble=1"),
      contents: "Weather in Paris?",
      config: { tools, maxOutputTokens: 500 },
    };
    const whole = await api.models.generateContent(request);
    const streamed = await collect(await api.models.generateContentStream(request));
    const wanted = comparable(whole.candidates?.[0]?.content?.parts ?? []);
    expect(comparable(streamed.parts)).toEqual(wanted);
    expect(streamed.last?.candidates?.[0]?.finishReason).toBe("STOP");
    expect(streamed.last?.usageMetadata?.totalTokenCount).toBe(whole.usageMetadata?.totalTokenCount);
    const body = JSON.stringify({
      contents: [user("Weather in Paris?")],
      tools,
      generationConfig: { maxOutputTokens: 500 },
    });
    const path = `/v1beta/models/${request.model}:streamGenerateContent`;
    const list = await api.fetch(path, post(body));
    expect(list.headers.get("content-type")).toBe("application/json");
    const elements: GenerateContentResponse[] = JSON.parse(await list.text());
    const parts = elements.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
    expect(comparable(parts)).toEqual(wanted);
  });

  it.each([false, true])(
    "sends back what the provider needs of its answers in two turns of a tool loop (streamed: %s)",
    async (isStreamed) => {
      const api = await start();
      const contents = [user("Weather in Paris?")];
      const generate = async (): Promise<Part[]> => {
        const config = { tools, maxOutputTokens: 20_000, thinkingConfig: { thinkingBudget: 4000 } };
        const request = { model: model("sim-reasoning:rounds=2"), contents, config };
        if (isStreamed) {
          const streamed = await collect(await api.models.generateContentStream(request));
          contents.push(...streamed.contents);
          return streamed.parts;
        }
        const { candidates } = await api.models.generateContent(request);
        const content = candidates?.[0]?.content ?? {};
        contents.push(content);
        return content.parts ?? [];
      };
      for (let round = 0; round < 2; round += 1) {
        const call = (await generate()).find(({ functionCall }) => functionCall !== undefined)?.functionCall;
        if (call === undefined) throw new Error("expected a call");
        const response = { output: "18 degrees" };
        const functionResponse = { name: call.name ?? "", id: call.id ?? "", response };
        contents.push({ role: "user", parts: [{ functionResponse }] });
      }
      expect(comparable(await generate())).toMatchObject({ text: expect.stringContaining("18 degrees") });
      const facts = getFacts(api, column);
      const ofKind = (kind: string) => facts.filter((fact) => fact.kind === kind);
      expect(ofKind("call")).toHaveLength(2);
      // Of each answer.
      expect(ofKind("state").length).toBeGreaterThanOrEqual(2);
    },
  );

  it("takes the signature of a thought on the part after it, to which some clients move it", async () => {
    const api = await start();
    const contents = [user("Weather in Paris?")];
    const generate = async (): Promise<Part[]> => {
      const config = { tools, maxOutputTokens: 20_000, thinkingConfig: { includeThoughts: true } };
      const request = { model: model("sim-reasoning"), contents, config };
      const { candidates } = await api.models.generateContent(request);
      const parts = candidates?.[0]?.content?.parts ?? [];
      const thoughts = parts.filter(({ thought }) => thought === true);
      const signature = thoughts.find((part) => part.thoughtSignature !== undefined)?.thoughtSignature;
      const [first, ...rest] = parts.filter(({ thought }) => thought !== true);
      const moved = { ...first, ...(signature === undefined ? {} : { thoughtSignature: signature }) };
      contents.push({ role: "model", parts: [moved, ...rest] });
      return [moved, ...rest];
    };
    const [call] = await generate();
    const { name = "", id = "" } = call?.functionCall ?? {};
    const functionResponse = { name, id, response: { output: "18 degrees" } };
    contents.push({ role: "user", parts: [{ functionResponse }] });
    expect((await generate())[0]?.text).toContain("18 degrees");
    contents.push(user("And in Oslo?"));
    await generate();
    const facts = getFacts(api, column);
    expect(facts.filter(({ kind }) => kind === "state").length).toBeGreaterThanOrEqual(2);
    expect(facts).toContainEqual(expect.objectContaining({ kind: "call", name: "get_weather" }));
  });

  it.each([false, true])(
    "has the state of thoughts that were not asked for in the signature of the call (streamed: %s)",
    async (isStreamed) => {
      const { models } = await start();
      const config = { tools, maxOutputTokens: 20_000 };
      const request = { model: model("sim-reasoning"), contents: "Weather in Paris?", config };
      const parts = isStreamed
        ? (await collect(await models.generateContentStream(request))).parts
        : ((await models.generateContent(request)).candidates?.[0]?.content?.parts ?? []);
      const written = parts.filter((part) => part.text !== "" || part.thoughtSignature !== undefined);
      expect(written).toEqual([
        { functionCall: expect.anything(), thoughtSignature: expect.stringMatching(/./) },
      ]);
    },
  );

  it("has no part without text, for which Google's client for Go would forget the answer", async () => {
    const { models } = await start();
    const config = { tools, maxOutputTokens: 20_000, thinkingConfig: { includeThoughts: true } };
    const request = { model: model("sim-reasoning"), contents: "Weather in Paris?", config };
    const { candidates } = await models.generateContent(request);
    const parts = candidates?.[0]?.content?.parts ?? [];
    expect(parts.filter(({ text }) => text === "")).toEqual([]);
    expect(parts.some(({ thoughtSignature }) => thoughtSignature !== undefined)).toBe(true);
  });

  it("passes on images, results with images, and errors of functions, with and without ids", async () => {
    const api = await start();
    const image: Part = { inlineData: { mimeType: "image/png", data: PIXEL } };
    const contents: Content[] = [
      { role: "user", parts: [{ text: "Which colour?" }, image] },
      { role: "model", parts: [{ functionCall: { name: "get_weather", args: { city: "Oslo" } } }] },
      {
        role: "user",
        parts: [
          {
            functionResponse: {
              name: "get_weather",
              response: { error: "It rains." },
              parts: [{ inlineData: { mimeType: "image/png", data: PIXEL } }],
            },
          },
          { text: "And now?" },
        ],
      },
    ];
    await api.models.generateContent({
      model: model("sim-text"),
      contents,
      config: { tools, maxOutputTokens: 300 },
    });
    const facts = JSON.stringify(getFacts(api, column));
    for (const text of ["Which colour?", "And now?", "It rains."]) expect(facts).toContain(text);
    expect(JSON.stringify(api.simulator.requests.at(-1)?.body).split(PIXEL)).toHaveLength(3);
  });

  it("returns JSON that matches the caller's schema, in either dialect", async () => {
    const { models } = await start();
    const ask = (config: object) =>
      models.generateContent({
        model: model("sim-text"),
        contents: "Describe Oslo.",
        config: { responseMimeType: "application/json", maxOutputTokens: 300, ...config },
      });
    const google = { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] };
    const json = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    for (const config of [{ responseSchema: google }, { responseJsonSchema: json }]) {
      const { text = "" } = await ask(config);
      expect(JSON.parse(text)).toEqual({ city: expect.any(String) });
    }
  });

  it("returns a list if the schema is one, although not every provider lets its models write lists", async () => {
    const api = await start();
    const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const request = {
      model: model("sim-text"),
      contents: "Describe Oslo.",
      config: {
        responseMimeType: "application/json",
        responseJsonSchema: { type: "array", items: city, minItems: 1 },
        maxOutputTokens: 300,
      },
    };
    const { text = "" } = await api.models.generateContent(request);
    expect(JSON.parse(text)).toEqual(expect.arrayContaining([{ city: expect.any(String) }]));
    const { parts } = await collect(await api.models.generateContentStream(request));
    expect(parts.map((part) => part.text ?? "").join("")).toBe(text);
  });

  it("forces a function that the caller names", async () => {
    const api = await start();
    const functionCallingConfig = {
      mode: FunctionCallingConfigMode.ANY,
      allowedFunctionNames: ["get_weather"],
    };
    const { functionCalls } = await api.models.generateContent({
      model: model("sim-tools"),
      contents: "Hello",
      config: { tools, toolConfig: { functionCallingConfig }, maxOutputTokens: 300 },
    });
    expect(functionCalls?.[0]).toMatchObject({ name: "get_weather", id: expect.any(String) });
  });

  it("throws the SDK's typed errors, with the time to wait", async () => {
    const { models } = await start();
    const call = (sim: string) => models.generateContent({ model: model(sim), contents: "Hello" });
    for (const status of [429, 500, 404]) {
      const error = await call(`sim-text:status=${status},retry_after=2`).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(ApiError);
      expect(error.status).toBe(status === 500 && column.name !== "gemini" ? 502 : status);
    }
    const limited = await call("sim-text:status=429,retry_after=2").catch((thrown) => thrown);
    const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "2s" };
    const info = {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "RATE_LIMIT",
      domain: "outrigger",
    };
    expect(JSON.parse(limited.message)).toEqual({
      error: {
        code: 429,
        message: expect.any(String),
        status: "RESOURCE_EXHAUSTED",
        // A provider that speaks this API has details of its kind.
        details: column.name === "gemini" ? expect.arrayContaining([retry]) : [info, retry],
      },
    });
  });

  it("ends a stream that was cut with an error, in each form", async () => {
    const api = await start();
    const request = { model: model("sim-long:tokens=50,cut_events=20"), contents: "Hello" };
    const stream = await api.models.generateContentStream(request);
    await expect(collect(stream)).rejects.toBeInstanceOf(ApiError);
    const body = JSON.stringify({ contents: [user("Hello")] });
    const path = `/v1beta/models/${request.model}:streamGenerateContent`;
    const list = JSON.parse(await (await api.fetch(path, post(body))).text());
    expect(list.at(-1)).toMatchObject({ error: { code: 502, status: "UNAVAILABLE" } });
    const events = await (await api.fetch(`${path}?alt=sse`, post(body))).text();
    expect(`${JSON.stringify(list)}${events}`).not.toContain("finishReason");
    // As an event, and as plain JSON after the last event.
    const [event = "", plain = ""] = events.split("\r\n\r\n").slice(-2);
    expect(event).toBe(`data: ${plain}`);
    expect(JSON.parse(plain)).toMatchObject({ error: { status: "UNAVAILABLE" } });
  });

  it("continues a tool loop of a client that returns neither ids nor signatures", async () => {
    // A name that the catalog knows: the model requires signatures.
    const name = "gemini-3-pro-preview";
    const { models } = await start({ aliases: { [name]: "sim-reasoning" } });
    const call = { functionCall: { name: "get_weather", args: { city: "Oslo" } } };
    const result = { functionResponse: { name: "get_weather", response: { output: "Rain" } } };
    const contents = [
      { role: "user", parts: [{ text: "How is the weather in Oslo?" }] },
      { role: "model", parts: [call] },
      { role: "user", parts: [result] },
    ];
    const answer = await models.generateContent({ model: model(name), contents, config: { tools } });
    expect(answer.text).toContain("Rain");
  });

  it("answers paths that it does not have with an error in the form of the API", async () => {
    const api = await start();
    for (const path of ["/v1/files", "/v1beta/files", "/v1/cachedContents?key=any"]) {
      const headers = path.includes("key") ? {} : { "x-goog-api-key": "any" };
      const response = await api.fetch(path, { headers });
      expect(await response.json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
    }
  });

  it("counts tokens, and aborts the provider's call when the caller disconnects", async () => {
    const api = await start();
    const contents = "Hello ".repeat(100);
    const { totalTokens = 0 } = await api.models.countTokens({ model: model("sim-text"), contents });
    expect(totalTokens).toBeGreaterThan(50);
    // The provider's count, if it has one.
    expect(api.simulator.requests).toHaveLength(column.name === "compatible" ? 0 : 1);
    api.simulator.clearRequests();
    const abort = new AbortController();
    const config = { maxOutputTokens: 5000, abortSignal: abort.signal };
    const stream = await api.models.generateContentStream({
      model: model("sim-long:tokens=1000,rate=50"),
      contents,
      config,
    });
    for await (const _ of stream) break;
    abort.abort();
    expect(await api.simulator.waitForClose({})).toMatchObject({ aborted: true });
  });
});

describe("The Gemini API", () => {
  it.each(["openai", "gemini", "compatible"])("embeds texts with models of %s", async (provider) => {
    const { models, fetch } = await start();
    const model = `${provider}/sim-text`;
    const config = { outputDimensionality: 8, taskType: "RETRIEVAL_QUERY" };
    const { embeddings = [] } = await models.embedContent({ model, contents: ["a", "b"], config });
    expect(embeddings.map(({ values }) => values?.length)).toEqual([8, 8]);
    const body = JSON.stringify({
      content: { parts: [{ text: "a" }] },
      output_dimensionality: 8,
      taskType: "CLUSTERING",
    });
    const one = await fetch(`/v1beta/models/${model}:embedContent`, post(body));
    expect(await one.json()).toMatchObject({ embedding: { values: embeddings[0]?.values } });
    const warnings = JSON.parse(one.headers.get("outrigger-warnings") ?? "[]");
    const params = warnings.map(({ param }: { param: string }) => param);
    expect(params).toEqual(provider === "gemini" ? [] : ["taskType"]);
  });

  it("names the request of a batch that differs, and a provider without embeddings", async () => {
    const { fetch } = await start();
    const content = { parts: [{ text: "a" }] };
    const requests = [{ content }, { content, taskType: "CLUSTERING" }];
    const ask = async (model: string, body: object) => {
      const response = await fetch(`/v1beta/models/${model}:batchEmbedContents`, post(JSON.stringify(body)));
      return [response.status, await response.json()];
    };
    const violation = (field: string) => ({ error: { details: [{}, { fieldViolations: [{ field }] }] } });
    expect(await ask("openai/sim-text", { requests })).toMatchObject([400, violation("requests[1]")]);
    expect(await ask("openai/sim-text", {})).toMatchObject([400, violation("requests")]);
    expect(await ask("anthropic/sim-text", { requests: [{ content }] })).toMatchObject([
      400,
      violation("model"),
    ]);
  });

  it("warns about each setting of a batch that the provider lacks, at the first request that has it", async () => {
    const { fetch } = await start();
    const content = { parts: [{ text: "a" }] };
    const requests = [{ content }, { content, title: "A" }, { content, title: "B", autoTruncate: true }];
    const response = await fetch(
      "/v1beta/models/openai%2Fsim-text:batchEmbedContents",
      post(JSON.stringify({ requests })),
    );
    expect(response.status).toBe(200);
    expect(JSON.parse(response.headers.get("outrigger-warnings") ?? "[]")).toMatchObject([
      { code: "unsupported_setting", param: "requests[1].title" },
      { code: "unsupported_setting", param: "requests[2].autoTruncate" },
    ]);
  });

  it("lists the models in pages, and describes one", async () => {
    const { models, fetch } = await start();
    const names: string[] = [];
    for await (const { name = "" } of await models.list({ config: { pageSize: 3 } })) names.push(name);
    expect(names.length).toBeGreaterThan(10);
    expect(new Set(names).size).toBe(names.length);
    expect(names.find((name) => name.includes("/gemini-"))).toBeDefined();
    const anthropic = names.find((name) => name.includes("claude")) ?? "";
    expect(await models.get({ model: anthropic })).toMatchObject({
      name: anthropic,
      inputTokenLimit: expect.any(Number),
      supportedActions: ["generateContent", "countTokens"],
    });
    const unknown = await fetch("/v1beta/models/unknown-model");
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { error: { status: "NOT_FOUND" } }]);
    const wrong = await fetch("/v1beta/models?pageSize=x");
    expect([wrong.status, await wrong.json()]).toMatchObject([
      400,
      { error: { details: [{}, { fieldViolations: [{ field: "pageSize" }] }] } },
    ]);
  });

  it("takes the access key in the SDK's header or in the query, and repeats it nowhere", async () => {
    const access = new AccessControl({ current: () => [accessKey("a", ["a-key"])] });
    const { server, fetch } = await startApi(servers, { access });
    const call = (apiKey: string) =>
      new GoogleGenAI({ apiKey, httpOptions: { baseUrl: server.url } }).models.generateContent({
        model: "gemini/sim-text",
        contents: "Hello",
      });
    expect((await call("a-key")).text).not.toBe("");
    const refusal = await call("wrong").catch((thrown) => thrown);
    expect(refusal).toBeInstanceOf(ApiError);
    expect(refusal.status).toBe(401);
    expect(refusal.message).toContain("API_KEY_INVALID");
    const get = async (path: string) => {
      const response = await fetch(path);
      return [response.status, (await response.text()).includes("wrong-key")];
    };
    expect(await get("/v1beta/models?key=a-key")).toEqual([200, false]);
    expect(await get("/v1beta/models?pageSize=1&key=wrong-key")).toEqual([401, false]);
    expect(await get("/v1/models?key=a-key")).toEqual([200, false]);
    // Other APIs have no key in their query.
    expect(await get("/v1/responses/resp_1?key=a-key")).toEqual([401, false]);
    expect(JSON.stringify(server.log)).toContain("GET /v1beta/models");
    expect(JSON.stringify(server.log)).not.toMatch(/wrong-key|a-key/);
  });

  it("answers unknown methods in Google's form", async () => {
    const { fetch } = await start();
    const method = await fetch("/v1beta/models/gemini/sim-text:unknown", post("{}"));
    expect([method.status, await method.json()]).toMatchObject([
      405,
      { error: { message: expect.any(String) } },
    ]);
    const path = await fetch("/v1beta/files", post("{}"));
    expect([path.status, await path.json()]).toMatchObject([404, { error: { status: "NOT_FOUND" } }]);
  });

  it("writes empty lines during silence, which all of Google's clients skip", async () => {
    const { models, fetch } = await start({ keepAliveMs: 20 });
    const model = "gemini/sim-long:tokens=5,rate=5";
    const { parts } = await collect(await models.generateContentStream({ model, contents: "Hello" }));
    expect(parts.length).toBeGreaterThan(1);
    const body = JSON.stringify({ contents: [user("Hello")] });
    const list = await fetch(`/v1beta/models/${model}:streamGenerateContent`, post(body));
    const text = await list.text();
    expect(text).toContain("\r\n\r\n");
    expect(JSON.parse(text).length).toBeGreaterThan(1);
  });
});
