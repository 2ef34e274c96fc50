/**
 * Ids and names of tool calls that one provider gives and another refuses: too long, with signs
 * that it does not take, or ids that come twice in a conversation. They are rewritten, alike in
 * every turn, and calls and results still belong together.
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
import { conversationIn, requestTo, runTools, weatherTool } from "./support/asking.ts";
import { type Column, columns, type Stage, setStage } from "./support/columns.ts";
import { object } from "./support/facts.ts";
import { expectNothingLost } from "./support/nothing-lost.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Ids as they were seen at servers of models, or as services make them up. */
const ids = {
  "with signs": ["functions.get_weather:0", "functions.get_weather:1", "call/Zürich #2"],
  long: ["call_".padEnd(120, "a"), "call_".padEnd(120, "b"), "call_".padEnd(64, "c")],
  "that return in a later turn": ["call_0", "call_1", "call_0"],
};

/** What the id of a call looks like on the wire; Gemini takes any, and needs none. */
const rules: Readonly<Record<Column["name"], RegExp>> = {
  openai: /^.{1,64}$/,
  anthropic: /^[a-zA-Z0-9_-]+$/,
  gemini: /./,
  compatible: /^.{1,40}$/,
};

describe.each(Object.entries(ids))("ids %s", (_, taken) => {
  it.each(columns)("go to $title and stay the same while the conversation grows", async (column) => {
    const messages = conversationWith(taken);
    const response = await stage.client.complete(requestTo(column, { messages }));
    const { facts } = column.read(stage.bodyAt());
    const sent = facts.flatMap((fact) => (fact.kind === "call" ? [fact.id] : []));
    expectNothingLost(facts, messages);
    for (const id of sent) expect(id).toMatch(rules[column.name]);
    if (column.name !== "gemini") expect(rewrittenIn(response)).toBe(sent.join() !== taken.join());
    const before = conversationIn(stage.bodyAt());
    const grown = [...messages, assistantMessage("Done."), userMessage("And now?")];
    await stage.client.complete(requestTo(column, { messages: grown }));
    expect(conversationIn(stage.bodyAt()).slice(0, before.length)).toEqual(before);
  });

  it("go to Mistral as nine letters and digits", async () => {
    const baseUrl = `${stage.simulator.url}/v1`;
    const adapter = new OpenAIChatAdapter({
      name: "mistral",
      baseUrl,
      apiKey: "k",
      profile: "mistral",
    });
    await using client = new Client({ providers: { mistral: adapter } });
    const messages = conversationWith(taken);
    const response = await client.complete({ model: "compatible-1", messages });
    const reading = columns.find(({ name }) => name === "compatible")?.read(object(stage.bodyAt()));
    const sent = reading?.facts.flatMap((fact) => (fact.kind === "call" ? [fact.id] : [])) ?? [];
    expectNothingLost(reading?.facts ?? [], messages);
    expect(sent).toHaveLength(3);
    for (const id of sent) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(rewrittenIn(response)).toBe(true);
  });
});

describe.each(["no_ids=1", "repeat_ids=1"])("ids of a model with %s", (fault) => {
  it.each(columns)("go from $title to all others", async (from) => {
    await using faulty = await setStage(`sim-tools:calls=3,${fault}`);
    const question = { messages: [userMessage("What is the weather in Paris?")], tools: [weatherTool] };
    const { messages } = await runTools(faulty.client, from, question);
    expect(toolCallsOf(messages[1])).toHaveLength(3);
    for (const to of columns) {
      const grown = [...messages, userMessage("And now?")];
      await stage.client.complete(requestTo(to, { messages: grown }));
      expectNothingLost(to.read(stage.bodyAt()).facts, grown);
    }
  });
});

describe("names that nobody offered", () => {
  const names = ["weather.get", "wetter holen", "get_weather_in_a_city_".padEnd(140, "n")];

  it.each(columns)("go to $title in letters that it takes", async (column) => {
    const messages = conversationWith(["call_1", "call_2", "call_3"], names);
    const response = await stage.client.complete(requestTo(column, { messages }));
    const { facts } = column.read(stage.bodyAt());
    const sent = facts.flatMap((fact) => (fact.kind === "call" ? [fact.name] : []));
    const told = response.warnings.flatMap(({ code, field }) => (/name$/.test(field) ? [code] : []));
    expectNothingLost(facts, conversationWith(["call_1", "call_2", "call_3"], sent));
    for (const name of sent) expect(name).toMatch(nameRules[column.name]);
    expect(told).toEqual(names.flatMap((name, place) => (name === sent[place] ? [] : ["converted_content"])));
  });
});

/** What the name of a call looks like on the wire. */
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
  const callOf = (place: number, city: string) => {
    const input = { case: "argumentsJson", value: JSON.stringify({ city }) } as const;
    const value = { id: ids[place] ?? "", name: names[place] ?? "", input };
    return { part: { case: "toolCall", value } } as const;
  };
  return [
    userMessage("What is the weather in Paris and Osaka?"),
    assistantMessage([callOf(0, "Paris"), callOf(1, "Osaka")]),
    toolResult({ toolCallId: second, content: "Rain in Osaka." }),
    toolResult({ toolCallId: first, content: "Sun in Paris." }),
    userMessage("And in Lima?"),
    assistantMessage(callOf(2, "Lima")),
    toolResult({ toolCallId: third, content: "Fog in Lima." }),
  ];
}

/** Whether the caller is told that ids were rewritten. */
function rewrittenIn({ warnings }: Response): boolean {
  return warnings.some(({ code, field }) => code === "converted_content" && /tool_call\.id$/.test(field));
}
