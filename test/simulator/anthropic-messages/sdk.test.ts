import Anthropic, {
  APIConnectionError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useSimulator } from "../support.ts";
import { weatherTool } from "./support.ts";

const simulator = useSimulator();

type Params = Anthropic.MessageCreateParamsNonStreaming;

function createClient(apiKey = "test-key", maxRetries = 0): Anthropic {
  return new Anthropic({ apiKey, authToken: null, baseURL: simulator().anthropicBaseUrl, maxRetries });
}

function request(changes: Partial<Params> = {}): Params {
  return {
    model: "sim-text",
    max_tokens: 4096,
    messages: [{ role: "user", content: "Where is Ελλάδα? 🧭" }],
    ...changes,
  };
}

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
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

describe("messages.create()", () => {
  it("returns a whole answer that quotes the prompt", async () => {
    const message = await createClient().messages.create(request());
    expect(textOf(message)).toContain("“Where is Ελλάδα? 🧭”");
    expect(message).toMatchObject({ type: "message", role: "assistant", stop_reason: "end_turn" });
    expect(message._request_id).toMatch(/^req_/);
  });

  it("streams the same answer", async () => {
    const client = createClient();
    const whole = await client.messages.create(request());
    const text: string[] = [];
    for await (const event of await client.messages.create({ ...request(), stream: true })) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta")
        text.push(event.delta.text);
    }
    expect(text.join("")).toBe(textOf(whole));
  });

  it("has rate limits in its headers", async () => {
    const { response } = await createClient().messages.create(request()).withResponse();
    const tokens = Number(response.headers.get("anthropic-ratelimit-output-tokens-remaining"));
    expect(tokens).toBeLessThan(Number(response.headers.get("anthropic-ratelimit-output-tokens-limit")));
    expect(response.headers.get("anthropic-ratelimit-requests-reset")).toMatch(/^\d{4}-.*T.*Z$/);
  });
});

describe("messages.stream()", () => {
  it.each([
    "sim-text",
    "sim-echo",
    "sim-reasoning",
    "sim-reasoning:redacted=1",
    "sim-refusal",
    "sim-tools:calls=2",
    "sim-tools:preamble=1",
    "sim-long:tokens=300,rate=1000000",
    "sim-text:half_surrogates=1",
    "sim-text:chunk=random:7",
  ])("accumulates %s to the content of a whole answer", async (model) => {
    const params = request({
      model,
      thinking: { type: "adaptive", display: "summarized" },
      tools: [weatherTool, { type: "web_search_20250305", name: "web_search" }],
      tool_choice: { type: "auto" },
    });
    const helper = createClient().messages.stream(params);
    const text: string[] = [];
    helper.on("text", (delta) => void text.push(delta));
    const streamed = await helper.finalMessage();
    const whole = await createClient().messages.create(params);
    const checkCounts = ({ usage }: Anthropic.Message): unknown => ({
      input: usage.input_tokens,
      output: usage.output_tokens,
      thinking: usage.output_tokens_details,
    });
    expect(text.join("")).toBe(textOf(streamed));
    expect(getShape(streamed)).toEqual(getShape(whole));
    expect(checkCounts(streamed)).toEqual(checkCounts(whole));
  });
});

/** A message without the values that differ from request to request: ids, signatures and encrypted content. */
function getShape({ content, stop_reason, stop_details }: Anthropic.Message): unknown {
  const generated = /^(id|tool_use_id|signature|data|encrypted_content|encrypted_index)$/;
  const plain: unknown = JSON.parse(
    JSON.stringify(content, (key, value: unknown) => (generated.test(key) ? undefined : value)),
  );
  return { content: plain, stop_reason, stop_details };
}

describe("a round trip of tools", () => {
  const question = "What is the weather in Paris and in London?";

  it("answers from the results of the tools", async () => {
    const client = createClient();
    const params = request({
      model: "sim-tools:calls=2",
      tools: [weatherTool],
      messages: [{ role: "user", content: question }],
    });
    const first = await client.messages.create(params);
    expect(first.stop_reason).toBe("tool_use");
    const calls = first.content.filter((block) => block.type === "tool_use");
    expect(calls.map((call) => call.input)).toMatchObject([{ city: "Paris" }, { city: "London" }]);
    const results = calls.map(
      ({ id }, index) => ({ type: "tool_result", tool_use_id: id, content: `${index + 20} °C 🌤` }) as const,
    );
    const second = await client.messages.create({
      ...params,
      messages: [
        ...params.messages,
        { role: "assistant", content: first.content },
        { role: "user", content: results },
      ],
    });
    expect(textOf(second)).toContain("`get_weather` said “20 °C 🌤”");
    expect(textOf(second)).toContain("`get_weather` said “21 °C 🌤”");
  });

  it("runs in the SDK's tool runner", async () => {
    const seen: unknown[] = [];
    const runner = createClient().beta.messages.toolRunner({
      ...request({ model: "sim-tools:rounds=2", messages: [{ role: "user", content: question }] }),
      tools: [
        {
          ...weatherTool,
          input_schema: weatherTool.input_schema,
          run: (input: unknown) => {
            seen.push(input);
            return `call ${seen.length}`;
          },
          parse: (input: unknown) => input,
        },
      ],
      stream: false,
    });
    const message = await runner.runUntilDone();
    expect(seen).toMatchObject([{ city: "Paris" }, { city: "Paris" }]);
    expect(JSON.stringify(message.content)).toContain("call 2");
  });
});

describe("a round trip of thinking", () => {
  const params = request({
    model: "sim-reasoning",
    thinking: { type: "adaptive", display: "summarized" },
    output_config: { effort: "medium" },
    tools: [weatherTool],
    messages: [{ role: "user", content: "What is the weather in Paris?" }],
  });

  async function goOn(
    first: Anthropic.Message,
    content: Anthropic.ContentBlockParam[],
  ): Promise<Anthropic.Message> {
    const call = first.content.find((block) => block.type === "tool_use");
    return createClient().messages.create({
      ...params,
      messages: [
        ...params.messages,
        { role: "assistant", content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "rain" }] },
      ],
    });
  }

  it.each(["sim-reasoning", "sim-reasoning:redacted=1"])(
    "of %s accepts its thinking sent back",
    async (model) => {
      for (const streams of [false, true]) {
        const sent = { ...params, model };
        const first = streams
          ? await createClient().messages.stream(sent).finalMessage()
          : await createClient().messages.create(sent);
        expect(first.content[0]?.type).toBe(model.includes("redacted") ? "redacted_thinking" : "thinking");
        expect(textOf(await goOn(first, first.content))).toContain("rain");
        expect(first.usage.output_tokens_details?.thinking_tokens).toBeGreaterThanOrEqual(192);
      }
    },
  );

  it("refuses thinking with one altered character", async () => {
    const first = await createClient().messages.create(params);
    const [thinking, ...rest] = first.content;
    if (thinking?.type !== "thinking") throw new Error("no thinking");
    const { signature } = thinking;
    for (const index of [0, Math.floor(signature.length / 2), signature.length - 3]) {
      const other = signature[index] === "A" ? "B" : "A";
      const altered = {
        ...thinking,
        signature: signature.slice(0, index) + other + signature.slice(index + 1),
      };
      const error = await caught(BadRequestError, () => goOn(first, [altered, ...rest]));
      expect(error.message).toContain("messages.1.content.0: Invalid `signature` in `thinking` block");
    }
    await caught(BadRequestError, () =>
      goOn(first, [{ ...thinking, thinking: `${thinking.thinking} ` }, ...rest]),
    );
  });
});

describe("structured output", () => {
  it("parses into the schema", async () => {
    const Trip = z.object({
      city: z.string(),
      days: z.number().int(),
      kind: z.enum(["sea", "land"]),
      stops: z.array(z.object({ name: z.string(), when: z.iso.date() })),
      note: z.string().nullable(),
    });
    const params = request({ messages: [{ role: "user", content: "Plan a trip to Oslo." }] });
    const message = await createClient().messages.parse({
      ...params,
      output_config: { format: zodOutputFormat(Trip) },
    });
    expect(Trip.parse(message.parsed_output)).toEqual(message.parsed_output);
    expect(message.parsed_output?.city).toBe("Oslo");
  });
});

describe("errors", () => {
  const ask = (model: string, client = createClient()): Promise<unknown> =>
    client.messages.create(request({ model }));

  it("of a refused key are an AuthenticationError", async () => {
    const error = await caught(AuthenticationError, () => ask("sim-text", createClient("invalid")));
    expect(error).toMatchObject({ status: 401, type: "authentication_error" });
    expect(error.requestID).toMatch(/^req_/);
  });

  it("of an unknown model are a NotFoundError", async () => {
    const error = await caught(NotFoundError, () => ask("claude-nonexistent"));
    expect(error).toMatchObject({ status: 404, type: "not_found_error" });
  });

  it("of a rate limit are a RateLimitError with its headers", async () => {
    const error = await caught(RateLimitError, () => ask("sim-text:status=429,retry_after=2"));
    expect(error.type).toBe("rate_limit_error");
    expect(error.headers?.get("retry-after")).toBe("2");
    expect(error.headers?.get("anthropic-ratelimit-requests-remaining")).toBe("0");
  });

  it("of the request are a BadRequestError that names the field", async () => {
    const error = await caught(BadRequestError, () =>
      createClient().messages.create(request({ max_tokens: -1 })),
    );
    expect(error.message).toContain("max_tokens: Input should be greater than or equal to 0");
  });

  it.each([500, 529])("of the server (%d) are an InternalServerError", async (status) => {
    const error = await caught(InternalServerError, () => ask(`sim-text:status=${status}`));
    expect(error.status).toBe(status);
  });

  it("of the socket are an APIConnectionError", async () => {
    await caught(APIConnectionError, () => ask("sim-text:drop=1"));
  });

  it("in a stream are thrown while it is read", async () => {
    const model = "sim-text:error_after=4,error_code=overloaded_error";
    const error = await caught(APIError, async () => {
      for await (const _ of await createClient().messages.create({ ...request({ model }), stream: true }));
    });
    expect(error).toMatchObject({ type: "overloaded_error" });
  });

  it("that are temporary are retried until the request succeeds", async () => {
    const model = "sim-text:status=529,times=2,retry_after_ms=1";
    const message = await createClient("test-key", 2).messages.create(request({ model }));
    expect(textOf(message)).toContain("Ελλάδα");
  });
});

describe("the SDK's version of the API", () => {
  it("takes no sampling settings", async () => {
    const error = await caught(BadRequestError, () =>
      createClient().messages.create({ ...request(), ...{ temperature: 1 } }),
    );
    expect(error.message).toContain("temperature: Extra inputs are not permitted");
  });
});

describe("a caller that disconnects", () => {
  const isAsked =
    (model: string) =>
    ({ body }: { body: unknown }): boolean =>
      (body as { model: string }).model === model;

  it("is noticed by the simulator immediately", async () => {
    const model = "sim-long:tokens=10000,rate=50";
    const stream = await createClient().messages.create({ ...request({ model }), stream: true });
    for await (const event of stream) {
      if (event.type === "content_block_delta") break;
    }
    const seen = await simulator().waitForClose({ where: isAsked(model) });
    expect(seen.aborted).toBe(true);
  });

  it("is noticed before the headers are sent", async () => {
    const model = "sim-text:delay_ms=60000";
    const leave = new AbortController();
    const answer = createClient().messages.create(request({ model }), { signal: leave.signal });
    await simulator().waitForRequest({ where: isAsked(model) });
    leave.abort();
    await caught(APIUserAbortError, () => answer);
    expect(await simulator().waitForClose({ where: isAsked(model) })).toMatchObject({ aborted: true });
  });
});
