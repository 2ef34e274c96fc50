/**
 * Conversations that clients keep themselves, in the forms in which frameworks return them. The simulated providers
 * refuse what the real ones refuse: thinking that is missing or was changed, calls without their thought signature,
 * reasoning and calls of which only one has its id.
 */
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";

const servers = useTestServers();

type Items = OpenAI.Responses.ResponseInputItem[];
type Output = OpenAI.Responses.ResponseOutputItem[];
type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;

const tools: OpenAI.Responses.Tool[] = [
  {
    type: "function",
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
    strict: false,
  },
];

const models = ["openai", "anthropic", "gemini", "compatible"].flatMap((provider) => [
  `${provider}/sim-reasoning`,
  `${provider}/sim-reasoning:calls=3,preamble=1`,
]);

/** The changes that clients make to the items of an answer before they return them. */
const clients: Readonly<Record<string, (output: Output) => object[]>> = {
  "returns them unchanged": (output) => output,
  "drops their ids": (output) => output.map(withoutId),
  "drops the state of reasoning": (output) =>
    output.map(({ ...item }) => {
      if (item.type === "reasoning") delete item.encrypted_content;
      return item;
    }),
  "returns calls and texts without ids": (output) =>
    output.filter(({ type }) => type !== "reasoning").map(withoutId),
  "returns calls alone, and writes the arguments again": (output) =>
    output.flatMap((item) =>
      item.type === "function_call"
        ? [{ ...withoutId(item), arguments: JSON.stringify(JSON.parse(item.arguments), null, 2) }]
        : [],
    ),
  "returns reasoning without its text": (output) =>
    output.map((item) => (item.type === "reasoning" ? { ...item, summary: [], content: undefined } : item)),
};

function withoutId(item: object): object {
  return { ...item, id: undefined };
}

/** The fields that a client adds to the request. */
const settings: Readonly<Record<string, Partial<Body>>> = {
  "stores the response": {},
  "stores the response and asks for encrypted reasoning": { include: ["reasoning.encrypted_content"] },
};

async function toAnswer(
  { openai }: ApiServer,
  body: Body,
  streams: boolean,
): Promise<OpenAI.Responses.Response> {
  if (!streams) return await openai.responses.create(body);
  return await openai.responses.stream({ ...body, stream: true }).finalResponse();
}

function getResults(output: Output): Items {
  return output.flatMap((item) =>
    item.type === "function_call"
      ? [{ type: "function_call_output", call_id: item.call_id, output: "Rain, 4 °C." } as const]
      : [],
  );
}

/** The body of the latest request that a provider got. */
function latestBody({ simulator }: ApiServer): unknown {
  return simulator.requests.at(-1)?.body;
}

const user = { role: "user", content: "Weather in Oslo and Rome?" } as const;
const hello = { role: "user", content: "Hello." } as const;

function toText(text: string): object {
  return { type: "output_text", text, annotations: [] };
}

describe.each(Object.entries(settings))("A client that %s", (_setting, extra) => {
  describe.each(Object.entries(clients))("and %s", (name, change) => {
    it.each(models.flatMap((model) => [false, true].map((streams) => [model, streams] as const)))(
      "sends the provider's output back to it: %s, streamed: %s",
      async (model, streams) => {
        const api = await startApi(servers);
        const body = { model, tools, ...extra };
        const first = await toAnswer(api, { ...body, input: [user] }, streams);
        const results = getResults(first.output);
        expect(results.length).toBeGreaterThan(0);
        await toAnswer(api, { ...body, previous_response_id: first.id, input: results }, streams);
        const expected = latestBody(api);
        const input = [user, ...change(first.output), ...results] as Items;
        const second = await toAnswer(api, { ...body, input }, streams);
        expect(second.status).toBe("completed");
        expect((second as { warnings?: unknown }).warnings).toBeUndefined();
        if (!/calls alone/.test(name)) expect(latestBody(api)).toEqual(expected);
      },
    );
  });
});

describe.each(Object.keys(clients))("A client that stores nothing and %s", (name) => {
  it.each(models.flatMap((model) => [false, true].map((streams) => [model, streams] as const)))(
    "sends the provider's output back to it: %s, streamed: %s",
    async (model, streams) => {
      const api = await startApi(servers);
      const first = await toAnswer(api, { model, tools, input: [user], store: false }, streams);
      const input = [user, ...(clients[name]?.(first.output) ?? []), ...getResults(first.output)] as Items;
      const second = await toAnswer(api, { model, tools, input, store: false }, streams);
      expect(second.status).toBe("completed");
      expect((second as { warnings?: unknown }).warnings).toBeUndefined();
    },
  );
});

describe("A client that returns only what it knows of a call", () => {
  const group = {
    type: "namespace",
    name: "weather",
    description: "Weather",
    tools: [{ ...tools[0], name: "now" }],
  };
  const custom = { type: "custom", name: "sql", description: "Runs a query." };
  const providers = ["openai", "anthropic", "gemini", "compatible"];
  const kinds = [
    ["a tool of a namespace", group, ["type", "call_id", "name", "arguments"]],
    ["a custom tool", custom, ["type", "call_id", "name", "input"]],
  ] as const;

  it.each(
    kinds.flatMap((kind) =>
      providers.flatMap((name) => [true, false].map((store) => [...kind, name, store] as const)),
    ),
  )("sends the reasoning before it back: %s, %j, %j, %s, stored: %s", async (_, tool, known, name, store) => {
    const api = await startApi(servers);
    const body = { model: `${name}/sim-reasoning`, tools: [tool], store } as unknown as Body;
    const { output } = await toAnswer(api, { ...body, input: [user] }, false);
    const call = output.find(({ type }) => type.endsWith("_call")) as unknown as Record<string, string>;
    const result = { type: `${call.type}_output`, call_id: call.call_id, output: "Done." };
    const send = async (...items: readonly object[]) => {
      await toAnswer(api, { ...body, input: [user, ...items, result] as Items }, false);
      return latestBody(api);
    };
    const expected = await send(...output);
    const partial = Object.fromEntries(
      Object.entries(call).filter(([field]) => known.some((each) => each === field)),
    );
    const sent = await send(partial);
    // OpenAI gets what its client returns whole as it is.
    if (name === "openai" && !store) expect(getEncrypted(sent)).toEqual(getEncrypted(expected));
    else expect(sent).toEqual(expected);
  });
});

function getEncrypted(body: unknown): unknown {
  const found = JSON.stringify(body).match(/"encrypted_content":"[^"]+"/g);
  expect(found).not.toBeNull();
  return found;
}

describe("A client that names the previous response and repeats its items", () => {
  it.each(Object.keys(clients).flatMap((name) => models.map((model) => [name, model] as const)))(
    "and %s sends them once: %s",
    async (name, model) => {
      const api = await startApi(servers);
      const body = { model, tools };
      const first = await toAnswer(api, { ...body, input: [user] }, false);
      const continued = { ...body, previous_response_id: first.id };
      const results = getResults(first.output);
      await toAnswer(api, { ...continued, input: results }, false);
      const expected = latestBody(api);
      const input = [user, ...(clients[name]?.(first.output) ?? []), ...results] as Items;
      const second = await toAnswer(api, { ...continued, input }, false);
      expect(second.status).toBe("completed");
      expect((second as { warnings?: unknown }).warnings).toBeUndefined();
      expect(latestBody(api)).toEqual(expected);
    },
  );

  it.each(["previous_response_id", "conversation"])(
    "sends a whole history once, with %s, and what is new in it",
    async (name) => {
      const api = await startApi(servers);
      const body = { model: "anthropic/sim-reasoning", tools };
      const { id: conversation } = await api.openai.conversations.create({});
      const inConversation = name === "conversation" ? { conversation } : {};
      const question = { ...body, model: "anthropic/sim-text", input: [hello], ...inConversation };
      const zeroth = await toAnswer(api, question, false);
      const continuing = (id: string) =>
        name === "conversation" ? { conversation } : { previous_response_id: id };
      const first = await toAnswer(api, { ...body, input: [user], ...continuing(zeroth.id) }, false);
      const note = { role: "developer", content: "Be brief." } as const;
      const results = getResults(first.output);
      const said = { role: "assistant", content: zeroth.output_text } as const;
      const calls = first.output.filter(({ type }) => type === "function_call").map(withoutId);
      const history = [hello, said, user, ...calls, ...results, note] as Items;
      await toAnswer(api, { ...body, input: history, ...continuing(first.id) }, false);
      const sent = latestBody(api) as { messages: { role: string; content: { type: string }[] }[] };
      const kinds = sent.messages.map(({ role, content }) => [role, ...content.map(({ type }) => type)]);
      expect(kinds).toEqual([
        ["user", "text"],
        ["assistant", "text"],
        ["user", "text"],
        ["assistant", "thinking", "tool_use"],
        ["user", "tool_result", "text"],
      ]);
    },
  );

  it.each<[string, (said: { readonly text: string; readonly id: string }) => object[]]>([
    ["of the user and the model", ({ text }) => [hello, { role: "assistant", content: text }]],
    ["of the model", ({ text }) => [{ role: "assistant", content: text }]],
    [
      "of the model, with an id of another API",
      ({ text }) => [{ type: "message", role: "assistant", id: "msg_1", content: [toText(text)] }],
    ],
  ])("sends texts %s once", async (_, repeat) => {
    const api = await startApi(servers);
    const model = "anthropic/sim-text";
    const first = await toAnswer(api, { model, input: [hello] }, false);
    const continued = { model, previous_response_id: first.id };
    await toAnswer(api, { ...continued, input: [user] }, false);
    const expected = latestBody(api);
    const repeated = repeat({ text: first.output_text, id: first.id }) as Items;
    await toAnswer(api, { ...continued, input: [...repeated, user] }, false);
    expect(latestBody(api)).toEqual(expected);
  });

  it("sends the answer to its calls once, although that has no calls", async () => {
    const api = await startApi(servers);
    const body = { model: "anthropic/sim-reasoning", tools };
    const first = await toAnswer(api, { ...body, input: [user] }, false);
    const results = getResults(first.output);
    const second = await toAnswer(api, { ...body, input: results, previous_response_id: first.id }, false);
    const continued = { ...body, previous_response_id: second.id };
    await toAnswer(api, { ...continued, input: [hello] }, false);
    const expected = latestBody(api);
    const calls = first.output.filter(({ type }) => type === "function_call").map(withoutId);
    const history = [user, ...calls, ...results, { role: "assistant", content: second.output_text }];
    await toAnswer(api, { ...continued, input: [...history, hello] as Items }, false);
    expect(latestBody(api)).toEqual(expected);
  });

  it.each(["openai", "anthropic", "gemini", "compatible"])(
    "and leaves out the model's messages sends the others once: %s",
    async (name) => {
      const api = await startApi(servers);
      const body = { model: `${name}/sim-reasoning:rounds=2`, tools };
      const first = await toAnswer(api, { ...body, input: [user] }, false);
      const results = getResults(first.output);
      const second = await toAnswer(api, { ...body, input: results, previous_response_id: first.id }, false);
      const expected = latestBody(api);
      const history = [user, ...results];
      await toAnswer(api, { ...body, input: history, previous_response_id: first.id }, false);
      expect(latestBody(api)).toEqual(expected);
      const continued = { ...body, previous_response_id: second.id };
      const latest = getResults(second.output);
      expect(latest.length).toBeGreaterThan(0);
      await toAnswer(api, { ...continued, input: latest }, false);
      const continuedBody = latestBody(api);
      const third = await toAnswer(api, { ...continued, input: [...history, ...latest] }, false);
      expect(third.status).toBe("completed");
      expect(latestBody(api)).toEqual(continuedBody);
    },
  );

  it("sends what the user says twice, and what the model has not said", async () => {
    const api = await startApi(servers);
    const model = "openai/sim-text";
    const first = await toAnswer(api, { model, input: [hello] }, false);
    const continued = { model, previous_response_id: first.id };
    await toAnswer(api, { ...continued, input: [hello] }, false);
    expect((latestBody(api) as { input: unknown[] }).input).toHaveLength(3);
    const other = [hello, { role: "assistant", content: "Something else." }, user] as Items;
    await toAnswer(api, { ...continued, input: other }, false);
    expect((latestBody(api) as { input: unknown[] }).input).toHaveLength(5);
  });

  it("sends items of a later response, which the named one does not have", async () => {
    const api = await startApi(servers);
    const body = { model: "anthropic/sim-reasoning", tools };
    const first = await toAnswer(api, { ...body, model: "anthropic/sim-text", input: "Hello." }, false);
    const second = await toAnswer(api, { ...body, input: [user], previous_response_id: first.id }, false);
    const results = getResults(second.output);
    await toAnswer(api, { ...body, input: results, previous_response_id: second.id }, false);
    const expected = latestBody(api);
    const input = [user, ...second.output, ...results] as Items;
    await toAnswer(api, { ...body, input, previous_response_id: first.id }, false);
    expect(latestBody(api)).toEqual(expected);
  });
});
