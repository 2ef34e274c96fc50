import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import { type AnsweredMessage, ask, hello, refusal, weatherTool } from "./support.ts";

const simulator = useSimulator();

const breakpoint = { cache_control: { type: "ephemeral" } };
const hourBreakpoint = { cache_control: { type: "ephemeral", ttl: "1h" } };

/** A text of about that many tokens, unique to one test. */
const long = (tokens: number, about: string): string =>
  `${about} tide `.repeat(tokens * 4).slice(0, tokens * 4);
const text = (content: string, more: object = {}): object => ({ type: "text", text: content, ...more });
const user = (...content: object[]): object => ({ role: "user", content });

interface Counts {
  readonly input: number;
  readonly read: number;
  readonly written: number;
}

function checkCounts({ usage }: AnsweredMessage): Counts {
  const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  return { input, read, written };
}

const count = async (changes: object): Promise<Counts> => checkCounts(await ask(simulator(), changes));

describe("the prompt cache", () => {
  it("is not used without a breakpoint", async () => {
    const body = { system: long(3000, "plain") };
    for (let each = 0; each < 2; each += 1) expect(await count(body)).toMatchObject({ read: 0, written: 0 });
  });

  it("is written up to a breakpoint and read by the next request, and neither counts as input", async () => {
    const system = [text(long(3000, "cached"), breakpoint)];
    const first = await count({ system, messages: [user(text("One"))] });
    const second = await count({ system, messages: [user(text("Two"))] });
    expect(first).toMatchObject({ read: 0, written: expect.closeTo(3000, -2) as number });
    expect(second).toEqual({ input: first.input, read: first.written, written: 0 });
    expect(first.input).toBeLessThan(50);
  });

  it("grows with the conversation", async () => {
    const messages = [user(text(long(2000, "growing"), breakpoint))];
    const first = await count({ messages });
    const longer = [
      user(text(long(2000, "growing"))),
      { role: "assistant", content: "Yes." },
      user(text(long(500, "more"), breakpoint)),
    ];
    const second = await count({ messages: longer });
    expect(second.read).toBe(first.written);
    expect(second.written).toBeGreaterThan(450);
    expect((await count({ messages: longer })).read).toBe(second.read + second.written);
  });

  it("finds an entry up to twenty blocks before a breakpoint, and no further", async () => {
    const begin = (about: string): object => text(long(2000, about));
    const filled = (about: string, blocks: number): object[] => [
      user(
        begin(about),
        ...Array.from({ length: blocks }, (_, index) => text(`block ${index}`)),
        text("end", breakpoint),
      ),
    ];
    for (const [about, blocks, found] of [
      ["near", 18, true],
      ["far", 19, false],
    ] as const) {
      await count({ messages: [user({ ...begin(about), ...breakpoint })] });
      expect((await count({ messages: filled(about, blocks) })).read > 0).toBe(found);
    }
  });

  it("keeps tools and instructions if a setting of the messages changes", async () => {
    const tools = [weatherTool];
    const system = [text(long(1500, "settings"), breakpoint)];
    const messages = [user(text(long(1500, "asked"), breakpoint))];
    const first = await count({ tools, system, messages });
    const other = await count({ tools, system, messages, tool_choice: { type: "none" } });
    expect(other.read).toBeGreaterThan(1400);
    expect(other.read).toBeLessThan(1700);
    expect(other.read + other.written).toBeGreaterThanOrEqual(first.written);
    const changed = await count({ tools: [{ ...weatherTool, description: "New." }], system, messages });
    expect(changed.read).toBe(0);
  });

  it("ignores a prompt that is too short", async () => {
    const system = [text(long(900, "short"), breakpoint)];
    for (let each = 0; each < 2; each += 1)
      expect(await count({ system })).toMatchObject({ read: 0, written: 0 });
  });

  it("counts tokens kept for an hour separately from those kept for minutes", async () => {
    const body = {
      system: [text(long(1500, "hour"), hourBreakpoint)],
      messages: [user(text(long(800, "minutes"), breakpoint))],
    };
    const { usage } = await ask(simulator(), body);
    const { ephemeral_1h_input_tokens: hour, ephemeral_5m_input_tokens: minutes } = usage.cache_creation;
    expect(hour).toBeCloseTo(1500, -2);
    expect(minutes).toBeCloseTo(800, -2);
    expect(hour + minutes).toBe(usage.cache_creation_input_tokens);
  });

  it("has a breakpoint at the end if the request has cache_control", async () => {
    const body = { ...breakpoint, messages: [user(text(long(2000, "automatic")))] };
    const first = await count(body);
    expect(first.written).toBeGreaterThan(1900);
    expect((await count(body)).read).toBe(first.written);
  });

  it("supports breakpoints on tools and inside tool results", async () => {
    const tools = [{ ...weatherTool, description: long(1500, "tool"), ...breakpoint }];
    const call = { type: "tool_use", id: "toolu_1", name: "get_weather", input: {} };
    const result = {
      type: "tool_result",
      tool_use_id: "toolu_1",
      content: [text(long(1500, "result"), breakpoint)],
    };
    const messages = [user(text("x")), { role: "assistant", content: [call] }, user(result)];
    expect((await count({ tools, messages })).written).toBeGreaterThan(2900);
  });
});

describe("cache breakpoints", () => {
  const refusalMessage = async (changes: object): Promise<string> =>
    (await refusal(simulator(), { ...hello, ...changes })).message;
  const messagesWithBreakpoints = (breakpoints: number): object[] => [
    user(...Array.from({ length: breakpoints }, (_, index) => text(`block ${index}`, breakpoint))),
  ];

  it("are refused above four, including the request's breakpoint", async () => {
    expect(await refusalMessage({ messages: messagesWithBreakpoints(5) })).toBe(
      "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    );
    expect(
      (await ask(simulator(), { messages: messagesWithBreakpoints(4), ...breakpoint })).stop_reason,
    ).toBe("end_turn");
    const messages = [...messagesWithBreakpoints(4), { role: "assistant", content: "x" }, user(text("y"))];
    expect(await refusalMessage({ messages, ...breakpoint })).toContain("Found 5.");
  });

  it("are refused if they last longer than those before them", async () => {
    const messages = [user(text("a", breakpoint), text("b", hourBreakpoint))];
    expect(await refusalMessage({ messages })).toContain(
      "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.",
    );
  });
});
