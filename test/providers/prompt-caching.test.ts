/** Prompt caching: growing conversations are read from the provider's cache, and the tokens are counted. */
import { type Message, type Response, systemMessage, userMessage } from "outrigger";
import { beforeAll, expect } from "vitest";
import { conversationIn, type RequestFields, requestTo, runTools, weatherTool } from "./support/calls.ts";
import { type Column, type ColumnName, columns, createFixture, type Fixture } from "./support/columns.ts";
import { type Json, object, objects } from "./support/facts.ts";
import { testTable } from "./support/table.ts";

const TURNS = 6;
const instructions = systemMessage("Mind the tide tables of every harbour on the way. ".repeat(400));

/** A conversation of six turns: the response to every request, and the bodies that were sent. */
interface Conversation {
  readonly answers: readonly Response[];
  readonly bodies: readonly Json[];
}

/** By provider: with questions and answers only, and with reasoning and two rounds of tool calls in each turn. */
const plainConversations = new Map<ColumnName, Conversation>();
const toolConversations = new Map<ColumnName, Conversation>();

beforeAll(async () => {
  const busy = { tools: [weatherTool], reasoningEffort: "low" };
  for (const column of columns) {
    plainConversations.set(column.name, await runConversation(column, "sim-text", { includeRaw: true }));
    toolConversations.set(column.name, await runConversation(column, "sim-reasoning:rounds=2", busy));
  }
});

testTable("Prompt caching", [
  {
    title: "From turn 5 on, more than half of the input is read from the cache",
    verify({ name }) {
      const shares = cachedShares(plainConversations.get(name));
      expect(shares).toHaveLength(TURNS);
      expect(shares[0]).toBe(0);
      for (const share of shares.slice(4)) expect(share).toBeGreaterThan(0.5);
    },
  },
  {
    title: "The same holds with tool calls and reasoning in the conversation",
    verify({ name }) {
      const shares = cachedShares(toolConversations.get(name));
      expect(shares).toHaveLength(3 * TURNS);
      for (const share of shares.slice(4)) expect(share).toBeGreaterThan(0.5);
    },
  },
  {
    title: "cache_read_tokens are the provider's count, within input_tokens",
    verify({ name, count }) {
      const { answers = [] } = plainConversations.get(name) ?? {};
      const counts = answers.map(({ rawJson }) => count(JSON.parse(rawJson)));
      const reported = answers.map(({ usage }) => [usage?.cacheReadTokens ?? 0, usage?.inputTokens]);
      expect(reported).toEqual(counts.map(({ cacheRead, input }) => [cacheRead, input]));
    },
  },
  {
    title: "No setting is needed where the provider caches automatically",
    only: ["openai", "gemini", "compatible"],
    verify({ name }) {
      const keys = plainConversations.get(name)?.bodies.flatMap(keysIn) ?? [];
      expect(keys).not.toEqual([]);
      expect(keys.filter((key) => /cache/i.test(key))).toEqual([]);
    },
  },
  {
    title: "Each turn begins with the bytes of the turn before",
    verify({ name }) {
      const { bodies = [] } = toolConversations.get(name) ?? {};
      expect(new Set(bodies.map(prefixIn)).size).toBe(1);
      for (const [index, body] of bodies.slice(1).entries()) {
        const earlier = conversationIn(bodies[index] ?? {});
        const later = conversationIn(body);
        expect(later.length).toBeGreaterThan(earlier.length);
        expect(later.slice(0, earlier.length)).toEqual(earlier);
      }
    },
  },
  {
    title: "cache_write_tokens are reported",
    only: ["openai", "anthropic"],
    verify({ name }) {
      const [first, second] = plainConversations.get(name)?.answers ?? [];
      expect(first?.usage?.cacheWriteTokens).toBeGreaterThan(4000);
      expect(second?.usage?.cacheWriteTokens).toBeLessThan(1000);
    },
  },
  {
    title: "At most four breakpoints are set, on tools, system messages and conversation",
    only: ["anthropic"],
    verify({ name }) {
      const { bodies = [] } = toolConversations.get(name) ?? {};
      for (const body of bodies) {
        const turns = objects(body.messages);
        expect([
          countCacheMarkers(body.tools),
          countCacheMarkers(body.system),
          countCacheMarkers(turns.at(-1)),
        ]).toEqual([1, 1, 1]);
        expect(countCacheMarkers(body)).toBeLessThanOrEqual(4);
        expect(countCacheMarkers(getBlocks(turns, "thinking"))).toBe(0);
      }
      expect(countCacheMarkers(bodies.at(-1))).toBe(4);
    },
  },
  {
    title: "auto_cache: false sets no breakpoints, and nothing is cached",
    only: ["anthropic"],
    async verify(column) {
      await using fixture = await createFixture();
      const providerOptionsJson = { anthropic: JSON.stringify({ auto_cache: false }) };
      const turns = await runTurns(fixture, column, { providerOptionsJson });
      expect(fixture.requests.map(({ body }) => countCacheMarkers(body))).toEqual(Array(TURNS).fill(0));
      for (const { usage } of turns) expect(usage).toMatchObject({ cacheReadTokens: 0, cacheWriteTokens: 0 });
    },
  },
  {
    title: "prompt-caching-2024-07-31 is sent where the request asks for it",
    only: ["anthropic"],
    async verify(column) {
      await using fixture = await createFixture();
      const messages = [userMessage("Where are we?")];
      const providerOptionsJson = { anthropic: JSON.stringify({ send_legacy_cache_header: true }) };
      await fixture.client.complete(requestTo(column, { messages }));
      await fixture.client.complete(requestTo(column, { messages, providerOptionsJson }));
      const betas = fixture.requests.map(({ headers }) => headers["anthropic-beta"]);
      expect(betas).toEqual([undefined, "prompt-caching-2024-07-31"]);
    },
  },
]);

async function runConversation(
  column: Column,
  script: string,
  question: RequestFields,
): Promise<Conversation> {
  await using fixture = await createFixture(script);
  const answers = await runTurns(fixture, column, question);
  return { answers, bodies: fixture.requests.map(({ body }) => object(body)) };
}

/** Runs a conversation of six turns. Returns the response to every request. */
async function runTurns(fixture: Fixture, column: Column, question: RequestFields): Promise<Response[]> {
  const answers: Response[] = [];
  let messages: Message[] = [instructions];
  for (let turn = 1; turn <= TURNS; turn += 1) {
    messages.push(userMessage(`Where are we on day ${turn}, and what is the weather in Lima?`));
    const ran = await runTools(fixture.client, column, { ...question, messages });
    answers.push(...ran.steps);
    messages = ran.messages;
  }
  return answers;
}

/** The share of each request's input that was read from the cache. */
function cachedShares(conversation: Conversation | undefined): number[] {
  return (conversation?.answers ?? []).map(
    ({ usage }) => (usage?.cacheReadTokens ?? 0) / (usage?.inputTokens ?? 0),
  );
}

/** The part of a body before the conversation, without cache markers. */
function prefixIn({ input, messages, contents, ...head }: Json): string {
  return JSON.stringify(head, (key, value) => (key === "cache_control" ? undefined : value));
}

function keysIn(body: Json): string[] {
  const keys: string[] = [];
  JSON.stringify(body, (key, value) => {
    keys.push(key);
    return value;
  });
  return keys;
}

function countCacheMarkers(value: unknown): number {
  return JSON.stringify(value).split('"cache_control":').length - 1;
}

function getBlocks(messages: readonly Json[], type: string): Json[] {
  return messages.flatMap(({ content }) => objects(content)).filter((block) => block.type === type);
}
