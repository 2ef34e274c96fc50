import { describe, expect, it } from "vitest";
import { type ParsedEvent, useSimulator } from "../support.ts";
import {
  type AnsweredMessage,
  ask,
  type Block,
  hello,
  refusal,
  stream,
  textOf,
  weatherTool,
} from "./support.ts";

const simulator = useSimulator();

const search = { type: "web_search_20250305", name: "web_search" };
const getTypes = ({ content }: Pick<AnsweredMessage, "content">): string[] => content.map(({ type }) => type);
const user = (content: unknown): object => ({ role: "user", content });

describe("sim-tools", () => {
  const tools = [weatherTool, { ...weatherTool, name: "get_time" }];
  const listNames = ({ content }: AnsweredMessage): (string | undefined)[] => content.map(({ name }) => name);
  const call = (changes: object): Promise<AnsweredMessage> =>
    ask(simulator(), { model: "sim-tools:calls=3", messages: [user("In Oslo?")], tools, ...changes });

  it("calls as many tools as its options say, each with a unique id", async () => {
    const answer = await call({});
    expect(listNames(answer)).toEqual(["get_weather", "get_time", "get_weather"]);
    expect(new Set(answer.content.map(({ id }) => id)).size).toBe(3);
    expect(answer).toMatchObject({ stop_reason: "tool_use", content: [{ input: { city: "Oslo" } }, {}, {}] });
  });

  it.each<[string, object, string[]]>([
    [
      "one where parallel calls are not wanted",
      { type: "auto", disable_parallel_tool_use: true },
      ["get_weather"],
    ],
    ["the named tool alone", { type: "tool", name: "get_time" }, ["get_time", "get_time", "get_time"]],
    ["any of them", { type: "any" }, ["get_weather", "get_time", "get_weather"]],
  ])("calls %s", async (_, choice, names) => {
    expect(listNames(await call({ tool_choice: choice }))).toEqual(names);
  });

  it("answers with text if tool_choice is none", async () => {
    expect(getTypes(await call({ tool_choice: { type: "none" } }))).toEqual(["text"]);
  });

  it("writes a sentence before the calls if its options say so", async () => {
    expect(getTypes(await call({ model: "sim-tools:preamble=1" }))).toEqual(["text", "tool_use"]);
  });

  it("calls tools in each round, and answers from the last results", async () => {
    const model = "sim-tools:rounds=2";
    const messages: object[] = [user("Go on.")];
    for (let round = 1; round <= 2; round += 1) {
      const { content } = await call({ model, messages });
      expect(content.map(({ type }) => type)).toEqual(["tool_use"]);
      messages.push(
        { role: "assistant", content },
        user([{ type: "tool_result", tool_use_id: content[0]?.id, content: `result ${round}` }]),
      );
    }
    const text = textOf(await call({ model, messages }));
    expect(text).toContain("`get_weather` said “result 2”");
    expect(text).not.toContain("result 1");
  });

  it("is not the only model that calls a tool if a call is required", async () => {
    expect(getTypes(await call({ model: "sim-text", tool_choice: { type: "any" } })).at(-1)).toBe("tool_use");
  });
});

describe("sim-text", () => {
  it("names attachments, including attachments of tool results", async () => {
    const image = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" },
    };
    const document = {
      type: "document",
      title: "report.pdf",
      source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
    };
    const messages = [
      user([{ type: "text", text: "Look at these." }, document]),
      { role: "assistant", content: [{ type: "tool_use", id: "t_1", name: "draw", input: {} }] },
      user([{ type: "tool_result", tool_use_id: "t_1", content: [image] }]),
    ];
    const text = textOf(await ask(simulator(), { messages }));
    expect(text).toContain("2 attachment(s): document report.pdf, image image/png");
  });

  it("answers with JSON that fits the schema", async () => {
    const schema = {
      type: "object",
      properties: { ok: { type: "boolean" }, names: { type: "array", items: { type: "string" } } },
      required: ["ok", "names"],
      additionalProperties: false,
    };
    const answer = await ask(simulator(), { output_config: { format: { type: "json_schema", schema } } });
    expect(JSON.parse(textOf(answer))).toEqual({
      ok: expect.any(Boolean) as boolean,
      names: expect.arrayContaining([expect.any(String) as string]) as string[],
    });
  });
});

describe("stop sequences", () => {
  const echo = (text: string, changes: object): Promise<AnsweredMessage> =>
    ask(simulator(), { model: "sim-echo", messages: [user(text)], ...changes });

  it("end the answer right before the first match", async () => {
    expect(await echo("alpha bravo charlie", { stop_sequences: ["charlie", "bravo"] })).toMatchObject({
      content: [{ type: "text", text: "alpha " }],
      stop_reason: "stop_sequence",
      stop_sequence: "bravo",
    });
  });

  it("can leave an empty answer", async () => {
    expect(await echo("🌊 alpha", { stop_sequences: ["🌊"] })).toMatchObject({
      content: [],
      stop_reason: "stop_sequence",
      stop_sequence: "🌊",
      usage: { output_tokens: 0 },
    });
  });

  it("change nothing if they do not occur", async () => {
    const answer = await echo("alpha", { stop_sequences: ["bravo"] });
    expect(answer).toMatchObject({ stop_reason: "end_turn", stop_sequence: null });
  });
});

describe("max_tokens", () => {
  const tools = [
    {
      ...weatherTool,
      input_schema: { type: "object", properties: { text: { type: "string", minLength: 300 } } },
    },
  ];

  it.each([
    ["sim-text", 16, "text"],
    ["sim-reasoning", 20, "thinking"],
    ["sim-tools", 16, "tool_use"],
  ])("cuts %s off after %d tokens", async (model, limit, type) => {
    const changes = { model, tools, max_tokens: limit };
    const answer = await ask(simulator(), changes);
    expect(answer).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: limit } });
    expect(getTypes(answer).at(-1)).toBe(type);
    const events = await stream(simulator(), changes);
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "max_tokens" } });
  });

  it("cuts off arguments, which a whole answer omits", async () => {
    const changes = { model: "sim-tools", tools, max_tokens: 16 };
    const [call] = (await ask(simulator(), changes)).content;
    expect(call?.input).toEqual({});
    const pieces = (await stream(simulator(), changes)).map(
      ({ delta }) => (delta as { partial_json?: string } | undefined)?.partial_json ?? "",
    );
    expect(pieces.join("")).toMatch(/^\{"text":"/);
    expect(() => JSON.parse(pieces.join("")) as unknown).toThrow(SyntaxError);
  });
});

describe("refusals", () => {
  it("of sim-refusal have no content", async () => {
    expect(await ask(simulator(), { model: "sim-refusal" })).toMatchObject({
      content: [],
      stop_reason: "refusal",
      stop_details: {
        category: "general_harms",
        explanation: expect.stringContaining("can’t assist") as string,
      },
    });
  });

  it("can come in the middle of an answer", async () => {
    const whole = textOf(await ask(simulator(), {}));
    const refused = await ask(simulator(), { model: "sim-text:stop=content_filter" });
    expect(refused).toMatchObject({ stop_reason: "refusal", stop_details: { category: null } });
    expect(whole.startsWith(textOf(refused))).toBe(true);
    expect(textOf(refused)).not.toBe("");
  });
});

describe("web search", () => {
  const ask3 = (changes: object = {}): Promise<AnsweredMessage> =>
    ask(simulator(), {
      model: "sim-text:citations=3",
      messages: [user("News?")],
      tools: [search],
      ...changes,
    });

  it("returns its call, its results, and the citations of the text", async () => {
    const answer = await ask3();
    const [call, found] = answer.content;
    expect(call).toMatchObject({ type: "server_tool_use", name: "web_search", input: { query: "News?" } });
    expect(call?.id).toMatch(/^srvtoolu_/);
    expect(found).toMatchObject({ type: "web_search_tool_result", tool_use_id: call?.id });
    expect(found?.content).toHaveLength(3);
    const cited = answer.content.filter(({ citations }) => citations !== undefined);
    expect(
      cited.map(({ text, citations }) => text === `([www.example.com](${citations?.[0]?.url}))`),
    ).toEqual([true, true, true]);
    expect(answer.stop_reason).toBe("end_turn");
    expect(answer.usage.server_tool_use).toEqual({ web_search_requests: 1, web_fetch_requests: 0 });
  });

  it("is not used if tool_choice is none", async () => {
    const changes = { model: "sim-text", tool_choice: { type: "none" } };
    expect(getTypes(await ask3(changes))).toEqual(["text"]);
  });

  it("streams the same text", async () => {
    const changes = { model: "sim-text:citations=3", messages: [user("News?")], tools: [search] };
    const events = await stream(simulator(), changes);
    expect(streamedText(events)).toBe(textOf(await ask3()));
  });

  it("accepts its results sent back unchanged, and refuses altered ones", async () => {
    const { content } = await ask3();
    const goOn = (blocks: readonly object[]): object => ({
      ...hello,
      tools: [search],
      messages: [user("News?"), { role: "assistant", content: blocks }, user("More?")],
    });
    expect((await ask(simulator(), goOn(content))).stop_reason).toBe("end_turn");
    const altered = content.map((block) =>
      block.type === "web_search_tool_result" ? { ...block, content: forge(block) } : block,
    );
    expect(await refusal(simulator(), goOn(altered))).toMatchObject({
      status: 400,
      message: "messages.1.content.1.content.0: Invalid `encrypted_content` in `web_search_result` block",
    });
  });
});

function forge({ content }: Block): object[] {
  return (content as { encrypted_content: string }[]).map((each) => ({
    ...each,
    encrypted_content: `${each.encrypted_content.slice(0, -4)}AAAA`,
  }));
}

function streamedText(events: readonly ParsedEvent[]): string {
  return events.map(({ delta }) => (delta as { text?: string } | undefined)?.text ?? "").join("");
}
