import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import {
  ask,
  askMessage,
  callPieces,
  joined,
  type Message,
  parseChunks,
  post,
  say,
  splitDeltas,
  stream,
  streamText,
  type ToolCall,
  weatherTool,
} from "./support.ts";

const simulator = useSimulator();

const question = "How is the weather in Paris?";
const withTools = (model: string): object => say(model, question, { tools: [weatherTool] });

describe("reasoning_field", () => {
  const thinking = async (field: string): Promise<Message> =>
    askMessage(simulator(), say(`sim-reasoning:parts=1,reasoning_field=${field}`, "Why?"));

  it("decides where a whole answer has its reasoning", async () => {
    const { reasoning_content: thought, content: text } = await thinking("reasoning_content");
    expect(thought).toMatch(/^\*\*/);
    expect(await thinking("reasoning")).toMatchObject({ reasoning: thought, content: text });
    expect(await thinking("details")).toMatchObject({
      reasoning: thought,
      content: text,
      reasoning_details: [{ type: "reasoning.text", text: thought, index: 0 }],
    });
    expect((await thinking("chunks")).content).toEqual([
      { type: "thinking", thinking: [{ type: "text", text: thought }] },
      { type: "text", text },
    ]);
    expect((await thinking("think_tags")).content).toBe(`<think>\n${thought}\n</think>\n\n${text}`);
    expect(await thinking("none")).toEqual({
      role: "assistant",
      content: text,
      refusal: null,
      annotations: [],
    });
  });

  it.each(["reasoning_content", "reasoning"])("streams the reasoning in %s", async (field) => {
    const request = say(`sim-reasoning:reasoning_field=${field}`, "Why?");
    const message = await askMessage(simulator(), request);
    const chunks = await stream(simulator(), request);
    expect(joined(chunks, field)).toBe(message[field as "reasoning"]);
    expect(joined(chunks, "content")).toBe(message.content);
  });

  it("streams the reasoning in tags", async () => {
    const request = say("sim-reasoning:reasoning_field=think_tags", "Why?");
    expect(joined(await stream(simulator(), request), "content")).toBe(
      (await askMessage(simulator(), request)).content,
    );
  });

  it("streams the reasoning in parts of the content", async () => {
    const request = say("sim-reasoning:reasoning_field=chunks", "Why?");
    const contents = splitDeltas(await stream(simulator(), request)).map(({ content }) => content);
    const [thought] = (await askMessage(simulator(), request)).content as Extract<Message["content"], object>;
    const pieces = contents.filter(Array.isArray) as { thinking: { text: string }[] }[][];
    expect(pieces.map(([piece]) => piece?.thinking[0]?.text).join("")).toBe(thought?.thinking?.[0]?.text);
  });

  it("streams the signature after the details", async () => {
    const request = say("sim-reasoning:reasoning_field=details", "Why?");
    const deltas = splitDeltas(await stream(simulator(), request));
    const details = deltas.flatMap(
      ({ reasoning_details }) => (reasoning_details ?? []) as { signature?: string }[],
    );
    const [whole] = (await askMessage(simulator(), request)).reasoning_details ?? [];
    expect(details.filter(({ signature }) => signature !== undefined)).toEqual([details.at(-1)]);
    expect(details.at(-1)?.signature).toBe(whole?.signature);
  });

  it("has only the encrypted reasoning if it is redacted", async () => {
    expect(await askMessage(simulator(), say("sim-reasoning:redacted=1", "Why?"))).toMatchObject({
      reasoning_content: "",
    });
    const request = say("sim-reasoning:redacted=1,reasoning_field=details", "Why?");
    expect(await askMessage(simulator(), request)).toMatchObject({
      reasoning: null,
      reasoning_details: [{ type: "reasoning.encrypted", data: expect.any(String) as string }],
    });
  });
});

describe("an assistant message that is sent back", () => {
  async function again(model: string, change: (message: Message) => object): Promise<Response> {
    const first = await askMessage(simulator(), withTools(model));
    const results = (first.tool_calls ?? []).map(({ id }) => ({
      role: "tool",
      tool_call_id: id,
      content: "rain",
    }));
    const messages = [{ role: "user", content: question }, change(first), ...results];
    return post(simulator(), { model, messages, tools: [weatherTool] });
  }

  async function toRefusal(response: Response): Promise<string> {
    expect(response.status).toBe(400);
    return ((await response.json()) as { error: { message: string } }).error.message;
  }

  it.each([
    "sim-reasoning:reasoning_field=details",
    "sim-reasoning:reasoning_field=details,redacted=1",
    "sim-reasoning:reasoning_field=chunks,preamble=1",
    "sim-reasoning:reasoning_field=think_tags",
    "sim-tools:thought_signatures=1,calls=2",
    "sim-tools:object_arguments=1",
  ])("is accepted unchanged from %s", async (model) => {
    expect((await again(model, (message) => message)).status).toBe(200);
  });

  it("has its details checked byte for byte", async () => {
    const model = "sim-reasoning:reasoning_field=details";
    const response = await again(model, (message) => ({
      ...message,
      reasoning_details: [{ ...message.reasoning_details?.[0], text: "I thought of something else." }],
    }));
    expect(await toRefusal(response)).toBe("Invalid signature in 'messages[1].reasoning_details[0]'.");
  });

  it("has its encrypted details checked", async () => {
    const model = "sim-reasoning:reasoning_field=details,redacted=1";
    const detail = { type: "reasoning.encrypted", data: "AAAA" };
    const response = await again(model, (message) => ({ ...message, reasoning_details: [detail] }));
    expect(await toRefusal(response)).toContain("Invalid signature");
  });

  it("must have its reasoning if that is required", async () => {
    const model = "sim-reasoning:require_reasoning=1";
    const lost = await again(model, ({ reasoning_content: _, ...message }) => message);
    expect(await toRefusal(lost)).toBe(
      "The `reasoning_content` in the thinking mode must be passed back to the API.",
    );
    expect((await again(model, (message) => ({ ...message, reasoning_content: "" }))).status).toBe(200);
  });

  it("must have the signature of the first call", async () => {
    const model = "sim-tools:thought_signatures=1,calls=2";
    const withExtra = (extra: object) => (message: Message) => {
      const [first, ...rest] = message.tool_calls ?? [];
      const { extra_content: _, ...bare } = first ?? {};
      return { ...message, tool_calls: [{ ...bare, ...extra }, ...rest] };
    };
    expect(await toRefusal(await again(model, withExtra({})))).toContain("missing a thought_signature");
    const altered = { extra_content: { google: { thought_signature: "AAAA" } } };
    expect(await toRefusal(await again(model, withExtra(altered)))).toBe("Thought signature is not valid.");
    expect(await toRefusal(await again("sim-tools", withExtra(altered)))).toContain("Unknown parameter");
  });

  it("is refused in another dialect", async () => {
    const response = await again("sim-reasoning:reasoning_field=none", (message) => ({
      ...message,
      reasoning_content: "mine",
    }));
    expect(await toRefusal(response)).toBe("Unknown parameter: 'messages[1].reasoning_content'.");
  });
});

describe("lenient", () => {
  it("accepts parameters that OpenAI does not know", async () => {
    const { choices } = await ask(simulator(), say("sim-text:lenient=1", "Hello", { top_k: 3 }));
    expect(choices).toHaveLength(1);
  });

  it("accepts ids of any length", async () => {
    const call = { id: "x".repeat(400), type: "function", function: { name: "f", arguments: "{}" } };
    const messages = [
      { role: "user", content: "Hello" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content: "rain" },
    ];
    expect((await post(simulator(), { model: "sim-text", messages })).status).toBe(400);
    expect((await post(simulator(), { model: "sim-text:lenient=1", messages })).status).toBe(200);
  });

  it("accepts JSON mode without the word json", async () => {
    const jsonMode = { response_format: { type: "json_object" } };
    expect((await post(simulator(), say("sim-text", "Hello", jsonMode))).status).toBe(400);
    const { choices } = await ask(simulator(), say("sim-text:lenient=1", "Hello", jsonMode));
    expect(JSON.parse(String(choices[0]?.message.content))).toBeTypeOf("object");
  });
});

describe("pieces of tool calls", () => {
  const pieces = async (options: string): Promise<ToolCall[]> =>
    callPieces(await stream(simulator(), withTools(`sim-tools:calls=2,${options}`)));
  const of = (all: readonly ToolCall[], index: number): ToolCall[] =>
    all.filter((each) => each.index === index);

  it("have index, id and name as at OpenAI", async () => {
    const [first, ...rest] = of(await pieces(""), 1);
    expect(first).toMatchObject({ id: expect.stringMatching(/^call_/) as string, type: "function" });
    expect(first?.function).toEqual({ name: "get_weather", arguments: "" });
    expect(rest.length).toBeGreaterThan(3);
    for (const piece of rest) expect(Object.keys(piece).sort()).toEqual(["function", "index"]);
    expect(JSON.parse(rest.map((piece) => piece.function?.arguments).join(""))).toMatchObject({
      city: "Paris",
    });
  });

  it("have their id where id_style puts it", async () => {
    const ids = async (style: string): Promise<Set<string | undefined>> =>
      new Set(of(await pieces(`id_style=${style}`), 0).map(({ id }) => id));
    const first = [...(await ids("first"))];
    expect(first).toEqual([expect.stringMatching(/^call_/), undefined]);
    expect([...(await ids("blank"))]).toEqual([expect.stringMatching(/^call_/), ""]);
    expect([...(await ids("same"))]).toEqual([expect.stringMatching(/^call_/)]);
    expect([...(await ids("missing"))]).toEqual([undefined]);
    const whole = await askMessage(simulator(), withTools("sim-tools:id_style=missing"));
    expect(Object.keys(whole.tool_calls?.[0] ?? {})).toEqual(["type", "function"]);
  });

  it("have their name where name_style puts it", async () => {
    const names = async (style: string): Promise<(string | undefined)[]> =>
      of(await pieces(`name_style=${style}`), 0).map((piece) => piece.function?.name);
    expect((await names("first")).slice(0, 3)).toEqual(["get_weather", undefined, undefined]);
    expect(new Set(await names("same"))).toEqual(new Set(["get_weather"]));
    expect((await names("split")).slice(0, 3)).toEqual(["get_we", "ather", undefined]);
    expect((await names("late")).slice(0, 3)).toEqual([undefined, "get_weather", undefined]);
  });

  it("have no index with no_index", async () => {
    expect((await pieces("no_index=1")).every((piece) => !("index" in piece))).toBe(true);
  });

  it("are whole calls with whole_calls", async () => {
    const whole = await pieces("whole_calls=1");
    expect(whole).toHaveLength(2);
    for (const { function: called } of whole)
      expect(JSON.parse(called?.arguments ?? "")).toMatchObject({ city: "Paris" });
  });

  it("have an object as arguments with object_arguments", async () => {
    const whole: readonly unknown[] = await pieces("object_arguments=1");
    expect(whole).toMatchObject([
      { function: { arguments: { city: "Paris" } } },
      { function: { arguments: { city: "Paris" } } },
    ]);
    const message: unknown = await askMessage(simulator(), withTools("sim-tools:object_arguments=1"));
    expect(message).toMatchObject({ tool_calls: [{ function: { arguments: { city: "Paris" } } }] });
    const cut = { ...withTools("sim-tools:object_arguments=1"), max_tokens: 8 };
    const [call] = (await askMessage(simulator(), cut)).tool_calls ?? [];
    expect(call?.function?.arguments).toEqual(expect.stringMatching(/^\{/));
  });

  it("have a signature in the first call with thought_signatures", async () => {
    const signed = (await pieces("thought_signatures=1")).filter(
      ({ extra_content }) => extra_content !== undefined,
    );
    expect(signed).toEqual([expect.objectContaining({ index: 0, id: expect.any(String) as string })]);
  });

  it("have the same quirks if the input is free text", async () => {
    const custom = { type: "custom", custom: { name: "code" } };
    const request = say("sim-tools:name_style=late", "Print Paris", { tools: [custom] });
    const [first, second, third] = callPieces(await stream(simulator(), request));
    expect([first?.custom, second?.custom]).toEqual([{ input: "" }, { name: "code", input: "" }]);
    expect(third?.custom?.input).toBe("print");
  });
});

describe("usage_style", () => {
  const usages = async (style: string): Promise<unknown[]> =>
    (await stream(simulator(), say(`sim-text:usage_style=${style}`, "Hello"))).map(({ usage }) => usage);
  const counts = { total_tokens: expect.any(Number) as number };

  it("bare puts it in a last chunk without choices", async () => {
    const chunks = await stream(simulator(), say("sim-text:usage_style=bare", "Hello"));
    expect(chunks.at(-1)).toMatchObject({ usage: counts });
    expect(chunks.at(-1)).not.toHaveProperty("choices");
    expect(chunks.slice(0, -1).every((chunk) => !("usage" in chunk))).toBe(true);
  });

  it("finish puts it in the chunk with the finish reason", async () => {
    const chunks = await stream(simulator(), say("sim-text:usage_style=finish", "Hello"));
    expect(chunks.at(-1)).toMatchObject({ usage: counts, choices: [{ finish_reason: "stop" }] });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  });

  it("every puts the counts so far in each chunk", async () => {
    const { usage } = await ask(simulator(), say("sim-reasoning", "Hello"));
    const all = await stream(simulator(), say("sim-reasoning:usage_style=every", "Hello"));
    const written = all.map((chunk) => chunk.usage?.completion_tokens ?? -1);
    expect(written).toEqual([...written].sort((left, right) => left - right));
    expect(written[0]).toBeLessThan(usage.completion_tokens);
    expect(all.at(-1)?.usage).toEqual(usage);
  });

  it("x_groq puts it where Groq does", async () => {
    const chunks = await stream(simulator(), say("sim-text:usage_style=x_groq", "Hello"));
    expect(chunks.at(-1)?.x_groq).toMatchObject({
      id: expect.stringMatching(/^req_/) as string,
      usage: counts,
    });
    expect(chunks.filter((chunk) => "usage" in chunk)).toEqual([]);
  });

  it("none leaves it out", async () => {
    expect((await usages("none")).filter(Boolean)).toEqual([]);
    const request = say("sim-text:usage_style=none", "Hello");
    expect(await ask(simulator(), request)).not.toHaveProperty("usage");
  });
});

describe("usage_fields", () => {
  const toUsage = async (fields: string): Promise<Record<string, unknown>> => {
    const { usage } = await ask(simulator(), say(`sim-reasoning:usage_fields=${fields}`, "Why?"));
    return usage as unknown as Record<string, unknown>;
  };

  it("match the named server", async () => {
    const { prompt_tokens: prompt, completion_tokens: written } = await toUsage("openai");
    expect(await toUsage("deepseek")).toMatchObject({
      prompt_cache_hit_tokens: 0,
      prompt_cache_miss_tokens: prompt,
    });
    expect(await toUsage("moonshot")).toEqual({
      prompt_tokens: prompt,
      completion_tokens: written,
      total_tokens: Number(prompt) + Number(written),
      cached_tokens: 0,
    });
    expect(await toUsage("openrouter")).toMatchObject({
      cost: (Number(prompt) + 4 * Number(written)) / 1_000_000,
      prompt_tokens_details: { cache_write_tokens: 0 },
    });
  });

  it("of xAI count reasoning separately", async () => {
    const openai = await toUsage("openai");
    const xai = await toUsage("xai");
    const { reasoning_tokens: reasoning } = xai.completion_tokens_details as { reasoning_tokens: number };
    expect(Number(xai.completion_tokens) + reasoning).toBe(openai.completion_tokens);
    expect(xai.total_tokens).toBe(openai.total_tokens);
  });
});

describe("the end of a stream", () => {
  const text = (options: string): Promise<string> =>
    streamText(simulator(), say(`sim-text:${options}`, "Hello"));
  const reasons = (body: string): (string | null | undefined)[] =>
    parseChunks(body).map(({ choices }) => choices?.[0]?.finish_reason);

  it("has any finish reason", async () => {
    expect(reasons(await text("finish_reason=model_length")).at(-1)).toBe("model_length");
    const { choices } = await ask(simulator(), withTools("sim-tools:finish_reason=stop"));
    expect(choices[0]?.finish_reason).toBe("stop");
  });

  it("has no finish reason", async () => {
    const body = await text("no_finish=1");
    expect(reasons(body).filter(Boolean)).toEqual([]);
    expect(body).toMatch(/data: \[DONE\]\n\n$/);
    const { choices } = await ask(simulator(), say("sim-text:no_finish=1", "Hello"));
    expect(choices[0]).not.toHaveProperty("finish_reason");
  });

  it("has no end marker", async () => {
    const body = await text("no_done=1");
    expect(body).not.toContain("[DONE]");
    expect(reasons(body).at(-1)).toBe("stop");
  });

  it("has a further chunk", async () => {
    expect(reasons(await text("trailing_chunk=1")).slice(-3)).toEqual([null, "stop", "stop"]);
  });
});

describe("chunks", () => {
  it("have null in fields that are not used", async () => {
    const chunks = await stream(simulator(), say("sim-reasoning:null_fields=1", "Why?"));
    for (const delta of splitDeltas(chunks).slice(0, -1))
      expect(Object.keys(delta)).toEqual(
        expect.arrayContaining(["role", "content", "reasoning_content", "tool_calls"]),
      );
    expect(splitDeltas(chunks).at(-1)).toEqual({ role: null, content: null, tool_calls: null });
  });

  it("have a comment before each", async () => {
    const body = await streamText(simulator(), say("sim-text:comments=1", "Hello"));
    expect(body.startsWith(": OPENROUTER PROCESSING\n\ndata: {")).toBe(true);
    expect(body.split(": OPENROUTER PROCESSING\n\n")).toHaveLength(parseChunks(body).length + 1);
  });
});

describe("plain_json", () => {
  it("answers a request for a stream with one JSON body", async () => {
    const response = await post(simulator(), say("sim-text:plain_json=1", "Hello", { stream: true }));
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({
      object: "chat.completion",
      choices: [{ finish_reason: "stop" }],
    });
  });
});

describe("error_shape", () => {
  const message = expect.stringContaining("Rate limit reached") as string;

  it.each([
    ["openai", { error: { message, type: "requests", param: null, code: "rate_limit_exceeded" } }],
    ["numeric", { error: { code: 429, message, type: "requests" } }],
    ["top_level", { object: "error", message, type: "requests", param: null, code: 429 }],
    ["text", { code: expect.any(String) as string, error: message }],
    ["message", { message }],
    ["detail", { detail: [{ type: "rate_limit_exceeded", loc: ["body"], msg: message }] }],
  ])("%s", async (shape, body) => {
    const response = await post(simulator(), say(`sim-text:status=429,error_shape=${shape}`, "Hello"));
    expect(response.status).toBe(429);
    expect(await response.json()).toEqual(body);
    const model = `sim-text:error_after=1,error_code=rate_limit_exceeded,error_shape=${shape}`;
    const events = (await streamText(simulator(), say(model, "Hello"))).split("\n\n");
    expect(JSON.parse(events[1]?.replace("data: ", "") ?? "")).toEqual(body);
  });

  it("also applies to refused requests", async () => {
    const response = await post(simulator(), say("sim-text:error_shape=detail", "Hello", { stop: 3 }));
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      detail: [
        {
          type: "invalid_type",
          loc: ["body", "stop"],
          msg: "Invalid type for 'stop': expected an array, but got an integer instead.",
        },
      ],
    });
  });
});
