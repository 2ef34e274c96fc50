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
import { LengthFinishReasonError } from "openai/core/error";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import type {
  ChatCompletionChunk,
  ChatCompletionMessage,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { weatherTool } from "./openai-chat/support.ts";
import { useSimulator } from "./support.ts";

const simulator = useSimulator();

function createClient(apiKey = "test-key", maxRetries = 0): OpenAI {
  return new OpenAI({ apiKey, baseURL: simulator().openaiBaseUrl, maxRetries });
}

function say(content: string): ChatCompletionMessageParam[] {
  return [{ role: "user", content }];
}

/** The functions that a message calls. */
function calledBy(message: Pick<ChatCompletionMessage, "tool_calls"> | undefined) {
  const calls = (message?.tool_calls ?? []).filter((call) => call.type === "function");
  return calls.map((call) => call.function);
}

const tools = [
  {
    ...weatherTool,
    function: { ...weatherTool.function, parameters: { ...weatherTool.function.parameters } },
  },
];

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

describe("chat.completions.create()", () => {
  const request = { model: "sim-text", messages: say("Where is Ελλάδα? 🧭") };

  it("returns a whole answer that quotes the prompt", async () => {
    const completion = await createClient().chat.completions.create(request);
    const [choice] = completion.choices;
    expect(choice?.message.content).toContain("“Where is Ελλάδα? 🧭”");
    expect(choice?.finish_reason).toBe("stop");
    expect(completion.usage?.total_tokens).toBe(
      (completion.usage?.prompt_tokens ?? 0) + (completion.usage?.completion_tokens ?? 0),
    );
    expect(completion._request_id).toMatch(/^req_/);
  });

  it("streams the same answer, and its usage if the request asks for it", async () => {
    const whole = await createClient().chat.completions.create(request);
    const chunks: ChatCompletionChunk[] = [];
    for await (const chunk of await createClient().chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    }))
      chunks.push(chunk);
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
  });

  it("reports rate limits in its headers", async () => {
    const { response } = await createClient().chat.completions.create(request).withResponse();
    expect(response.headers.get("x-ratelimit-limit-requests")).toBe("10000");
    expect(response.headers.get("x-ratelimit-remaining-tokens")).toMatch(/^\d+$/);
  });
});

describe("chat.completions.stream()", () => {
  it.each([
    "sim-text",
    "sim-echo",
    "sim-reasoning",
    "sim-reasoning:reasoning_field=none",
    "sim-refusal",
    "sim-tools:calls=2",
    "sim-tools:calls=3,preamble=1",
    "sim-long:tokens=300,rate=1000000",
    "sim-text:half_surrogates=1",
    "sim-text:chunk=random:7",
    "sim-tools:whole_calls=1,calls=2",
    "sim-tools:id_style=same,name_style=same",
    "sim-text:comments=1,usage_style=finish",
    "sim-text:usage_style=every,trailing_chunk=1",
    "sim-text:no_done=1",
  ])("accumulates %s to the whole answer", async (model) => {
    const request = { model, messages: say("Tell me of boats 🚢 in Paris."), tools };
    const helper = createClient().chat.completions.stream(request);
    const text: string[] = [];
    const args: string[] = [];
    helper.on("content.delta", ({ delta }) => void text.push(delta));
    helper.on("tool_calls.function.arguments.delta", (event) => void args.push(event.arguments_delta));
    const streamed = await helper.finalChatCompletion();
    const whole = await createClient().chat.completions.parse(request);
    const [message, wholeMessage] = [streamed.choices[0]?.message, whole.choices[0]?.message];
    expect(message).toMatchObject({
      content: wholeMessage?.content || null,
      refusal: wholeMessage?.refusal ?? null,
    });
    expect(streamed.choices[0]?.finish_reason).toBe(whole.choices[0]?.finish_reason);
    expect(text.join("")).toBe(wholeMessage?.content ?? "");
    expect(calledBy(message)).toEqual(calledBy(wholeMessage));
    expect(args.join("")).toBe(
      calledBy(message)
        .map((called) => called.arguments)
        .join(""),
    );
  });

  it("accumulates several interleaved choices", async () => {
    const request = { model: "sim-text", messages: say("Three times?"), n: 3 };
    const { choices } = await createClient().chat.completions.stream(request).finalChatCompletion();
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(new Set(choices.map(({ message }) => message.content)).size).toBe(1);
    expect(choices.map(({ finish_reason }) => finish_reason)).toEqual(["stop", "stop", "stop"]);
  });

  it("accumulates log probabilities", async () => {
    const request = { model: "sim-echo", messages: say("Cobalt blue"), logprobs: true, top_logprobs: 2 };
    const { choices } = await createClient().chat.completions.stream(request).finalChatCompletion();
    const content = choices[0]?.logprobs?.content ?? [];
    expect(content.map(({ token }) => token)).toEqual(["Cobalt", " blue"]);
    expect(content[0]?.top_logprobs).toHaveLength(2);
    expect(Buffer.from(content[1]?.bytes ?? []).toString()).toBe(" blue");
  });
});

describe("a round trip of tool calls", () => {
  const question = "What is the weather in Paris and in London?";

  it.each([
    "sim-tools:calls=2",
    "sim-reasoning:calls=2",
    "sim-reasoning:calls=2,reasoning_field=details",
    "sim-reasoning:calls=2,thought_signatures=1",
    "sim-reasoning:calls=2,require_reasoning=1",
  ])("of %s accepts the unchanged assistant message", async (model) => {
    const client = createClient();
    const first = await client.chat.completions.create({ model, tools, messages: say(question) });
    const message = first.choices[0]?.message;
    const calls = (message?.tool_calls ?? []).filter((call) => call.type === "function");
    expect(calls.map((call) => JSON.parse(call.function.arguments) as unknown)).toMatchObject([
      { city: "Paris" },
      { city: "London" },
    ]);
    expect(first.choices[0]?.finish_reason).toBe("tool_calls");
    const results = calls.map(
      ({ id }, index) => ({ role: "tool", tool_call_id: id, content: `${index + 20} °C 🌤` }) as const,
    );
    const messages = [...say(question), ...(message === undefined ? [] : [message]), ...results];
    const second = await client.chat.completions.create({ model, tools, messages });
    expect(second.choices[0]?.message.content).toContain("`get_weather` said “20 °C 🌤”");
    expect(second.choices[0]?.message.content).toContain("`get_weather` said “21 °C 🌤”");
  });

  it.each([false, true])("is run by runTools(), streaming: %s", async (streams) => {
    const asked: unknown[] = [];
    const tool = zodFunction({
      name: "get_weather",
      parameters: z.object({ city: z.string() }),
      function: (args) => {
        asked.push(args);
        return "rain ☔";
      },
    });
    const { completions } = createClient().chat;
    const request = { model: "sim-tools:calls=2", messages: say(question), tools: [tool] };
    const runner = streams
      ? completions.runTools({ ...request, stream: true })
      : completions.runTools(request);
    expect(await runner.finalContent()).toContain("`get_weather` said “rain ☔”");
    expect(asked).toEqual([{ city: "Paris" }, { city: "London" }]);
  });
});

describe("structured output", () => {
  const Trip = z.object({
    city: z.string(),
    days: z.number().int().min(2).max(5),
    kind: z.enum(["sea", "land"]),
    stops: z.array(z.object({ name: z.string(), when: z.iso.date() })).min(1),
    note: z.string().nullable(),
  });
  const request = {
    model: "sim-text",
    messages: say("Plan a trip to Oslo."),
    response_format: zodResponseFormat(Trip, "trip"),
  };

  it("parses into the schema", async () => {
    const { choices } = await createClient().chat.completions.parse(request);
    expect(Trip.parse(choices[0]?.message.parsed)).toEqual(choices[0]?.message.parsed);
    expect(choices[0]?.message.parsed?.city).toBe("Oslo");
  });

  it("parses while it streams", async () => {
    const { choices } = await createClient().chat.completions.stream(request).finalChatCompletion();
    expect(choices[0]?.message.parsed?.city).toBe("Oslo");
  });

  it("parses the arguments of a call", async () => {
    const tool = zodFunction({ name: "book", parameters: Trip });
    const { choices } = await createClient().chat.completions.parse({
      model: "sim-tools",
      messages: say("Book a trip to Oslo."),
      tools: [tool],
    });
    const [call] = choices[0]?.message.tool_calls ?? [];
    if (call?.type !== "function") throw new Error("no function was called");
    expect(Trip.parse(call.function.parsed_arguments)).toMatchObject({ city: "Oslo" });
  });

  it("that is truncated is a LengthFinishReasonError", async () => {
    await caught(LengthFinishReasonError, () =>
      createClient().chat.completions.parse({ ...request, max_completion_tokens: 3 }),
    );
  });

  it("can be refused", async () => {
    const { choices } = await createClient().chat.completions.parse({ ...request, model: "sim-refusal" });
    expect(choices[0]?.message).toMatchObject({ content: null, parsed: null });
    expect(choices[0]?.message.refusal).toContain("I’m sorry");
  });
});

describe("errors", () => {
  const ask = (model: string, client = createClient()): Promise<unknown> =>
    client.chat.completions.create({ model, messages: say("Hello") });

  it("for a rejected key are an AuthenticationError", async () => {
    const error = await caught(AuthenticationError, () => ask("sim-text", createClient("invalid")));
    expect(error).toMatchObject({ status: 401, code: "invalid_api_key", type: "invalid_request_error" });
    expect(error.requestID).toMatch(/^req_/);
  });

  it("for an unknown model are a NotFoundError", async () => {
    const error = await caught(NotFoundError, () => ask("gpt-nonexistent"));
    expect(error).toMatchObject({ status: 404, code: "model_not_found" });
  });

  it("for a rate limit are a RateLimitError with its headers", async () => {
    const error = await caught(RateLimitError, () => ask("sim-text:status=429,retry_after=2"));
    expect(error.code).toBe("rate_limit_exceeded");
    expect(error.headers.get("retry-after")).toBe("2");
    expect(error.headers.get("x-ratelimit-remaining-requests")).toBe("0");
  });

  it("in the request are a BadRequestError that names the parameter", async () => {
    const error = await caught(BadRequestError, () =>
      createClient().chat.completions.create({ model: "sim-text", messages: say("Hello"), temperature: 3 }),
    );
    expect(error).toMatchObject({ code: "decimal_above_max_value", param: "temperature" });
  });

  it("for a prompt that is too long name the messages", async () => {
    const error = await caught(BadRequestError, () =>
      ask("sim-text:status=400,code=context_length_exceeded"),
    );
    expect(error).toMatchObject({ code: "context_length_exceeded", param: "messages" });
    expect(error.message).toContain("maximum context length is 128000 tokens");
  });

  it("of the server are an InternalServerError", async () => {
    await caught(InternalServerError, () => ask("sim-text:status=503"));
    await caught(InternalServerError, () => ask("sim-text:error_after=0"));
  });

  it("of the socket are an APIConnectionError", async () => {
    await caught(APIConnectionError, () => ask("sim-text:drop=1"));
  });

  it.each(["event", "failed"])("in a stream are thrown while it is read: %s", async (style) => {
    const model = `sim-text:error_after=4,error_style=${style},error_code=rate_limit_exceeded`;
    const seen: ChatCompletionChunk[] = [];
    const error = await caught(APIError, async () => {
      const stream = await createClient().chat.completions.create({
        model,
        messages: say("Hello"),
        stream: true,
      });
      for await (const chunk of stream) seen.push(chunk);
    });
    expect(error.message).toContain("Rate limit reached");
    expect(seen).toHaveLength(4);
  });

  it("that are temporary are retried until the call succeeds", async () => {
    const model = "sim-text:status=503,times=2,retry_after_ms=1";
    const completion = await createClient("test-key", 2).chat.completions.create({
      model,
      messages: say("Hello"),
    });
    expect(completion.choices[0]?.message.content).toContain("“Hello”");
    expect(
      simulator().requests.filter(({ body }) => (body as { model: string }).model === model),
    ).toHaveLength(3);
  });
});

describe("cancellation by the caller", () => {
  const isFor = (model: string) => ({
    where: ({ body }: { body: unknown }) => (body as { model: string }).model === model,
  });

  it("reaches the simulator at once", async () => {
    const model = "sim-long:tokens=10000,rate=50";
    const stream = await createClient().chat.completions.create({
      model,
      messages: say("Hello"),
      stream: true,
    });
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content) break;
    }
    const request = await simulator().waitForClose(isFor(model));
    expect(request.aborted).toBe(true);
    expect(request.events).toBeLessThan(1000);
  });

  it("is possible in the middle of a tool call", async () => {
    const model = "sim-tools:rate=20,frame_bytes=200";
    const helper = createClient().chat.completions.stream({ model, messages: say("In Oslo?"), tools });
    helper.once("tool_calls.function.arguments.delta", () => helper.abort());
    await caught(APIUserAbortError, () => helper.finalChatCompletion());
    expect(await simulator().waitForClose(isFor(model))).toMatchObject({ aborted: true });
  });

  it("is possible before the headers", async () => {
    const model = "sim-text:delay_ms=60000";
    const leave = new AbortController();
    const answer = createClient().chat.completions.create(
      { model, messages: say("Hello") },
      { signal: leave.signal },
    );
    await simulator().waitForRequest(isFor(model));
    leave.abort();
    await caught(APIUserAbortError, () => answer);
    expect(await simulator().waitForClose(isFor(model))).toMatchObject({ aborted: true, status: undefined });
  });
});
