import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { countTokens } from "../../simulator/script/tokens.ts";
import {
  type AnsweredResponse,
  ask,
  lastResponse,
  stream,
  textOf,
  useSimulator,
  weatherTool,
} from "./support.ts";

const simulator = useSimulator();

const customTool = { type: "custom", name: "run_code", description: "Runs code." };

describe("sim-text", () => {
  it("gives the same answer to the same prompt, and another to another prompt", async () => {
    const say = async (input: string): Promise<string> =>
      textOf(await ask(simulator(), { model: "sim-text", input }));
    expect(await say("One")).toBe(await say("One"));
    expect(await say("One")).not.toBe(await say("Two"));
    expect(await say("One")).toMatch(/[^\p{ASCII}]/u);
  });

  it("streams the same text that a whole answer has", async () => {
    const body = { model: "sim-text", input: "Hello", tools: [{ type: "web_search" }] };
    const whole = await ask(simulator(), body);
    const events = await stream(simulator(), body);
    const last = lastResponse(events);
    expect(textOf(last)).toBe(textOf(whole));
    expect(last.output.map((item) => item.type)).toEqual(whole.output.map((item) => item.type));
  });

  it("names attachments", async () => {
    const content = [
      { type: "input_text", text: "Look at these." },
      { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" },
      { type: "input_file", filename: "report.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
    ];
    const text = textOf(await ask(simulator(), { model: "sim-text", input: [{ role: "user", content }] }));
    expect(text).toContain("2 attachment(s): image image/png");
    expect(text).toContain("document report.pdf");
  });

  it("does not split a character when it shortens a question", async () => {
    const text = textOf(
      await ask(simulator(), { model: "sim-text", input: `${"x".repeat(199)}🧭${"y".repeat(50)}` }),
    );
    expect(text.isWellFormed()).toBe(true);
  });
});

describe("sim-echo", () => {
  it.each([
    "plain",
    "  spaces \n\n\ttabs ",
    "emoji 👩‍🚀🏳️‍🌈 and 東京",
    '\u0000\u2028\u2029"\\',
    '{"json": true}',
  ])("repeats %j", async (input) => {
    expect(textOf(await ask(simulator(), { model: "sim-echo", input }))).toBe(input);
  });
});

describe("sim-tools", () => {
  const tools = [weatherTool, { ...weatherTool, name: "get_time" }];
  const listNames = ({ output }: AnsweredResponse): (string | undefined)[] => output.map((item) => item.name);
  const call = (changes: object): Promise<AnsweredResponse> =>
    ask(simulator(), { model: "sim-tools:calls=3", input: "In Oslo?", tools, ...changes });

  it("makes the requested number of calls, in the order of the tools", async () => {
    expect(listNames(await call({}))).toEqual(["get_weather", "get_time", "get_weather"]);
  });

  it("makes one call if parallel calls are disabled", async () => {
    expect(listNames(await call({ parallel_tool_calls: false }))).toEqual(["get_weather"]);
  });

  it("calls only the named tool", async () => {
    const choice = { type: "function", name: "get_time" };
    expect(listNames(await call({ tool_choice: choice }))).toEqual(["get_time", "get_time", "get_time"]);
  });

  it("calls only tools that are allowed", async () => {
    const choice = {
      type: "allowed_tools",
      mode: "required",
      tools: [{ type: "function", name: "get_time" }],
    };
    expect(listNames(await call({ tool_choice: choice }))).toEqual(["get_time", "get_time", "get_time"]);
  });

  it.each([
    ["none is chosen", { tool_choice: "none" }],
    ["there are none", { tools: [] }],
  ])("answers if %s", async (_, changes) => {
    expect((await call(changes)).output.map((item) => item.type)).toEqual(["message"]);
  });

  it("makes calls in the requested number of rounds", async () => {
    const history: object[] = [{ role: "user", content: "Go on." }];
    for (let round = 1; round <= 2; round += 1) {
      const { output } = await ask(simulator(), { model: "sim-tools:rounds=2", input: history, tools });
      expect(output.map((item) => item.type)).toEqual(["function_call"]);
      history.push(...output, {
        type: "function_call_output",
        call_id: output[0]?.call_id,
        output: `result ${round}`,
      });
    }
    const last = await ask(simulator(), { model: "sim-tools:rounds=2", input: history, tools });
    expect(textOf(last)).toContain("said “result 2”");
    expect(textOf(last)).not.toContain("result 1");
  });

  it("writes a sentence before the calls if the option asks for it", async () => {
    const { output } = await ask(simulator(), { model: "sim-tools:preamble=1", input: "x", tools });
    expect(output.map((item) => [item.type, item.phase])).toEqual([
      ["message", "commentary"],
      ["function_call", undefined],
    ]);
  });

  it("passes free text to a custom tool, and reads its output", async () => {
    const body = { model: "sim-tools", tools: [customTool] };
    const events = await stream(simulator(), { ...body, input: "Compute." });
    const { output } = lastResponse(events);
    expect(output[0]).toMatchObject({ type: "custom_tool_call", name: "run_code", status: "completed" });
    const deltas = events
      .filter((event) => event.type === "response.custom_tool_call_input.delta")
      .map((event) => event.delta);
    expect(deltas.join("")).toBe(output[0]?.input);
    const result = { type: "custom_tool_call_output", call_id: output[0]?.call_id, output: "42" };
    expect(
      textOf(
        await ask(simulator(), {
          ...body,
          input: [{ role: "user", content: "Compute." }, ...output, result],
        }),
      ),
    ).toContain("“42”");
  });

  it.each(["sim-text", "sim-echo", "sim-reasoning"])(
    "is not alone in calling if a call is required: %s",
    async (model) => {
      const { output } = await ask(simulator(), { model, input: "x", tools, tool_choice: "required" });
      expect(output.at(-1)?.type).toBe("function_call");
    },
  );
});

describe("sim-call", () => {
  const file = { type: "function", name: "view", parameters: { type: "object" }, strict: false };
  const group = { type: "namespace", name: "files", description: "Reads files.", tools: [file] };
  const tools = [weatherTool, customTool, group];
  const written = ['get_weather {"city": "Oslo"}', "run_code print(1 + 1)", 'files.view {"path": "a b"}'];
  const input = ["Do this:", ...written, "get_nothing {}", "get_weather is a tool.", "get_weather 1"].join(
    "\n",
  );

  it("makes the calls that the message writes, and no others", async () => {
    const { output } = await ask(simulator(), { model: "sim-call", input, tools });
    expect(output).toMatchObject([
      { type: "function_call", name: "get_weather", arguments: '{"city": "Oslo"}' },
      { type: "custom_tool_call", name: "run_code", input: "print(1 + 1)" },
      { type: "function_call", name: "view", namespace: "files", arguments: '{"path": "a b"}' },
    ]);
    expect(output[0]).not.toHaveProperty("namespace");
  });

  it("answers once it has the results", async () => {
    const history = await answered("sim-call", { input, tools });
    expect(textOf(await ask(simulator(), { model: "sim-call", input: history, tools }))).toContain("“done”");
  });

  it("makes one call after the other if parallel calls are disabled", async () => {
    const body = { tools, parallel_tool_calls: false };
    let history: object[] = [{ role: "user", content: input }];
    for (const name of ["get_weather", "run_code", "view"]) {
      history = await answered("sim-call", { ...body, input: history });
      expect(history.at(-2)).toMatchObject({ name });
    }
    expect(textOf(await ask(simulator(), { model: "sim-call", input: history, ...body }))).toContain(
      "“done”",
    );
  });

  it.each([
    ["the message writes none", { input: "Hello." }],
    ["none is chosen", { input, tool_choice: "none" }],
  ])("answers if %s", async (_, changes) => {
    const { output } = await ask(simulator(), { model: "sim-call", tools, ...changes });
    expect(output.map((item) => item.type)).toEqual(["message"]);
  });

  /** The conversation after one more answer, with the result "done" for each of its calls. */
  async function answered(model: string, body: { input: unknown; tools: unknown }): Promise<object[]> {
    const { output } = await ask(simulator(), { model, ...body });
    const before = Array.isArray(body.input) ? body.input : [{ role: "user", content: body.input }];
    const results = output.map(({ type, call_id }) => ({ type: `${type}_output`, call_id, output: "done" }));
    return [...before, ...output, ...results];
  }
});

describe("a namespace of tools", () => {
  it("must have a description and tools of the caller", async () => {
    const refusal = async (group: object): Promise<string> => {
      const tools = [{ type: "namespace", name: "files", ...group }];
      const request = ask(simulator(), { model: "sim-text", input: "x", tools });
      return request.then(
        () => "",
        (error: Error) => error.message,
      );
    };
    expect(await refusal({ tools: [] })).toContain("tools[0].description");
    expect(await refusal({ description: "x" })).toContain("tools[0].tools");
    expect(await refusal({ description: "x", tools: [{ type: "web_search" }] })).toContain("web_search");
  });
});

describe("sim-reasoning", () => {
  const think = (changes: object): Promise<AnsweredResponse> =>
    ask(simulator(), { model: "sim-reasoning:parts=3", input: "Why?", ...changes });

  it("sends summary and encrypted content only if the request asks for them", async () => {
    const [plain] = (await think({})).output;
    expect(plain).toMatchObject({ type: "reasoning", summary: [] });
    expect(plain).not.toHaveProperty("encrypted_content");
    const [shown] = (
      await think({ reasoning: { summary: "auto" }, include: ["reasoning.encrypted_content"] })
    ).output;
    expect(shown?.summary).toHaveLength(3);
    expect(shown?.encrypted_content).toMatch(/^gAAAAA/);
  });

  it("hides its summary if it is redacted, but still counts its reasoning", async () => {
    const changes = { reasoning: { summary: "auto" }, include: ["reasoning.encrypted_content"] };
    const { output, usage } = await think({ model: "sim-reasoning:redacted=1", ...changes });
    expect(output[0]).toMatchObject({
      summary: [],
      encrypted_content: expect.stringMatching(/^gAAAAA/) as string,
    });
    expect(usage.output_tokens_details.reasoning_tokens).toBeGreaterThan(100);
  });

  it("reasons as much as the effort says", async () => {
    const tokens = async (effort: string): Promise<number> =>
      (await think({ reasoning: { effort } })).usage.output_tokens_details.reasoning_tokens;
    expect(await tokens("none")).toBe(0);
    expect(await tokens("low")).toBeLessThan(await tokens("high"));
  });

  it("sends different encrypted content in each event, and an unusable one at first", async () => {
    const events = await stream(simulator(), {
      model: "sim-reasoning",
      input: "Why?",
      include: ["reasoning.encrypted_content"],
    });
    const [added, done] = events
      .filter((event) => event.item !== undefined)
      .map((event) => (event.item as { encrypted_content?: string }).encrypted_content ?? "");
    const completed = lastResponse(events).output[0]?.encrypted_content ?? "";
    expect(new Set([added, done, completed]).size).toBe(3);
    expect(added?.length).toBeLessThan(done?.length ?? 0);
    expect(done?.length).toBe(completed.length);
    const back = (content: string | undefined): Promise<AnsweredResponse> =>
      ask(simulator(), {
        model: "sim-text",
        input: [
          { type: "reasoning", summary: [], encrypted_content: content },
          { role: "assistant", content: "x" },
        ],
      });
    expect((await back(done)).status).toBe("completed");
    expect((await back(completed)).status).toBe("completed");
    await expect(back(added)).rejects.toThrow("invalid_encrypted_content");
  });
});

describe("sim-long", () => {
  it.each([1, 74, 75, 500])("writes exactly %d tokens", async (tokens) => {
    const response = await ask(simulator(), { model: `sim-long:tokens=${tokens},rate=1000000`, input: "x" });
    expect(response.usage.output_tokens).toBe(tokens);
    expect(countTokens(textOf(response))).toBe(tokens);
  });
});

describe("sim-refusal", () => {
  it("refuses", async () => {
    const { output } = await ask(simulator(), { model: "sim-refusal", input: "x" });
    expect(output[0]?.content).toEqual([
      { type: "refusal", refusal: expect.stringContaining("can’t assist") as string },
    ]);
  });
});

describe("max_output_tokens", () => {
  it.each([
    ["sim-text", 16, "message"],
    ["sim-long:rate=1000000", 100, "message"],
    ["sim-reasoning", 20, "reasoning"],
    ["sim-tools", 16, "function_call"],
  ])("truncates %s after %d tokens", async (model, limit, type) => {
    const parameters = {
      type: "object",
      properties: { text: { type: "string", minLength: 200 } },
      required: ["text"],
    };
    const tools = [{ type: "function", name: "write", parameters }];
    const response = await ask(simulator(), { model, input: "x", tools, max_output_tokens: limit });
    expect(response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    });
    expect(response.usage.output_tokens).toBe(limit);
    expect(response.output.at(-1)?.type).toBe(type);
  });

  it("has no effect if it is not reached", async () => {
    const response = await ask(simulator(), { model: "sim-text", input: "x", max_output_tokens: 5000 });
    expect(response).toMatchObject({ status: "completed", incomplete_details: null });
  });
});

describe("response formats", () => {
  it("json_object is an object", async () => {
    const response = await ask(simulator(), {
      model: "sim-text",
      input: "Answer in JSON.",
      text: { format: { type: "json_object" } },
    });
    expect(JSON.parse(textOf(response))).toMatchObject({ question: "Answer in JSON." });
  });

  it("json_schema applies after a round of tool calls, too", async () => {
    const format = {
      type: "json_schema",
      name: "x",
      schema: {
        type: "object",
        properties: { ok: { type: "boolean" } },
        required: ["ok"],
        additionalProperties: false,
      },
      strict: true,
    };
    const input = [
      { role: "user", content: "x" },
      { type: "function_call", call_id: "c", name: "get_weather", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "rain" },
    ];
    const response = await ask(simulator(), {
      model: "sim-tools",
      input,
      tools: [weatherTool],
      text: { format },
    });
    expect(JSON.parse(textOf(response))).toEqual({ ok: expect.any(Boolean) as boolean });
  });
});

describe("hosted tools", () => {
  it("search the web and cite it at the right positions", async () => {
    const { output, ...rest } = await ask(simulator(), {
      model: "sim-text:citations=3",
      input: "News?",
      tools: [{ type: "web_search" }],
    });
    expect(output.map((item) => item.type)).toEqual(["web_search_call", "message"]);
    expect(output[0]?.action).toEqual({ type: "search", query: "News?" });
    const text = textOf({ output });
    const annotations = output[1]?.content?.[0]?.annotations ?? [];
    expect(annotations).toHaveLength(3);
    for (const { start_index, end_index, url } of annotations) {
      expect(text.slice(start_index, end_index)).toBe(`([www.example.com](${url}))`);
    }
    expect(rest).toMatchObject({ tool_usage: { web_search: { num_requests: 1 } } });
  });

  it("list their sources if the request asks for them", async () => {
    const include = ["web_search_call.action.sources"];
    const { output } = await ask(simulator(), {
      model: "sim-text",
      input: "News?",
      tools: [{ type: "web_search" }],
      include,
    });
    expect(output[0]?.action?.sources).toHaveLength(2);
  });

  it("are not used if the tool choice is none", async () => {
    const { output } = await ask(simulator(), {
      model: "sim-text",
      input: "News?",
      tools: [{ type: "web_search" }],
      tool_choice: "none",
    });
    expect(output.map((item) => item.type)).toEqual(["message"]);
  });

  it("generate a valid PNG", async () => {
    const { output } = await ask(simulator(), {
      model: "sim-text",
      input: "A boat",
      tools: [{ type: "image_generation" }],
    });
    const png = Buffer.from(output[0]?.result ?? "", "base64");
    expect(png.subarray(1, 4).toString()).toBe("PNG");
    expect(png.subarray(12, 16).toString()).toBe("IHDR");
    const data = png.indexOf("IDAT");
    const pixels = inflateSync(png.subarray(data + 4, data + 4 + png.readUInt32BE(data - 4)));
    expect(pixels).toHaveLength(png.readUInt32BE(20) * (1 + 3 * png.readUInt32BE(16)));
  });
});

describe("a stored response", () => {
  const again = (id: string): Promise<AnsweredResponse> =>
    ask(simulator(), { model: "sim-echo", previous_response_id: id, input: "and?" });

  it("can be continued, and its tokens count as input", async () => {
    const { id } = await ask(simulator(), { model: "sim-echo", input: "a long beginning ".repeat(50) });
    expect((await again(id)).usage.input_tokens).toBeGreaterThan(200);
  });

  it("is available once its stream has ended", async () => {
    const { id } = lastResponse(await stream(simulator(), { model: "sim-echo", input: "x" }));
    expect((await again(id)).status).toBe("completed");
  });

  it("is not available when it was not stored, or failed", async () => {
    const { id } = await ask(simulator(), { model: "sim-echo", input: "x", store: false });
    await expect(again(id)).rejects.toThrow("previous_response_not_found");
    const failed = await stream(simulator(), {
      model: "sim-echo:error_after=4,error_style=failed",
      input: "x",
    });
    await expect(again(lastResponse(failed).id)).rejects.toThrow("previous_response_not_found");
  });
});

describe("the prompt cache", () => {
  const long = "The tide turns twice a day. ".repeat(300);

  it("finds the prefix of an earlier prompt", async () => {
    const body = { model: "sim-text", instructions: long };
    const first = await ask(simulator(), { ...body, input: "One" });
    const second = await ask(simulator(), { ...body, input: "Two" });
    expect(first.usage.input_tokens_details).toEqual({ cached_tokens: 0, cache_write_tokens: 2048 });
    expect(second.usage.input_tokens_details).toEqual({ cached_tokens: 2048, cache_write_tokens: 0 });
    expect(second.usage.input_tokens).toBeGreaterThan(2048);
  });

  it("finds the common prefix, in whole blocks", async () => {
    const first = `${"same ".repeat(1200)}${"first ".repeat(1000)}`;
    const second = `${"same ".repeat(1200)}${"other ".repeat(1000)}`;
    await ask(simulator(), { model: "sim-text", instructions: first, input: "x" });
    const { usage } = await ask(simulator(), { model: "sim-text", instructions: second, input: "x" });
    expect(usage.input_tokens_details.cached_tokens).toBe(1408);
  });

  it("does not apply to short prompts, or across scripts", async () => {
    const short = { model: "sim-text", input: "Hello" };
    await ask(simulator(), short);
    expect((await ask(simulator(), short)).usage.input_tokens_details.cached_tokens).toBe(0);
    const { usage } = await ask(simulator(), { model: "sim-echo", instructions: long, input: "One" });
    expect(usage.input_tokens_details.cached_tokens).toBe(0);
  });
});

describe("stream_options", () => {
  it("switches obfuscation off", async () => {
    const body = { model: "sim-text", input: "x" };
    const padded = (await stream(simulator(), body)).filter((event) => "delta" in event);
    expect(
      padded.every((event) => (String(event.delta).length + String(event.obfuscation).length) % 16 === 0),
    ).toBe(true);
    const bare = await stream(simulator(), { ...body, stream_options: { include_obfuscation: false } });
    expect(bare.some((event) => "obfuscation" in event)).toBe(false);
  });
});

describe("the settings of a request", () => {
  it("are repeated in its answer, with tools made strict if possible", async () => {
    const lax = {
      type: "object",
      properties: { a: { type: "object", properties: { b: { type: "string" } }, required: ["b"] } },
      required: ["a"],
    };
    const optional = { type: "object", properties: { a: { type: "string" } } };
    const tools = [
      { type: "function", name: "f", parameters: lax },
      { type: "function", name: "g", parameters: optional },
    ];
    const response = await ask(simulator(), {
      model: "sim-text",
      input: "x",
      tools,
      metadata: { k: "v" },
      temperature: 0.5,
    });
    expect(response).toMatchObject({
      metadata: { k: "v" },
      temperature: 0.5,
      tools: [
        {
          name: "f",
          strict: true,
          parameters: { additionalProperties: false, properties: { a: { additionalProperties: false } } },
        },
        { name: "g", strict: false, parameters: optional },
      ],
    });
  });
});
