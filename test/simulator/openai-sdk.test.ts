import OpenAI, {
  APIConnectionError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import type {
  ResponseInputItem,
  ResponseReasoningItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useSimulator, weatherTool } from "./support.ts";

const simulator = useSimulator();

function createClient(apiKey = "test-key", maxRetries = 0): OpenAI {
  return new OpenAI({ apiKey, baseURL: simulator().openaiBaseUrl, maxRetries });
}

async function caught<Kind extends Error>(
  kind: abstract new (...values: never[]) => Kind,
  run: () => Promise<unknown>,
): Promise<Kind> {
  const error: unknown = await run().then(
    () => new Error("nothing was thrown"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(kind);
  return error as Kind;
}

describe("responses.create()", () => {
  it("returns a whole answer that quotes the prompt", async () => {
    const response = await createClient().responses.create({
      model: "sim-text",
      input: "Where is Ελλάδα? 🧭",
    });
    expect(response.output_text).toContain("“Where is Ελλάδα? 🧭”");
    expect(response.status).toBe("completed");
    expect(response.usage?.total_tokens).toBe(
      (response.usage?.input_tokens ?? 0) + (response.usage?.output_tokens ?? 0),
    );
    expect(response._request_id).toMatch(/^req_/);
  });

  it("streams the same answer", async () => {
    const request = { model: "sim-text", input: "Where is Ελλάδα? 🧭" } as const;
    const whole = await createClient().responses.create(request);
    const events: ResponseStreamEvent[] = [];
    for await (const event of await createClient().responses.create({ ...request, stream: true }))
      events.push(event);
    const text = events
      .map((event) => (event.type === "response.output_text.delta" ? event.delta : ""))
      .join("");
    expect(text).toBe(whole.output_text);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)?.type).toBe("response.completed");
  });
});

describe("responses.stream()", () => {
  it.each([
    "sim-text",
    "sim-echo",
    "sim-reasoning",
    "sim-refusal",
    "sim-tools:calls=2",
    "sim-long:tokens=300,rate=1000000",
    "sim-text:half_surrogates=1",
    "sim-text:chunk=random:7",
  ])("accumulates %s to the response of the last event", async (model) => {
    const helper = createClient().responses.stream({
      model,
      input: "Tell me of boats 🚢.",
      reasoning: { summary: "auto" },
      include: ["reasoning.encrypted_content"],
      tools: [weatherTool, { type: "web_search" }],
    });
    const text: string[] = [];
    const calls: string[] = [];
    helper.on("response.output_text.delta", (event) => void text.push(event.delta));
    helper.on("response.function_call_arguments.delta", (event) => void calls.push(event.delta));
    const response = await helper.finalResponse();
    expect(response.status).toBe("completed");
    expect(text.join("")).toBe(response.output_text);
    const called = response.output.map((item) => (item.type === "function_call" ? item.arguments : ""));
    expect(calls.join("")).toBe(called.join(""));
    expect(response.output.length).toBeGreaterThan(0);
  });
});

describe("a round of tool calls", () => {
  const question = "What is the weather in Paris and in London?";

  it("answers with the results of the tools", async () => {
    const client = createClient();
    const request = { model: "sim-tools:calls=2", tools: [weatherTool], store: false };
    const first = await client.responses.create({ ...request, input: question });
    const calls = first.output.filter((item) => item.type === "function_call");
    expect(calls.map((call) => JSON.parse(call.arguments) as unknown)).toMatchObject([
      { city: "Paris" },
      { city: "London" },
    ]);
    const results = calls.map(
      (call, index) =>
        ({ type: "function_call_output", call_id: call.call_id, output: `${index + 20} °C 🌤` }) as const,
    );
    const history: ResponseInputItem[] = [{ role: "user", content: question }, ...calls, ...results];
    const second = await client.responses.create({ ...request, input: history });
    expect(second.output_text).toContain("`get_weather` said “20 °C 🌤”");
    expect(second.output_text).toContain("`get_weather` said “21 °C 🌤”");
  });

  it("continues a stored response", async () => {
    const client = createClient();
    const request = { model: "sim-tools", tools: [weatherTool] };
    const first = await client.responses.create({ ...request, input: question });
    const [call] = first.output.filter((item) => item.type === "function_call");
    const second = await client.responses.create({
      ...request,
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: call?.call_id ?? "", output: "sunny" }],
    });
    expect(second.output_text).toContain("`get_weather` said “sunny”");
    expect(second.previous_response_id).toBe(first.id);
  });
});

describe("a round trip of reasoning", () => {
  const request: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
    model: "sim-reasoning",
    reasoning: { effort: "high", summary: "detailed" },
    include: ["reasoning.encrypted_content"],
    store: false,
    tools: [weatherTool],
  };
  const question: ResponseInputItem = { role: "user", content: "What is the weather in Paris?" };

  async function think(): Promise<{ reasoning: ResponseReasoningItem; rest: ResponseInputItem[] }> {
    const response = await createClient().responses.create({ ...request, input: [question] });
    const [reasoning, call] = response.output;
    if (reasoning?.type !== "reasoning" || call?.type !== "function_call")
      throw new Error("no reasoning and call");
    return {
      reasoning,
      rest: [call, { type: "function_call_output", call_id: call.call_id, output: "rain" }],
    };
  }

  it("accepts its items unchanged", async () => {
    const { reasoning, rest } = await think();
    expect(reasoning.summary).toHaveLength(2);
    const response = await createClient().responses.create({
      ...request,
      input: [question, reasoning, ...rest],
    });
    expect(response.output_text).toContain("rain");
    expect(response.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThanOrEqual(448);
  });

  it("rejects encrypted content with one altered character", async () => {
    const { reasoning, rest } = await think();
    const content = reasoning.encrypted_content ?? "";
    for (const place of [8, Math.floor(content.length / 2), content.length - 3]) {
      const altered =
        content.slice(0, place) + (content[place] === "A" ? "B" : "A") + content.slice(place + 1);
      const input = [question, { ...reasoning, encrypted_content: altered }, ...rest];
      const error = await caught(BadRequestError, () =>
        createClient().responses.create({ ...request, input }),
      );
      expect(error.code).toBe("invalid_encrypted_content");
      expect(error.message).toContain("could not be verified");
    }
  });
});

describe("structured output", () => {
  it("parses into the schema", async () => {
    const Trip = z.object({
      city: z.string(),
      days: z.number().int().min(2).max(5),
      kind: z.enum(["sea", "land"]),
      stops: z.array(z.object({ name: z.string(), when: z.iso.date() })).min(1),
      note: z.string().nullable(),
    });
    const response = await createClient().responses.parse({
      model: "sim-text",
      input: "Plan a trip to Oslo.",
      text: { format: zodTextFormat(Trip, "trip") },
    });
    expect(Trip.parse(response.output_parsed)).toEqual(response.output_parsed);
    expect(response.output_parsed?.city).toBe("Oslo");
  });
});

describe("errors", () => {
  const ask = (model: string, client = createClient()): Promise<unknown> =>
    client.responses.create({ model, input: "Hello" });

  it("throw an AuthenticationError for a rejected key", async () => {
    const error = await caught(AuthenticationError, () => ask("sim-text", createClient("invalid")));
    expect(error).toMatchObject({ status: 401, code: "invalid_api_key", type: "invalid_request_error" });
    expect(error.requestID).toMatch(/^req_/);
  });

  it("throw a NotFoundError for an unknown model", async () => {
    const error = await caught(NotFoundError, () => ask("gpt-nonexistent"));
    expect(error).toMatchObject({ status: 404, code: "model_not_found" });
  });

  it("throw a RateLimitError with its headers for a rate limit", async () => {
    const error = await caught(RateLimitError, () => ask("sim-text:status=429,retry_after=2"));
    expect(error.code).toBe("rate_limit_exceeded");
    expect(error.headers.get("retry-after")).toBe("2");
    expect(error.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    expect(error.headers.get("x-ratelimit-reset-requests")).toBe("2s");
  });

  it("throw a BadRequestError that names the parameter for an invalid request", async () => {
    const error = await caught(BadRequestError, () =>
      createClient().responses.create({ model: "sim-text", input: "Hello", temperature: 3 }),
    );
    expect(error).toMatchObject({ code: "decimal_above_max_value", param: "temperature" });
  });

  it("throw an InternalServerError for a failure of the server", async () => {
    const error = await caught(InternalServerError, () => ask("sim-text:status=503"));
    expect(error).toMatchObject({ status: 503, code: "server_is_overloaded" });
  });

  it("throw an APIConnectionError for a closed socket", async () => {
    await caught(APIConnectionError, () => ask("sim-text:drop=1"));
  });

  it("are thrown while a stream is read", async () => {
    for (const style of ["event", "nested"]) {
      const model = `sim-text:error_after=4,error_style=${style},error_code=rate_limit_exceeded`;
      const error = await caught(APIError, async () => {
        for await (const _ of await createClient().responses.create({ model, input: "Hello", stream: true }));
      });
      expect(error.message).toContain("Rate limit reached");
    }
  });

  it("are retried by the SDK until an attempt succeeds", async () => {
    const model = "sim-text:status=503,times=2,retry_after_ms=1";
    const response = await createClient("test-key", 2).responses.create({ model, input: "Hello" });
    expect(response.output_text).toContain("“Hello”");
    expect(
      simulator().requests.filter((request) => (request.body as { model: string }).model === model),
    ).toHaveLength(3);
  });
});

describe("a client that disconnects", () => {
  it("is noticed by the simulator at once", async () => {
    const model = "sim-long:tokens=10000,rate=50";
    const stream = await createClient().responses.create({ model, input: "Hello", stream: true });
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") break;
    }
    const request = await simulator().waitForClose({
      where: ({ body }) => (body as { model: string }).model === model,
    });
    expect(request.aborted).toBe(true);
    expect(request.events).toBeLessThan(1000);
  });

  it("is noticed before the headers are sent", async () => {
    const model = "sim-text:delay_ms=60000";
    const leave = new AbortController();
    const answer = createClient().responses.create({ model, input: "Hello" }, { signal: leave.signal });
    await simulator().waitForRequest({ where: ({ body }) => (body as { model: string }).model === model });
    leave.abort();
    await caught(APIUserAbortError, () => answer);
    const request = await simulator().waitForClose({
      where: ({ body }) => (body as { model: string }).model === model,
    });
    expect(request).toMatchObject({ aborted: true, status: undefined });
  });
});

describe("models.list()", () => {
  it("lists the scripts", async () => {
    const ids: string[] = [];
    for await (const model of createClient().models.list()) ids.push(model.id);
    expect(ids).toContain("sim-tools");
  });
});
