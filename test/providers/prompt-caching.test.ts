/** Prompt caching (specification §8.6, §2.10): conversations that grow are read from the provider's cache, counted as such. */
import { type Message, type Response, systemMessage, userMessage } from "outrigger";
import { beforeAll, expect } from "vitest";
import { conversationIn, type Question, requestTo, runTools, weatherTool } from "./support/asking.ts";
import { type Column, type ColumnName, columns, type Stage, setStage } from "./support/columns.ts";
import { type Json, object, objects } from "./support/facts.ts";
import { proveTable } from "./support/table.ts";

const TURNS = 6;
const instructions = systemMessage("Mind the tide tables of every harbour on the way. ".repeat(400));

/** A conversation of six turns: the answer to every request, and what was sent. */
interface Talk {
  readonly answers: readonly Response[];
  readonly bodies: readonly Json[];
}

/** By provider: of questions and answers alone, and with thinking and two rounds of tool calls in each turn. */
const plainTalks = new Map<ColumnName, Talk>();
const busyTalks = new Map<ColumnName, Talk>();

beforeAll(async () => {
  const busy = { tools: [weatherTool], reasoningEffort: "low" };
  for (const column of columns) {
    plainTalks.set(column.name, await talkTo(column, "sim-text", { includeRaw: true }));
    busyTalks.set(column.name, await talkTo(column, "sim-reasoning:rounds=2", busy));
  }
});

proveTable("§8.6 Prompt caching", [
  {
    title: "Turn 5 and later: more than half of the input is read",
    prove({ name }) {
      const shares = sharesIn(plainTalks.get(name));
      expect(shares).toHaveLength(TURNS);
      expect(shares[0]).toBe(0);
      for (const share of shares.slice(4)) expect(share).toBeGreaterThan(0.5);
    },
  },
  {
    title: "The same with tool calls and thinking in the conversation",
    prove({ name }) {
      const shares = sharesIn(busyTalks.get(name));
      expect(shares).toHaveLength(3 * TURNS);
      for (const share of shares.slice(4)) expect(share).toBeGreaterThan(0.5);
    },
  },
  {
    title: "cache_read_tokens are the provider's count, within input_tokens",
    prove({ name, count }) {
      const { answers = [] } = plainTalks.get(name) ?? {};
      const counts = answers.map(({ rawJson }) => count(JSON.parse(rawJson)));
      const told = answers.map(({ usage }) => [usage?.cacheReadTokens ?? 0, usage?.inputTokens]);
      expect(told).toEqual(counts.map(({ cacheRead, input }) => [cacheRead, input]));
    },
  },
  {
    title: "No setting is needed: the request says nothing of caching",
    only: ["openai", "gemini", "compatible"],
    prove({ name }) {
      const keys = plainTalks.get(name)?.bodies.flatMap(keysIn) ?? [];
      expect(keys).not.toEqual([]);
      expect(keys.filter((key) => /cache/i.test(key))).toEqual([]);
    },
  },
  {
    title: "Each turn begins with the bytes of the turn before",
    prove({ name }) {
      const { bodies = [] } = busyTalks.get(name) ?? {};
      expect(new Set(bodies.map(headIn)).size).toBe(1);
      for (const [index, body] of bodies.slice(1).entries()) {
        const earlier = conversationIn(bodies[index] ?? {});
        const later = conversationIn(body);
        expect(later.length).toBeGreaterThan(earlier.length);
        expect(later.slice(0, earlier.length)).toEqual(earlier);
      }
    },
  },
  {
    title: "cache_write_tokens are told",
    only: ["openai", "anthropic"],
    prove({ name }) {
      const [first, second] = plainTalks.get(name)?.answers ?? [];
      expect(first?.usage?.cacheWriteTokens).toBeGreaterThan(4000);
      expect(second?.usage?.cacheWriteTokens).toBeLessThan(1000);
    },
  },
  {
    title: "Breakpoints stand on tools, system and conversation, four at most",
    only: ["anthropic"],
    prove({ name }) {
      const { bodies = [] } = busyTalks.get(name) ?? {};
      for (const body of bodies) {
        const turns = objects(body.messages);
        expect([marksIn(body.tools), marksIn(body.system), marksIn(turns.at(-1))]).toEqual([1, 1, 1]);
        expect(marksIn(body)).toBeLessThanOrEqual(4);
        expect(marksIn(blocksOf(turns, "thinking"))).toBe(0);
      }
      expect(marksIn(bodies.at(-1))).toBe(4);
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

async function talkTo(column: Column, script: string, question: Question): Promise<Talk> {
  await using stage = await setStage(script);
  const answers = await converse(stage, column, question);
  return { answers, bodies: stage.requests.map(({ body }) => object(body)) };
}

/** Holds a conversation of six turns. Returns the answer to every request. */
async function converse(stage: Stage, column: Column, question: Question): Promise<Response[]> {
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

/** How much of the input of each request came from the cache. */
function sharesIn(talk: Talk | undefined): number[] {
  return (talk?.answers ?? []).map(({ usage }) => (usage?.cacheReadTokens ?? 0) / (usage?.inputTokens ?? 0));
}

/** What stands before the conversation in a body, without marks for caches. */
function headIn({ input, messages, contents, ...head }: Json): string {
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

function marksIn(value: unknown): number {
  return JSON.stringify(value).split('"cache_control":').length - 1;
}

function blocksOf(messages: readonly Json[], type: string): Json[] {
  return messages.flatMap(({ content }) => objects(content)).filter((block) => block.type === type);
}
