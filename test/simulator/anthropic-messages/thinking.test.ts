import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
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

const question = { role: "user", content: "What is the weather in Paris?" };

/** Asks for an answer with thinking and a tool call. */
const request = {
  model: "sim-reasoning",
  thinking: { type: "adaptive", display: "summarized" },
  tools: [weatherTool],
  system: "Be kind.",
  messages: [question],
};

const think = (changes: object = {}): Promise<AnsweredMessage> =>
  ask(simulator(), { ...request, ...changes });

/** The user message with the results of an answer's calls. */
function getResults({ content }: Pick<AnsweredMessage, "content">): object {
  const calls = content.filter(({ type }) => type === "tool_use");
  return {
    role: "user",
    content: calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "rain" })),
  };
}

/** The request that continues an answer, with blocks that may differ from the answer's. */
function continuing(
  answer: AnsweredMessage,
  content: readonly object[] = answer.content,
  changes: object = {},
): object {
  const messages = [question, { role: "assistant", content }, getResults(answer)];
  return { ...hello, ...request, messages, ...changes };
}

describe("the text of thinking", () => {
  it.each([
    [{ type: "adaptive" }, ""],
    [{ type: "adaptive", display: "omitted" }, ""],
    [{ type: "enabled", budget_tokens: 1024, display: "omitted" }, ""],
    [undefined, ""],
    [{ type: "adaptive", display: "summarized" }, "**"],
    [{ type: "enabled", budget_tokens: 1024 }, "**"],
  ])("with %j starts with %j", async (thinking, beginning) => {
    const [block] = (await think({ thinking })).content;
    expect(block?.type).toBe("thinking");
    expect(block?.thinking?.slice(0, 2)).toBe(beginning);
    expect(block?.signature).toMatch(/^E[\w+/]+=*$/);
  });

  it("is empty if thinking is disabled", async () => {
    const { content, usage } = await think({ thinking: { type: "disabled" } });
    expect(content.map(({ type }) => type)).toEqual(["tool_use"]);
    expect(usage.output_tokens_details).toBeUndefined();
  });

  it("appears only between tool calls if the request says so", async () => {
    const thinking = { type: "between_tools" };
    const first = await think({ thinking });
    expect(first.content.map(({ type }) => type)).toEqual(["tool_use"]);
    const second = await ask(simulator(), continuing(first, first.content, { thinking }));
    expect(second.content.map(({ type }) => type)).toEqual(["thinking", "text"]);
  });

  it("is as long as the effort or the budget allows", async () => {
    const tokens = async (changes: object): Promise<number> =>
      (await think(changes)).usage.output_tokens_details?.thinking_tokens ?? 0;
    const low = await tokens({ output_config: { effort: "low" } });
    expect(low).toBeLessThan(await tokens({ output_config: { effort: "max" } }));
    expect(await tokens({ thinking: { type: "enabled", budget_tokens: 1024 } })).toBe(low);
  });

  it("is in separate blocks if it is redacted", async () => {
    const { content } = await think({ model: "sim-reasoning:redacted=1,parts=3" });
    expect(content.map(({ type }) => type)).toEqual([
      ...Array.from({ length: 3 }, () => "redacted_thinking"),
      "tool_use",
    ]);
    expect(new Set(content.slice(0, 3).map(({ data }) => data)).size).toBe(3);
  });

  it("is streamed with its signature last, and redacted thinking in one event", async () => {
    const getKinds = async (model: string): Promise<unknown[]> => {
      const events = await stream(simulator(), { ...request, model });
      return events
        .filter(({ index }) => index === 0)
        .map(({ type, delta }) => (delta as { type: string } | undefined)?.type ?? type);
    };
    const shown = await getKinds("sim-reasoning");
    expect(shown.slice(-3)).toEqual(["thinking_delta", "signature_delta", "content_block_stop"]);
    expect(await getKinds("sim-reasoning:redacted=1")).toEqual(["content_block_start", "content_block_stop"]);
  });
});

describe("thinking that is sent back", () => {
  const answerTo = async (body: object): Promise<string> => textOf(await ask(simulator(), body));
  const refusalMessage = async (body: object): Promise<string> => (await refusal(simulator(), body)).message;

  it.each(["sim-reasoning", "sim-reasoning:redacted=1", "sim-reasoning:calls=3,preamble=1"])(
    "of %s is accepted unchanged",
    async (model) => {
      const first = await think({ model });
      expect(await answerTo(continuing(first, first.content, { model }))).toContain("rain");
    },
  );

  it("is accepted by another simulator and by another model", async () => {
    const first = await think();
    expect(await answerTo(continuing(first, first.content, { model: "sim-text" }))).toContain("rain");
  });

  it("can be left out if another model wrote it", async () => {
    const first = await think();
    const calls = first.content.filter(({ type }) => type === "tool_use");
    expect(await answerTo(continuing(first, calls, { model: "sim-text" }))).toContain("rain");
    expect(await refusalMessage(continuing(first, calls))).toContain("cannot be modified");
  });

  it("can come before a longer conversation", async () => {
    const model = "sim-reasoning:rounds=2";
    const first = await think({ model });
    const second = await ask(simulator(), continuing(first, first.content, { model }));
    expect(second.content.map(({ type }) => type)).toEqual(["thinking", "tool_use"]);
    const messages = [
      question,
      { role: "assistant", content: first.content },
      getResults(first),
      { role: "assistant", content: second.content },
      getResults(second),
    ];
    expect(await answerTo({ ...request, model, messages })).toContain("rain");
    const shortened = messages.with(1, { role: "assistant", content: first.content.slice(1) });
    expect(await refusalMessage({ ...hello, ...request, model, messages: shortened })).toContain(
      "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation",
    );
  });

  it("is accepted with changed cache breakpoints, citations and texts as strings", async () => {
    const first = await think();
    const messages = [
      {
        role: "user",
        content: [{ type: "text", text: question.content, cache_control: { type: "ephemeral" } }],
      },
      { role: "assistant", content: first.content },
      getResults(first),
    ];
    const withBreakpoint = {
      messages,
      tools: [{ ...weatherTool, cache_control: { type: "ephemeral" } }],
      system: [{ type: "text", text: "Be kind.", cache_control: { type: "ephemeral" } }],
    };
    expect(await answerTo(continuing(first, first.content, withBreakpoint))).toContain("rain");
  });

  it.each<[string, object]>([
    ["tools", { tools: [{ ...weatherTool, description: "Another." }] }],
    ["instructions", { system: "Be unkind." }],
    ["model's question", { messages: undefined }],
  ])("is refused if the %s changed", async (_, changes) => {
    const first = await think();
    const other = { role: "user", content: "What is the weather in Rome?" };
    const messages = [other, { role: "assistant", content: first.content }, getResults(first)];
    const body = continuing(first, first.content, "messages" in changes ? { messages } : changes);
    expect(await refusalMessage(body)).toContain("The block is bound to a different conversation");
  });

  it("is dropped if the tools changed and the request wants that", async () => {
    const first = await think();
    const thinking = { ...request.thinking, block_binding: { prefix_mismatch_behavior: "drop_block" } };
    const changes = { tools: [{ ...weatherTool, description: "Another." }], thinking };
    const headers = { "anthropic-beta": "thinking-binding-controls-2026-08-01" };
    const answer = await ask(simulator(), continuing(first, first.content, changes), headers);
    expect(answer.input_transformations).toEqual([
      { type: "thinking_dropped", reason: "prefix_binding_mismatch", path: "messages.1.content.0" },
    ]);
    const unchanged = await ask(simulator(), continuing(first, first.content, { thinking }), headers);
    expect(unchanged.input_transformations).toEqual([]);
    expect(await refusalMessage(continuing(first, first.content, changes))).toContain(
      "thinking.adaptive.block_binding",
    );
  });

  it.each<[string, (blocks: Block[]) => object[], string]>([
    [
      "text",
      ([first, ...rest]) => [{ ...first, thinking: `${first?.thinking}.` }, ...rest],
      "Invalid `signature` in `thinking` block",
    ],
    [
      "signature",
      ([first, ...rest]) => [{ ...first, signature: `${first?.signature?.slice(0, -4)}AAAA` }, ...rest],
      "Invalid `signature` in `thinking` block",
    ],
    [
      "signature's spelling",
      ([first, ...rest]) => [{ ...first, signature: first?.signature?.replace(/=*$/, "\n") }, ...rest],
      "Invalid `signature` in `thinking` block",
    ],
  ])("is refused if its %s was altered", async (_, change, message) => {
    const first = await think();
    expect(await refusalMessage(continuing(first, change([...first.content])))).toContain(message);
  });

  it.each<[string, (blocks: Block[]) => object[], string]>([
    [
      "altered",
      ([first, ...rest]) => [{ ...first, data: `${first?.data?.slice(0, -4)}AAAA` }, ...rest],
      "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    ],
    [
      "put into another order",
      ([first, second, ...rest]) => [second ?? {}, first ?? {}, ...rest],
      "Invalid `data` in `redacted_thinking` block. The block is bound to a different conversation",
    ],
    ["left out in part", ([, ...rest]) => rest, "blocks in the latest assistant message cannot be modified"],
    ["left out", ([, , ...rest]) => rest, "blocks in the latest assistant message cannot be modified"],
    [
      "put after the call",
      ([first, second, ...rest]) => [...rest, first ?? {}, second ?? {}],
      "cannot be modified",
    ],
  ])("is refused if it is redacted and was %s", async (_, change, message) => {
    const model = "sim-reasoning:redacted=1";
    const first = await think({ model });
    expect(await refusalMessage(continuing(first, change([...first.content]), { model }))).toContain(message);
  });

  it("must come first if there is a budget", async () => {
    const thinking = { type: "enabled", budget_tokens: 1024 };
    const foreign = { type: "tool_use", id: "call_1", name: "get_weather", input: {} };
    const answer = { ...(await think()), content: [foreign] };
    expect(await refusalMessage(continuing(answer, [foreign], { thinking }))).toContain(
      "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    );
    expect(await answerTo(continuing(answer, [foreign]))).toContain("rain");
  });

  it("cannot have a cache breakpoint", async () => {
    const first = await think();
    const withBreakpoint = first.content.map((block) => ({ ...block, cache_control: { type: "ephemeral" } }));
    expect(await refusalMessage(continuing(first, withBreakpoint))).toBe(
      "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    );
  });
});
