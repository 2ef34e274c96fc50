/** Prompt caching (specification §8.6, §2.10): conversations that grow are read from the provider's cache, counted as such. */
import { type Message, type Response, systemMessage, userMessage } from "outrigger";
import { expect } from "vitest";
import { conversationIn, requestTo, runTools, weatherTool } from "./support/asking.ts";
import { type Column, type Stage, setStage } from "./support/columns.ts";
import { type Json, object, objects } from "./support/facts.ts";
import { proveTable } from "./support/table.ts";

const TURNS = 6;
const instructions = systemMessage("Mind the tide tables of every harbour on the way. ".repeat(400));

proveTable("§8.6 Prompt caching", [
  {
    title: "Turn 5 and later: more than half of the input is read",
    async prove(column) {
      await using stage = await setStage();
      const turns = await converse(stage, column);
      const shares = turns.map(({ usage }) => (usage?.cacheReadTokens ?? 0) / (usage?.inputTokens ?? 0));
      expect(shares[0]).toBe(0);
      for (const share of shares.slice(4)) expect(share).toBeGreaterThan(0.5);
    },
  },
  {
    title: "The same with tool calls and thinking in the conversation",
    async prove(column) {
      await using stage = await setStage("sim-reasoning:rounds=2");
      const turns = await converse(stage, column, { tools: [weatherTool], reasoningEffort: "low" });
      const shares = turns.map(({ usage }) => (usage?.cacheReadTokens ?? 0) / (usage?.inputTokens ?? 0));
      expect(turns.length).toBe(3 * TURNS);
      for (const share of shares.slice(4)) expect(share).toBeGreaterThan(0.5);
    },
  },
  {
    title: "cache_read_tokens are the provider's count, within input_tokens",
    async prove(column) {
      await using stage = await setStage();
      const turns = await converse(stage, column, { includeRaw: true });
      const counts = turns.map(({ rawJson }) => column.count(JSON.parse(rawJson)));
      expect(turns.map(({ usage }) => usage?.cacheReadTokens ?? 0)).toEqual(
        counts.map(({ cacheRead }) => cacheRead),
      );
      expect(turns.map(({ usage }) => usage?.inputTokens)).toEqual(counts.map(({ input }) => input));
    },
  },
  {
    title: "No setting is needed: the request says nothing of caching",
    only: ["openai", "gemini", "compatible"],
    async prove(column) {
      await using stage = await setStage();
      await converse(stage, column);
      for (const { body } of stage.requests)
        expect(keysIn(body).filter((key) => /cache/i.test(key))).toEqual([]);
    },
  },
  {
    title: "Each turn begins with the bytes of the turn before",
    async prove(column) {
      await using stage = await setStage("sim-reasoning");
      await converse(stage, column, { tools: [weatherTool], reasoningEffort: "low" });
      proveGrowth(stage.requests.map(({ body }) => conversationIn(object(body))));
    },
  },
  {
    title: "cache_write_tokens are told",
    only: ["openai", "anthropic"],
    async prove(column) {
      await using stage = await setStage();
      const [first, second] = await converse(stage, column);
      expect(first?.usage?.cacheWriteTokens).toBeGreaterThan(4000);
      expect(second?.usage?.cacheWriteTokens).toBeLessThan(1000);
    },
  },
  {
    title: "Breakpoints stand on tools, system and conversation, four at most",
    only: ["anthropic"],
    async prove(column) {
      await using stage = await setStage("sim-reasoning:rounds=2");
      await converse(stage, column, { tools: [weatherTool], reasoningEffort: "low" });
      for (const { body } of stage.requests) {
        const { tools, system, messages } = object(body);
        const turns = objects(messages);
        expect([marksIn(tools), marksIn(system), marksIn(turns.at(-1))]).toEqual([1, 1, 1]);
        expect(marksIn(body)).toBeLessThanOrEqual(4);
        expect(marksIn(blocksOf(turns, "thinking"))).toBe(0);
      }
      expect(marksIn(stage.bodyAt())).toBe(4);
    },
  },
  {
    title: "auto_cache: false places none, and nothing is cached",
    only: ["anthropic"],
    async prove(column) {
      await using stage = await setStage();
      const providerOptionsJson = { anthropic: JSON.stringify({ auto_cache: false }) };
      const turns = await converse(stage, column, { providerOptionsJson });
      expect(stage.requests.map(({ body }) => marksIn(body))).toEqual(Array(TURNS).fill(0));
      for (const { usage } of turns) expect(usage).toMatchObject({ cacheReadTokens: 0, cacheWriteTokens: 0 });
    },
  },
  {
    title: "prompt-caching-2024-07-31 is sent to whoever asks for it",
    only: ["anthropic"],
    async prove(column) {
      await using stage = await setStage();
      const messages = [userMessage("Where are we?")];
      const providerOptionsJson = { anthropic: JSON.stringify({ send_legacy_cache_header: true }) };
      await stage.client.complete(requestTo(column, { messages }));
      await stage.client.complete(requestTo(column, { messages, providerOptionsJson }));
      const betas = stage.requests.map(({ headers }) => headers["anthropic-beta"]);
      expect(betas).toEqual([undefined, "prompt-caching-2024-07-31"]);
    },
  },
]);

/** A conversation of six turns. Returns the answer to every request. */
async function converse(
  stage: Stage,
  column: Column,
  question: Omit<Parameters<typeof runTools>[2], "messages"> = {},
): Promise<Response[]> {
  const answers: Response[] = [];
  let messages: Message[] = [instructions];
  for (let turn = 1; turn <= TURNS; turn += 1) {
    messages.push(userMessage(`Where are we on day ${turn}, and what is the weather in Lima?`));
    const ran = await runTools(stage.client, column, { ...question, messages });
    answers.push(...ran.steps);
    messages = ran.messages;
  }
  return answers;
}

function proveGrowth(conversations: readonly (readonly string[])[]): void {
  expect(conversations.length).toBeGreaterThanOrEqual(TURNS);
  for (const [index, later] of conversations.slice(1).entries()) {
    const earlier = conversations[index] ?? [];
    expect(later.length).toBeGreaterThan(earlier.length);
    expect(later.slice(0, earlier.length)).toEqual(earlier);
  }
}

function keysIn(body: unknown): string[] {
  const keys: string[] = [];
  JSON.stringify(body, (key, value) => {
    keys.push(key);
    return value;
  });
  return keys;
}

function marksIn(value: unknown): number {
  return JSON.stringify(value).split('"cache_control":').length - 1;
}

function blocksOf(messages: readonly Json[], type: string): Json[] {
  return messages.flatMap(({ content }) => objects(content)).filter((block) => block.type === type);
}
