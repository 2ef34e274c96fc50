import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import { type AnsweredMessage, ask, hello, refusal, weatherTool } from "./support.ts";

const simulator = useSimulator();

const mark = { cache_control: { type: "ephemeral" } };
const longMark = { cache_control: { type: "ephemeral", ttl: "1h" } };

/** A text of about that many tokens, that no other test has. */
const long = (tokens: number, about: string): string =>
  `${about} tide `.repeat(tokens * 4).slice(0, tokens * 4);
const text = (content: string, more: object = {}): object => ({ type: "text", text: content, ...more });
const user = (...content: object[]): object => ({ role: "user", content });

interface Counts {
  readonly input: number;
  readonly read: number;
  readonly written: number;
}

function countsOf({ usage }: AnsweredMessage): Counts {
  const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  return { input, read, written };
}

const count = async (changes: object): Promise<Counts> => countsOf(await ask(simulator(), changes));

describe("the prompt cache", () => {
  it("is not used without a mark", async () => {
    const body = { system: long(3000, "unmarked") };
    for (let each = 0; each < 2; each += 1) expect(await count(body)).toMatchObject({ read: 0, written: 0 });
  });

  it("writes up to a mark and reads it again, and counts neither as input", async () => {
    const system = [text(long(3000, "marked"), mark)];
    const first = await count({ system, messages: [user(text("One"))] });
    const second = await count({ system, messages: [user(text("Two"))] });
    expect(first).toMatchObject({ read: 0, written: expect.closeTo(3000, -2) as number });
    expect(second).toEqual({ input: first.input, read: first.written, written: 0 });
    expect(first.input).toBeLessThan(50);
  });

  it("grows with the conversation", async () => {
    const messages = [user(text(long(2000, "growing"), mark))];
    const first = await count({ messages });
    const longer = [
      user(text(long(2000, "growing"))),
      { role: "assistant", content: "Yes." },
      user(text(long(500, "more"), mark)),
    ];
    const second = await count({ messages: longer });
    expect(second.read).toBe(first.written);
    expect(second.written).toBeGreaterThan(450);
    expect((await count({ messages: longer })).read).toBe(second.read + second.written);
  });

  it("finds an entry up to twenty blocks before a mark, and no further", async () => {
    const begin = (about: string): object => text(long(2000, about));
    const filled = (about: string, blocks: number): object[] => [
      user(
        begin(about),
        ...Array.from({ length: blocks }, (_, index) => text(`block ${index}`)),
        text("end", mark),
      ),
    ];
    for (const [about, blocks, found] of [
      ["near", 18, true],
      ["far", 19, false],
    ] as const) {
      await count({ messages: [user({ ...begin(about), ...mark })] });
      expect((await count({ messages: filled(about, blocks) })).read > 0).toBe(found);
    }
  });

  it("begins with tools and instructions, which a changed setting does not spoil", async () => {
    const tools = [weatherTool];
    const system = [text(long(1500, "settings"), mark)];
    const messages = [user(text(long(1500, "asked"), mark))];
    const first = await count({ tools, system, messages });
    const other = await count({ tools, system, messages, tool_choice: { type: "none" } });
    expect(other.read).toBeGreaterThan(1400);
    expect(other.read).toBeLessThan(1700);
    expect(other.read + other.written).toBeGreaterThanOrEqual(first.written);
    const changed = await count({ tools: [{ ...weatherTool, description: "New." }], system, messages });
    expect(changed.read).toBe(0);
  });

  it("ignores what is too short", async () => {
    const system = [text(long(900, "short"), mark)];
    for (let each = 0; each < 2; each += 1)
      expect(await count({ system })).toMatchObject({ read: 0, written: 0 });
  });

  it("tells what is kept for an hour from what is kept for minutes", async () => {
    const body = {
      system: [text(long(1500, "hour"), longMark)],
      messages: [user(text(long(800, "minutes"), mark))],
    };
    const { usage } = await ask(simulator(), body);
    const { ephemeral_1h_input_tokens: hour, ephemeral_5m_input_tokens: minutes } = usage.cache_creation;
    expect(hour).toBeCloseTo(1500, -2);
    expect(minutes).toBeCloseTo(800, -2);
    expect(hour + minutes).toBe(usage.cache_creation_input_tokens);
  });

  it("marks the end by itself where asked at the top", async () => {
    const body = { ...mark, messages: [user(text(long(2000, "automatic")))] };
    const first = await count(body);
    expect(first.written).toBeGreaterThan(1900);
    expect((await count(body)).read).toBe(first.written);
  });

  it("takes marks on tools and within the results of tools", async () => {
    const tools = [{ ...weatherTool, description: long(1500, "tool"), ...mark }];
    const call = { type: "tool_use", id: "toolu_1", name: "get_weather", input: {} };
    const result = {
      type: "tool_result",
      tool_use_id: "toolu_1",
      content: [text(long(1500, "result"), mark)],
    };
    const messages = [user(text("x")), { role: "assistant", content: [call] }, user(result)];
    expect((await count({ tools, messages })).written).toBeGreaterThan(2900);
  });
});

describe("marks", () => {
  const complaint = async (changes: object): Promise<string> =>
    (await refusal(simulator(), { ...hello, ...changes })).message;
  const marked = (marks: number): object[] => [
    user(...Array.from({ length: marks }, (_, index) => text(`block ${index}`, mark))),
  ];

  it("are at most four, that at the top among them", async () => {
    expect(await complaint({ messages: marked(5) })).toBe(
      "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    );
    expect((await ask(simulator(), { messages: marked(4), ...mark })).stop_reason).toBe("end_turn");
    const messages = [...marked(4), { role: "assistant", content: "x" }, user(text("y"))];
    expect(await complaint({ messages, ...mark })).toContain("Found 5.");
  });

  it("may not be longer than those before them", async () => {
    const messages = [user(text("a", mark), text("b", longMark))];
    expect(await complaint({ messages })).toContain(
      "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.",
    );
  });
});
