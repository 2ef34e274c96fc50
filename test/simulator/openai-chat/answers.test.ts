import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import { ask, askMessage, joined, say, splitDeltas, stream, weatherTool } from "./support.ts";

const simulator = useSimulator();

const question = "How is the weather in Paris and in London?";
const tools = [weatherTool];

describe("tool_choice", () => {
  const calls = async (
    choice: unknown,
    model = "sim-tools:calls=2",
    more: object = {},
  ): Promise<string[]> => {
    const message = await askMessage(
      simulator(),
      say(model, question, { tools, ...(choice === undefined ? {} : { tool_choice: choice }), ...more }),
    );
    return (message.tool_calls ?? []).map((call) => call.function?.name ?? call.custom?.name ?? "");
  };
  const other = { type: "function", function: { name: "get_time" } } as const;
  const code = { type: "custom", custom: { name: "code" } } as const;

  it("is left to the script if it is auto or unset", async () => {
    expect(await calls(undefined)).toEqual(["get_weather", "get_weather"]);
    expect(await calls("auto", "sim-text")).toEqual([]);
  });

  it("forbids calls, requires one, or requires one of a named tool", async () => {
    expect(await calls("none")).toEqual([]);
    expect(await calls("required", "sim-text")).toEqual(["get_weather"]);
    expect(await calls(other, "sim-text", { tools: [weatherTool, other] })).toEqual(["get_time"]);
    const allowed = { type: "allowed_tools", allowed_tools: { mode: "required", tools: [other] } };
    expect(await calls(allowed, "sim-text", { tools: [weatherTool, other] })).toEqual(["get_time"]);
  });

  it("may name a tool with free text", async () => {
    const request = say("sim-text", question, { tools: [code], tool_choice: code });
    const [call] = (await askMessage(simulator(), request)).tool_calls ?? [];
    expect(call).toMatchObject({ type: "custom", custom: { name: "code" } });
    expect(call?.custom?.input).toMatch(/^print\(/);
  });

  it("gives the finish reason of a text if it names a tool, as at OpenAI", async () => {
    const reasonFor = async (tool_choice: unknown): Promise<string | undefined> =>
      (await ask(simulator(), say("sim-tools", question, { tools, tool_choice }))).choices[0]?.finish_reason;
    expect(await reasonFor({ type: "function", function: { name: "get_weather" } })).toBe("stop");
    expect(await reasonFor("required")).toBe("tool_calls");
  });

  it("allows one call at a time", async () => {
    expect(await calls("auto", "sim-tools:calls=3", { parallel_tool_calls: false })).toHaveLength(1);
  });
});

describe("tool rounds", () => {
  it("are counted from the last message of the user", async () => {
    const messages: object[] = [{ role: "user", content: question }];
    for (const round of [1, 2, 3]) {
      const message = await askMessage(simulator(), { model: "sim-tools:rounds=2", tools, messages });
      expect(message.tool_calls?.length ?? 0).toBe(round < 3 ? 1 : 0);
      const results = (message.tool_calls ?? []).map(({ id }) => ({
        role: "tool",
        tool_call_id: id,
        content: "rain",
      }));
      messages.push(message, ...results);
    }
    messages.push({ role: "user", content: question });
    const message = await askMessage(simulator(), { model: "sim-tools:rounds=2", tools, messages });
    expect(message.tool_calls).toHaveLength(1);
  });

  it("continue after a message that has the images of their results", async () => {
    const asked = await askMessage(simulator(), say("sim-tools", question, { tools }));
    const result = { role: "tool", tool_call_id: asked.tool_calls?.[0]?.id, content: "rain, see below" };
    const picture = { type: "image_url", image_url: { url: "https://example.com/rain.png" } };
    const messages = [
      { role: "user", content: question },
      asked,
      result,
      { role: "user", content: [{ type: "text", text: "Of the result:" }, picture] },
    ];
    const message = await askMessage(simulator(), { model: "sim-tools", tools, messages });
    expect(message.tool_calls).toBeUndefined();
    expect(message.content).toContain("rain, see below");
  });
});

describe("response_format", () => {
  it("is followed", async () => {
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const formats = [
      { type: "json_object" },
      { type: "json_schema", json_schema: { name: "place", schema } },
    ];
    for (const response_format of formats) {
      const { content } = await askMessage(
        simulator(),
        say("sim-text", "Is there JSON in Oslo?", { response_format }),
      );
      expect(JSON.parse(String(content))).toEqual(
        response_format.type === "json_object"
          ? expect.objectContaining({ question: "Is there JSON in Oslo?" })
          : { city: "JSON" },
      );
    }
  });
});

describe("limits", () => {
  it.each(["max_tokens", "max_completion_tokens"])("of %s cut the answer off", async (name) => {
    const { choices, usage } = await ask(simulator(), say("sim-text", question, { [name]: 5 }));
    expect(choices[0]?.finish_reason).toBe("length");
    expect(usage.completion_tokens).toBe(5);
  });

  it("may cut it off in the middle of a tool call", async () => {
    const { choices } = await ask(simulator(), say("sim-tools", question, { tools, max_tokens: 8 }));
    const [call] = choices[0]?.message.tool_calls ?? [];
    expect(choices[0]?.finish_reason).toBe("length");
    expect(() => JSON.parse(call?.function?.arguments ?? "") as unknown).toThrow(SyntaxError);
  });

  it("of stop end it before the first stop sequence", async () => {
    const whole = await askMessage(simulator(), say("sim-text", question));
    const { choices } = await ask(
      simulator(),
      say("sim-text", question, { stop: ["nowhere", "weather in"] }),
    );
    expect(choices[0]?.finish_reason).toBe("stop");
    expect(choices[0]?.message.content).toBe(String(whole.content).split("weather in")[0]);
    const one = await askMessage(simulator(), say("sim-text", question, { stop: "weather in" }));
    expect(one.content).toBe(choices[0]?.message.content);
  });

  it.each(["length", "content_filter"])("of the option stop=%s are the finish reason", async (reason) => {
    const { choices } = await ask(simulator(), say(`sim-text:stop=${reason}`, question));
    expect(choices[0]?.finish_reason).toBe(reason);
  });
});

describe("reasoning", () => {
  const tokensFor = async (more: object, model = "sim-reasoning"): Promise<number> =>
    (await ask(simulator(), say(model, "Why?", more))).usage.completion_tokens_details.reasoning_tokens;

  it("has the length of reasoning_effort", async () => {
    expect(await tokensFor({ reasoning_effort: "none" })).toBe(0);
    const [low, high] = [
      await tokensFor({ reasoning_effort: "low" }),
      await tokensFor({ reasoning_effort: "max" }),
    ];
    expect(low).toBeGreaterThan(0);
    expect(high).toBeGreaterThan(low);
  });

  it.each([
    ["OpenRouter's effort", { reasoning: { effort: "none" } }],
    ["OpenRouter's switch", { reasoning: { enabled: false } }],
    ["DeepSeek's", { thinking: { type: "disabled" } }],
    ["Qwen's", { enable_thinking: false }],
    ["that of templates", { chat_template_kwargs: { enable_thinking: false } }],
  ])("follows the parameters of other servers if it is lenient: %s", async (_, more) => {
    expect(await tokensFor(more, "sim-reasoning:lenient=1")).toBe(0);
    expect(await tokensFor({ reasoning: { effort: "max" } }, "sim-reasoning:lenient=1")).toBe(
      await tokensFor({ reasoning_effort: "max" }),
    );
  });

  it.each(["reasoning_content", "details", "none"])("may use up the whole limit: %s", async (field) => {
    const request = say(`sim-reasoning:reasoning_field=${field}`, "Why?", { max_completion_tokens: 16 });
    const { choices, usage } = await ask(simulator(), request);
    const message = { role: "assistant", content: "", refusal: null };
    expect(choices[0]).toMatchObject({ message: { ...message, annotations: [] }, finish_reason: "length" });
    expect(Object.keys(choices[0]?.message ?? {})).toHaveLength(4);
    expect(usage.completion_tokens_details.reasoning_tokens).toBe(16);
    expect(splitDeltas(await stream(simulator(), request))).toEqual([message, {}]);
  });

  it("counts as output, hidden or not", async () => {
    const shown = await ask(simulator(), say("sim-reasoning", "Why?"));
    const hidden = await ask(simulator(), say("sim-reasoning:reasoning_field=none", "Why?"));
    expect(hidden.usage).toEqual(shown.usage);
    expect(JSON.stringify(hidden.choices)).not.toContain("**");
  });

  it("delays a stream if it is hidden", async () => {
    const model = "sim-reasoning:reasoning_field=none,rate=1000";
    const start = performance.now();
    await stream(simulator(), say(model, "Why?", { reasoning_effort: "low" }));
    expect(performance.now() - start).toBeGreaterThan(60);
  });
});

describe("usage", () => {
  it("counts cached tokens", async () => {
    const request = say("sim-text", `${"tide ".repeat(2000)}?`);
    const first = await ask(simulator(), request);
    const second = await ask(simulator(), request);
    expect(first.usage.prompt_tokens_details.cached_tokens).toBe(0);
    expect(second.usage.prompt_tokens_details.cached_tokens).toBeGreaterThanOrEqual(1024);
    expect(second.usage.prompt_tokens_details.cached_tokens).toBeLessThanOrEqual(second.usage.prompt_tokens);
  });

  it("counts the prompt once, and each of several choices", async () => {
    const one = await ask(simulator(), say("sim-text", question));
    const three = await ask(simulator(), say("sim-text", question, { n: 3 }));
    expect(three.choices).toHaveLength(3);
    expect(three.usage).toMatchObject({
      prompt_tokens: one.usage.prompt_tokens,
      completion_tokens: 3 * one.usage.completion_tokens,
    });
  });

  it("is in a stream only if the request asks for it", async () => {
    const without = await stream(simulator(), say("sim-text", question));
    expect(without.filter((chunk) => "usage" in chunk)).toEqual([]);
    const chunks = await stream(
      simulator(),
      say("sim-text", question, { stream_options: { include_usage: true } }),
    );
    expect(chunks.filter(({ usage }) => usage === null)).toHaveLength(chunks.length - 1);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { total_tokens: expect.any(Number) as number },
    });
  });
});

describe("ids of tool calls", () => {
  it("differ from choice to choice and from request to request", async () => {
    const request = say("sim-tools:calls=2", question, { tools, n: 2 });
    const answers = [await ask(simulator(), request), await ask(simulator(), request)];
    const ids = answers.flatMap(({ choices }) => choices).flatMap(({ message }) => message.tool_calls ?? []);
    expect(new Set(ids.map(({ id }) => id)).size).toBe(8);
  });
});

describe("web_search_options", () => {
  const request = say("sim-text", "What is new?", { web_search_options: {} });

  it("cites the found pages, with indices into the content", async () => {
    const { content, annotations = [] } = await askMessage(simulator(), request);
    expect(annotations).toHaveLength(2);
    for (const { url_citation: cited } of annotations) {
      const characters = [...String(content)].slice(cited.start_index, cited.end_index).join("");
      expect(characters).toContain(cited.url);
    }
  });

  it("cites it after the text of a stream", async () => {
    const chunks = await stream(simulator(), request);
    const { annotations } = await askMessage(simulator(), request);
    const places = chunks.map(({ choices }) => choices?.[0]?.delta.annotations);
    expect(places.filter(Boolean)).toEqual([annotations]);
    expect(places.indexOf(annotations)).toBeLessThan(chunks.length - 1);
  });

  it("counts the reasoning in the content", async () => {
    const model = "sim-reasoning:reasoning_field=think_tags";
    const { content, annotations = [] } = await askMessage(simulator(), { ...request, model });
    const [first] = annotations.map(({ url_citation }) => url_citation);
    expect([...String(content)].slice(first?.start_index, first?.end_index).join("")).toContain(
      first?.url ?? "?",
    );
  });
});

describe("attachments", () => {
  it("are named in the answer", async () => {
    const content = [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: "https://example.com/boat.png" } },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      { type: "file", file: { filename: "tides.pdf", file_data: "data:application/pdf;base64,AAAA" } },
    ];
    const message = await askMessage(simulator(), {
      model: "sim-text",
      messages: [{ role: "user", content }],
    });
    expect(message.content).toContain(
      "3 attachment(s): image https://example.com/boat.png, audio of type wav, document tides.pdf.",
    );
  });
});

describe("obfuscation", () => {
  it("pads each chunk unless it is switched off", async () => {
    const on = await stream(simulator(), say("sim-text", question));
    expect(on.every(({ obfuscation }) => typeof obfuscation === "string")).toBe(true);
    const off = await stream(
      simulator(),
      say("sim-text", question, { stream_options: { include_obfuscation: false } }),
    );
    expect(off.filter((chunk) => "obfuscation" in chunk)).toEqual([]);
    expect(joined(off, "content")).toBe(joined(on, "content"));
  });
});
