/**
 * Ids and names of tool calls that one provider returns and another rejects: too long, with
 * characters that it does not accept, or ids that repeat within a conversation. They are rewritten,
 * in the same way in every turn, and calls and results still match.
 */
import {
  assistantMessage,
  Client,
  type Message,
  OpenAIChatAdapter,
  type Response,
  toolCallsOf,
  toolResult,
  userMessage,
} from "outrigger";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { conversationIn, requestTo, runTools, weatherTool } from "./support/calls.ts";
import { type Column, columns, createFixture, type Fixture } from "./support/columns.ts";
import { object } from "./support/facts.ts";
import { expectPreserved } from "./support/preserved.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** Ids as model servers return them, or as services generate them. */
const ids = {
  "with special characters": ["functions.get_weather:0", "functions.get_weather:1", "call/Zürich #2"],
  long: ["call_".padEnd(120, "a"), "call_".padEnd(120, "b"), "call_".padEnd(64, "c")],
  "that repeat in a later turn": ["call_0", "call_1", "call_0"],
};

/** Format of a call's id on the wire; Gemini accepts any, and requires none. */
const rules: Readonly<Record<Column["name"], RegExp>> = {
  openai: /^.{1,64}$/,
  anthropic: /^[a-zA-Z0-9_-]+$/,
  gemini: /./,
  compatible: /^.{1,40}$/,
};

describe.each(Object.entries(ids))("ids %s", (_, taken) => {
  it.each(columns)("are sent to $title and stay the same while the conversation grows", async (column) => {
    const messages = conversationWith(taken);
    const response = await fixture.client.complete(requestTo(column, { messages }));
    const { facts } = column.read(fixture.bodyAt());
    const sent = facts.flatMap((fact) => (fact.kind === "call" ? [fact.id] : []));
    expectPreserved(facts, messages);
    for (const id of sent) expect(id).toMatch(rules[column.name]);
    if (column.name !== "gemini") expect(rewrittenIn(response)).toBe(sent.join() !== taken.join());
    const before = conversationIn(fixture.bodyAt());
    const grown = [...messages, assistantMessage("Done."), userMessage("And now?")];
    await fixture.client.complete(requestTo(column, { messages: grown }));
    expect(conversationIn(fixture.bodyAt()).slice(0, before.length)).toEqual(before);
  });

  it("are sent to Mistral as nine letters and digits", async () => {
    const baseUrl = `${fixture.simulator.url}/v1`;
    const adapter = new OpenAIChatAdapter({
      name: "mistral",
      baseUrl,
      apiKey: "k",
      profile: "mistral",
    });
    await using client = new Client({ providers: { mistral: adapter } });
    const messages = conversationWith(taken);
    const response = await client.complete({ model: "compatible-1", messages });
    const reading = columns.find(({ name }) => name === "compatible")?.read(object(fixture.bodyAt()));
    const sent = reading?.facts.flatMap((fact) => (fact.kind === "call" ? [fact.id] : [])) ?? [];
    expectPreserved(reading?.facts ?? [], messages);
    expect(sent).toHaveLength(3);
    for (const id of sent) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(rewrittenIn(response)).toBe(true);
  });
});

describe.each(["no_ids=1", "repeat_ids=1"])("ids of a model with %s", (fault) => {
  it.each(columns)("are sent from $title to all others", async (from) => {
    await using faulty = await createFixture(`sim-tools:calls=3,${fault}`);
    const question = { messages: [userMessage("What is the weather in Paris?")], tools: [weatherTool] };
    const { messages } = await runTools(faulty.client, from, question);
    expect(toolCallsOf(messages[1])).toHaveLength(3);
    for (const to of columns) {
      const grown = [...messages, userMessage("And now?")];
      await fixture.client.complete(requestTo(to, { messages: grown }));
      expectPreserved(to.read(fixture.bodyAt()).facts, grown);
    }
  });
});

describe("names of undeclared tools", () => {
  const names = ["weather.get", "wetter holen", "get_weather_in_a_city_".padEnd(140, "n")];

  it.each(columns)("are sent to $title in characters that it accepts", async (column) => {
    const messages = conversationWith(["call_1", "call_2", "call_3"], names);
    const response = await fixture.client.complete(requestTo(column, { messages }));
    const { facts } = column.read(fixture.bodyAt());
    const sent = facts.flatMap((fact) => (fact.kind === "call" ? [fact.name] : []));
    const codes = response.warnings.flatMap(({ code, field }) => (/name$/.test(field) ? [code] : []));
    expectPreserved(facts, conversationWith(["call_1", "call_2", "call_3"], sent));
    for (const name of sent) expect(name).toMatch(nameRules[column.name]);
    expect(codes).toEqual(
      names.flatMap((name, place) => (name === sent[place] ? [] : ["converted_content"])),
    );
  });
});

/** Format of a call's name on the wire. */
const nameRules: Readonly<Record<Column["name"], RegExp>> = {
  openai: /^[a-zA-Z0-9_-]{1,128}$/,
  anthropic: /^[a-zA-Z0-9_-]{1,128}$/,
  gemini: /^[a-zA-Z0-9_.:-]{1,128}$/,
  compatible: /^[a-zA-Z0-9_-]{1,64}$/,
};

const weather = ["get_weather", "get_weather", "get_weather"];

/** Two calls in one turn, and one in the next. */
function conversationWith(ids: readonly string[], names: readonly string[] = weather): Message[] {
  const [first = "", second = "", third = ""] = ids;
  const createCall = (place: number, city: string) => {
    const input = { case: "argumentsJson", value: JSON.stringify({ city }) } as const;
    const value = { id: ids[place] ?? "", name: names[place] ?? "", input };
    return { part: { case: "toolCall", value } } as const;
  };
  return [
    userMessage("What is the weather in Paris and Osaka?"),
    assistantMessage([createCall(0, "Paris"), createCall(1, "Osaka")]),
    toolResult(second, "Rain in Osaka."),
    toolResult(first, "Sun in Paris."),
    userMessage("And in Lima?"),
    assistantMessage(createCall(2, "Lima")),
    toolResult(third, "Fog in Lima."),
  ];
}

/** Whether a warning reports that ids were rewritten. */
function rewrittenIn({ warnings }: Response): boolean {
  return warnings.some(({ code, field }) => code === "converted_content" && /tool_call\.id$/.test(field));
}
