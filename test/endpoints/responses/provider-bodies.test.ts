/** Reads the bodies that providers get for requests to the API, with readers that share no code with the adapters. */
import type {
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
} from "openai/resources/responses/responses";
import { Client, functionTool, toolCallsOf, toolResult, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { startSimulator } from "../../../simulator/index.ts";
import { type Column, columns } from "../../providers/support/columns.ts";
import type { Fact, Reading } from "../../providers/support/facts.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";

const servers = useTestServers();

const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

/** A request as Codex CLI sends it: its ids, groups of tools, and fields that no SDK has. */
function codexRequest(model: string): ResponseCreateParamsNonStreaming {
  const body = {
    model,
    instructions: "You are an agent.",
    input: [
      {
        type: "message",
        id: "5b0c",
        role: "developer",
        content: [{ type: "input_text", text: "Stay in /tmp." }],
      },
      {
        type: "message",
        id: "5b0d",
        role: "user",
        content: [{ type: "input_text", text: "Weather in Paris?" }],
      },
    ],
    tools: [
      {
        type: "namespace",
        name: "weather",
        description: "About the weather.",
        tools: [{ type: "function", name: "now", description: "Current weather", parameters, strict: false }],
      },
      { type: "web_search", external_web_access: false },
    ],
    tool_choice: "auto",
    parallel_tool_calls: false,
    reasoning: { effort: "medium", summary: "auto" },
    store: false,
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: "019a",
    client_metadata: { "x-codex-installation-id": "1" },
  };
  return body as unknown as ResponseCreateParamsNonStreaming;
}

/** Returns an item as Codex sends it back: reasoning without its text, and no ids. */
function asCodexReturns(item: object): ResponseInputItem {
  const { id: _, ...rest } = item as { id?: string; type: string };
  return (rest.type === "reasoning" ? { ...rest, content: undefined } : rest) as ResponseInputItem;
}

/** The bodies that the provider got, as its reader reads them. */
function getReadings({ simulator }: Pick<ApiServer, "simulator">, { read }: Column): Reading[] {
  return simulator.requests.map(({ body }) => read(body as never));
}

function collectTexts(reading: Reading | undefined, author: string): string[] {
  return (reading?.facts ?? []).flatMap((fact) =>
    fact.kind === "text" && fact.author === author ? [fact.text] : [],
  );
}

/** The conversation. OpenAI's reasoning is encrypted again in each answer, and found without its id. */
function comparable(facts: readonly Fact[] = []): object[] {
  return facts.map((fact) => {
    if (fact.kind !== "state") return fact;
    const {
      id: _,
      content: __,
      ...block
    } = fact.block as Record<"id" | "content" | "encrypted_content", string>;
    if (block.encrypted_content === undefined) return fact;
    return { ...fact, block: { ...block, encrypted_content: block.encrypted_content.slice(0, 4) } };
  });
}

describe.each(columns)("$title", (column) => {
  const model = (sim: string) => `${column.name}/${sim}`;

  it("gets every part of a request of Codex, or the response has a warning", async () => {
    const api = await startApi(servers);
    const request = codexRequest(model("sim-tools"));
    const first = await api.openai.responses.create(request);
    const call = first.output.find((item) => item.type === "function_call");
    expect(call).toMatchObject({ name: "now", namespace: "weather" });
    const output = {
      type: "function_call_output",
      call_id: call?.call_id ?? "",
      output: "18 degrees",
    } as const;
    const input = [...(request.input as ResponseInputItem[]), ...first.output.map(asCodexReturns), output];
    const second = await api.openai.responses.create({ ...request, input });
    expect(second.output_text).not.toBe("");
    const [, reading] = getReadings(api, column);
    const instructions = collectTexts(reading, "system").join("\n\n");
    expect(instructions).toBe("You are an agent.\n\nStay in /tmp.");
    expect(reading?.facts.filter((fact) => !("author" in fact && fact.author === "system"))).toMatchObject([
      { kind: "text", author: "user", text: "Weather in Paris?" },
      { kind: "call", name: column.name === "openai" ? "now" : "weather__now" },
      { kind: "result", text: "18 degrees" },
    ]);
    // OpenAI gets the group as it is, and a tool without a name.
    const tools = reading?.tools.filter(({ name }) => name !== "");
    if (column.name === "openai") expect(tools).toMatchObject([{ name: "weather" }]);
    else
      expect(tools).toMatchObject([
        {
          name: "weather__now",
          description: 'Current weather\n\nAbout the tools of "weather": About the weather.',
        },
      ]);
    const { warnings = [] } = first as { warnings?: { param: string }[] };
    const told = warnings.map(({ param }) => param);
    if (column.name === "openai") expect(told).toEqual([]);
    else expect(told).toEqual(expect.arrayContaining(["prompt_cache_key", "client_metadata"]));
    if (column.name !== "openai") expect(told.some((param) => param.startsWith("tools[1]"))).toBe(true);
  });

  it("gets the same second turn from a caller that drops ids as from one of the contract", async () => {
    const api = await startApi(servers);
    const sim = "sim-reasoning";
    const now = { name: "now", description: "Current weather", parameters };
    const effort = "medium" as const;
    const body = {
      model: model(sim),
      tools: [{ type: "function" as const, ...now, strict: false }],
      reasoning: { effort },
      store: false,
    };
    const text = "Weather in Paris?";
    const content = [{ type: "input_text" as const, text }];
    const asked: ResponseInputItem = { type: "message", role: "user", content };
    const first = await api.openai.responses.create({ ...body, input: [asked] });
    const call = first.output.find((item) => item.type === "function_call");
    const output = {
      type: "function_call_output",
      call_id: call?.call_id ?? "",
      output: "18 degrees",
    } as const;
    await api.openai.responses.create({
      ...body,
      input: [asked, ...first.output.map(asCodexReturns), output],
    });

    // Answers depend on the number of the request.
    const simulator = await startSimulator();
    servers.onEnd(() => simulator.close());
    const client = new Client({
      providers: { [column.name]: column.connect(simulator.url, { apiKey: "any" }) },
    });
    servers.onEnd(() => client.close());
    const request = { model: sim, tools: [functionTool(now)], reasoningEffort: effort };
    const answer = await client.complete({ ...request, messages: [userMessage("Weather in Paris?")] });
    const [made] = toolCallsOf(answer);
    const result = toolResult(made?.id ?? "", "18 degrees");
    await client.complete({
      ...request,
      messages: [userMessage("Weather in Paris?"), answer.message, result],
    });

    const [, returned] = getReadings(api, column);
    const [, direct] = getReadings({ simulator }, column);
    expect(comparable(returned?.facts)).toEqual(comparable(direct?.facts));
    expect(direct?.facts.length).toBeGreaterThan(2);
    expect(returned?.effort).toEqual(direct?.effort);
  });

  it("gets the schema of an answer, images and a tool choice", async () => {
    const api = await startApi(servers);
    const image = "data:image/png;base64,iVBORw0KGgo=";
    const { output_text } = await api.openai.responses.create({
      model: model("sim-text"),
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "What is this?" },
            { type: "input_image", image_url: image, detail: "auto" },
          ],
        },
      ],
      text: { format: { type: "json_schema", name: "place", strict: true, schema: parameters } },
    });
    expect(JSON.parse(output_text)).toEqual({ city: expect.any(String) });
    await api.openai.responses.create({
      model: model("sim-tools"),
      input: "Go.",
      tools: [{ type: "function", name: "now", parameters, strict: true }],
      tool_choice: { type: "function", name: "now" },
    });
    const [first, second] = getReadings(api, column);
    expect(first?.answerSchema).toMatchObject({ properties: { city: { type: "string" } } });
    expect(first?.facts).toContainEqual({ kind: "image", author: "user", source: image });
    expect(second?.toolChoice).toBe("now");
  });
});

describe("the official SDK", () => {
  it("reads models, conversations and counts in the types that it has for them", async () => {
    const { openai } = await startApi(servers);
    const models = await openai.models.list();
    expect(models.data.map(({ id }) => id)).toContain("gpt-5.2");
    expect(await openai.models.retrieve("openai/gpt-5.2")).toMatchObject({
      object: "model",
      owned_by: "openai",
    });
    const conversation = await openai.conversations.create({
      items: [{ role: "user", content: "I am Ann." }],
    });
    const request = { model: "openai/sim-echo", conversation: conversation.id } as const;
    const { output_text } = await openai.responses.create({ ...request, input: "Who am I?" });
    expect(output_text).toBe("Who am I?");
    const texts: unknown[] = [];
    for await (const item of openai.conversations.items.list(conversation.id, { order: "asc", limit: 1 }))
      if (item.type === "message") texts.push(item.content[0]);
    expect(texts).toMatchObject([{ text: "I am Ann." }, { text: "Who am I?" }, { text: "Who am I?" }]);
    const counted = openai.responses.inputTokens.count({ ...request, input: "word ".repeat(400) });
    const { data, response } = await counted.withResponse();
    expect(data.input_tokens).toBeGreaterThan(400);
    // As the provider counts.
    expect(response.headers.get("outrigger-estimate")).toBeNull();
    const compacted = await openai.responses.compact({ model: "openai/sim-text", input: "I am Ann." });
    expect(compacted.output.map(({ type }) => type)).toEqual(["message", "compaction"]);
    const after = await openai.responses.create({
      model: "anthropic/sim-echo",
      input: [...(compacted.output as ResponseInputItem[]), { role: "user", content: "Go on." }],
    });
    expect(after.output_text).toContain("Go on.");
    await openai.conversations.delete(conversation.id);
    await expect(openai.conversations.retrieve(conversation.id)).rejects.toMatchObject({ status: 404 });
  });
});

describe("A tool call that is forced", () => {
  const tools = ["one", "two"].map((name) => ({
    type: "function" as const,
    name,
    parameters: { type: "object" },
    strict: false,
  }));
  const choices = ["required" as const, { type: "function" as const, name: "two" }];

  it.each(choices)("is left to a model that cannot be forced, with a warning: %j", async (tool_choice) => {
    const { openai, simulator } = await startApi(servers, { aliases: { "claude-opus-5-5": "sim-tools" } });
    const model = "anthropic/claude-opus-5-5";
    const response = await openai.responses.create({ model, input: "Go.", tools, tool_choice });
    const offered = tool_choice === "required" ? ["one", "two"] : ["two"];
    expect(simulator.requests.at(-1)?.body).toMatchObject({
      tool_choice: { type: "auto" },
      tools: offered.map((name) => ({ name })),
    });
    expect(response).toMatchObject({ tool_choice, warnings: [{ code: "adjusted_setting" }] });
    expect(response.output).toContainEqual(expect.objectContaining({ type: "function_call" }));
  });

  it.each(choices)("is forced if the model allows that: %j", async (tool_choice) => {
    const { openai, simulator } = await startApi(servers);
    const model = "anthropic/sim-tools";
    const response = await openai.responses.create({ model, input: "Go.", tools, tool_choice });
    const sent = tool_choice === "required" ? { type: "any" } : { type: "tool", name: "two" };
    expect(simulator.requests.at(-1)?.body).toMatchObject({ tool_choice: sent });
    expect((response as { warnings?: unknown }).warnings).toBeUndefined();
  });
});

describe("OpenAI", () => {
  it("gets a refusal as it wrote it", async () => {
    const api = await startApi(servers);
    const refusal = {
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "refusal", refusal: "No." }],
    } as const;
    const input = [
      { role: "user", content: "Do it." },
      refusal as unknown as ResponseInputItem,
      { role: "user", content: "Why?" },
    ] satisfies ResponseInputItem[];
    await api.openai.responses.create({ model: "openai/sim-text", input });
    expect(api.simulator.requests.at(-1)?.body).toHaveProperty("input.1", refusal);
  });
});
