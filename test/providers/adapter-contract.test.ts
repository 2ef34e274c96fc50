/** Behaviour that all adapters share: native API, key, roles, headers, whole responses, tool choice. */
import {
  Client,
  developerMessage,
  ToolChoice_Mode as Mode,
  FinishReason_Reason as Reason,
  Role,
  systemMessage,
  textOf,
  toolCallsOf,
  toolResult,
  userMessage,
} from "outrigger";
import { expect } from "vitest";
import { collect, getReason, requestTo, responseIn, toMessage, weatherTool } from "./support/calls.ts";
import { type Column, type ColumnName, createFixture, type Fixture } from "./support/columns.ts";
import { testTable } from "./support/table.ts";

const question = { messages: [userMessage("Where is Osaka?")] };

testTable("Adapter contract", [
  {
    title: "The provider's native API is called",
    async verify(column) {
      await using fixture = await createFixture();
      await fixture.client.complete(requestTo(column, question));
      await collect(fixture.client.stream(requestTo(column, question)));
      const arrived = fixture.requests.map(({ method, path }) => `${method} ${path}`);
      expect(arrived).toEqual([`POST ${column.path.complete}`, `POST ${column.path.stream}`]);
    },
  },
  {
    title: "A key from the options is sent in its header only",
    async verify(column) {
      await using fixture = await createFixture("sim-text", { apiKey: "key-from-options" });
      await fixture.client.complete(requestTo(column, question));
      verifyKey(fixture, column, "key-from-options");
    },
  },
  {
    title: "A key from the environment is sent in its header only",
    async verify(column) {
      await using fixture = await createFixture();
      await using client = Client.fromEnv(column.environment(fixture.simulator.url, "key-from-environment"));
      expect(client.providerNames).toEqual([column.name]);
      await client.complete(requestTo(column, question));
      verifyKey(fixture, column, "key-from-environment");
    },
  },
  {
    title: "complete() fills all fields of the response",
    async verify(column) {
      await using fixture = await createFixture();
      const response = await fixture.client.complete(requestTo(column, { ...question, includeRaw: true }));
      const [request] = fixture.requests;
      expect(response).toMatchObject({
        id: expect.stringMatching(/./),
        inferenceId: expect.stringMatching(/./),
        model: column.model,
        provider: column.name,
        message: { role: Role.ASSISTANT },
        finishReason: { reason: Reason.STOP, raw: FINISHED[column.name] },
        warnings: [],
      });
      expect(response.providerRequestId).toBe(column.name === "gemini" ? response.id : request?.requestId);
      expect(textOf(response)).toContain("Where is Osaka?");
      expect(response.usage?.totalTokens).toBeGreaterThan(10);
      expect(JSON.parse(response.rawJson)).toMatchObject({});
    },
  },
  {
    title: "The account's rate limits are reported",
    only: ["openai", "anthropic", "compatible"],
    async verify(column) {
      await using fixture = await createFixture();
      const { rateLimit } = await fixture.client.complete(requestTo(column, question));
      expect(rateLimit?.requestsLimit).toBeGreaterThan(0);
      expect(rateLimit?.requestsRemaining).toBe((rateLimit?.requestsLimit ?? 0) - 1);
      expect(rateLimit?.tokensRemaining).toBeLessThan(rateLimit?.tokensLimit ?? 0);
    },
  },
  {
    title: "stream() yields typed events",
    async verify(column) {
      await using fixture = await createFixture();
      const events = await collect(fixture.client.stream(requestTo(column, question)));
      const [first] = events;
      const response = responseIn(events);
      expect(first?.event).toMatchObject({
        case: "streamStart",
        value: { provider: column.name, model: column.model, inferenceId: response.inferenceId },
      });
      expect(getReason(response)).toBe(Reason.STOP);
      expect(response.usage?.totalTokens).toBeGreaterThan(10);
    },
  },
  {
    title: "System messages are sent in the provider's field for instructions",
    async verify(column) {
      await using fixture = await createFixture();
      const messages = [systemMessage("Be brief."), ...question.messages];
      await fixture.client.complete(requestTo(column, { messages }));
      expect(fixture.bodyAt()).toMatchObject(SYSTEM[column.name]);
    },
  },
  {
    title: "All five roles are translated",
    async verify(column) {
      await using fixture = await createFixture("sim-tools");
      const conversation = [
        systemMessage("Be brief."),
        developerMessage("Use the tool."),
        ...question.messages,
      ];
      const tools = [weatherTool];
      const called = await fixture.client.complete(requestTo(column, { messages: conversation, tools }));
      const [call] = toolCallsOf(called);
      const result = toolResult(call?.id ?? "", "Rain.");
      const messages = [...conversation, toMessage(called), result];
      await fixture.client.complete(requestTo(column, { messages, tools }));
      const { facts } = column.read(fixture.bodyAt());
      const texts = facts.flatMap((fact) => (fact.kind === "text" ? [`${fact.author}: ${fact.text}`] : []));
      expect(texts.join("\n\n").replaceAll("\n\nsystem: ", "\n\n")).toBe(
        "system: Be brief.\n\nUse the tool.\n\nuser: Where is Osaka?",
      );
      expect(facts).toContainEqual(expect.objectContaining({ kind: "call", name: "get_weather" }));
      expect(facts).toContainEqual(expect.objectContaining({ kind: "result", text: "Rain." }));
    },
  },
  {
    title: "Default headers of the adapter are sent",
    async verify(column) {
      const defaultHeaders = { "x-team": "harbour" };
      await using fixture = await createFixture("sim-text", { apiKey: "test-key", defaultHeaders });
      await fixture.client.complete(requestTo(column, question));
      expect(fixture.requests[0]?.headers).toMatchObject({ "x-team": "harbour" });
    },
  },
  {
    title: "anthropic-beta joins provider_options and default headers",
    only: ["anthropic"],
    async verify(column) {
      const defaultHeaders = { "anthropic-beta": "files-api-2025-04-14" };
      await using fixture = await createFixture("sim-text", { apiKey: "test-key", defaultHeaders });
      const options = { beta_headers: ["context-1m-2025-08-07"], beta_features: ["files-api-2025-04-14"] };
      const providerOptionsJson = { anthropic: JSON.stringify(options) };
      await fixture.client.complete(requestTo(column, { ...question, providerOptionsJson }));
      expect(fixture.requests[0]?.headers).toMatchObject({
        "anthropic-beta": "files-api-2025-04-14,context-1m-2025-08-07",
      });
      expect(fixture.bodyAt()).not.toHaveProperty("beta_headers");
    },
  },
  {
    title: "Tool choice auto is honoured",
    verify: (column) => verifyToolChoice(column, { mode: Mode.AUTO }, "auto", 1),
  },
  {
    title: "Tool choice none is honoured",
    verify: (column) => verifyToolChoice(column, { mode: Mode.NONE }, "none", 0),
  },
  {
    title: "Tool choice required is honoured",
    verify: (column) => verifyToolChoice(column, { mode: Mode.REQUIRED }, "required", 1),
  },
  {
    title: "Tool choice named is honoured",
    verify: (column) =>
      verifyToolChoice(column, { mode: Mode.NAMED, toolName: "get_weather" }, "get_weather", 1),
  },
]);

/** The provider's finish reason of a complete answer. */
const FINISHED: Readonly<Record<ColumnName, string>> = {
  openai: "completed",
  anthropic: "end_turn",
  gemini: "STOP",
  compatible: "stop",
};

/** The body of each provider with a system message. */
const SYSTEM: Readonly<Record<ColumnName, object>> = {
  openai: { instructions: "Be brief.", input: [{ role: "user" }] },
  anthropic: { system: [{ type: "text", text: "Be brief." }], messages: [{ role: "user" }] },
  gemini: { systemInstruction: { parts: [{ text: "Be brief." }] }, contents: [{ role: "user" }] },
  compatible: { messages: [{ role: "system", content: "Be brief." }, { role: "user" }] },
};

/** @param calls Number of calls that the simulated model then makes. */
async function verifyToolChoice(
  column: Column,
  toolChoice: { mode: Mode; toolName?: string },
  sentSource: string,
  calls: number,
): Promise<void> {
  await using fixture = await createFixture("sim-tools");
  const request = requestTo(column, { ...question, tools: [weatherTool], toolChoice });
  const response = await fixture.client.complete(request);
  expect(fixture.client.supportsToolChoice(toolChoice.mode, column.model, column.name)).toBe(true);
  expect(column.read(fixture.bodyAt()).toolChoice).toBe(sentSource);
  expect(toolCallsOf(response)).toHaveLength(calls);
}

function verifyKey({ requests, bodyAt }: Fixture, { keyHeader }: Column, key: string): void {
  const { headers = {}, path } = requests[0] ?? {};
  const { [keyHeader.name]: sent, ...others } = headers;
  expect(sent).toBe(`${keyHeader.prefix}${key}`);
  expect(JSON.stringify([others, path, bodyAt()])).not.toContain(key);
}
