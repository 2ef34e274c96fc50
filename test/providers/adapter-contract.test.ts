/** What every adapter does alike (specification §8.2; tool choice §5.3): native API, key, roles, headers, whole responses. */
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
import { collect, messageOf, reasonOf, requestTo, responseIn, weatherTool } from "./support/asking.ts";
import { type Column, type ColumnName, type Stage, setStage } from "./support/columns.ts";
import { proveTable } from "./support/table.ts";

const question = { messages: [userMessage("Where is Osaka?")] };

proveTable("§8.2 Adapter", [
  {
    title: "Native API, no compatibility shim",
    async prove(column) {
      await using stage = await setStage();
      await stage.client.complete(requestTo(column, question));
      await collect(stage.client.stream(requestTo(column, question)));
      const arrived = stage.requests.map(({ method, path }) => `${method} ${path}`);
      expect(arrived).toEqual([`POST ${column.path.complete}`, `POST ${column.path.stream}`]);
    },
  },
  {
    title: "Key from the caller, in its header alone",
    async prove(column) {
      await using stage = await setStage("sim-text", { apiKey: "key-of-the-caller" });
      await stage.client.complete(requestTo(column, question));
      proveKey(stage, column, "key-of-the-caller");
    },
  },
  {
    title: "Key from the environment",
    async prove(column) {
      await using stage = await setStage();
      await using client = Client.fromEnv(column.environment(stage.simulator.url, "key-of-the-house"));
      expect(client.providerNames).toEqual([column.name]);
      await client.complete(requestTo(column, question));
      proveKey(stage, column, "key-of-the-house");
    },
  },
  {
    title: "complete() fills the whole response",
    async prove(column) {
      await using stage = await setStage();
      const response = await stage.client.complete(requestTo(column, { ...question, includeRaw: true }));
      const [request] = stage.requests;
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
    title: "Rate limits of the account are told",
    only: ["openai", "anthropic", "compatible"],
    async prove(column) {
      await using stage = await setStage();
      const { rateLimit } = await stage.client.complete(requestTo(column, question));
      expect(rateLimit?.requestsLimit).toBeGreaterThan(0);
      expect(rateLimit?.requestsRemaining).toBe((rateLimit?.requestsLimit ?? 0) - 1);
      expect(rateLimit?.tokensRemaining).toBeLessThan(rateLimit?.tokensLimit ?? 0);
    },
  },
  {
    title: "stream() gives typed events",
    async prove(column) {
      await using stage = await setStage();
      const events = await collect(stage.client.stream(requestTo(column, question)));
      const [first] = events;
      const response = responseIn(events);
      expect(first?.event).toMatchObject({
        case: "streamStart",
        value: { provider: column.name, model: column.model, inferenceId: response.inferenceId },
      });
      expect(reasonOf(response)).toBe(Reason.STOP);
      expect(response.usage?.totalTokens).toBeGreaterThan(10);
    },
  },
  {
    title: "System messages go where the provider wants them",
    async prove(column) {
      await using stage = await setStage();
      const messages = [systemMessage("Be brief."), ...question.messages];
      await stage.client.complete(requestTo(column, { messages }));
      expect(stage.bodyAt()).toMatchObject(SYSTEM[column.name]);
    },
  },
  {
    title: "All five roles are translated",
    async prove(column) {
      await using stage = await setStage("sim-tools");
      const asked = [systemMessage("Be brief."), developerMessage("Use the tool."), ...question.messages];
      const tools = [weatherTool];
      const called = await stage.client.complete(requestTo(column, { messages: asked, tools }));
      const [call] = toolCallsOf(called);
      const result = toolResult({ toolCallId: call?.id ?? "", content: "Rain." });
      const messages = [...asked, messageOf(called), result];
      await stage.client.complete(requestTo(column, { messages, tools }));
      const { facts } = column.read(stage.bodyAt());
      const spoken = facts.flatMap((fact) => (fact.kind === "text" ? [`${fact.speaker}: ${fact.text}`] : []));
      expect(spoken.join("\n\n").replaceAll("\n\nsystem: ", "\n\n")).toBe(
        "system: Be brief.\n\nUse the tool.\n\nuser: Where is Osaka?",
      );
      expect(facts).toContainEqual(expect.objectContaining({ kind: "call", name: "get_weather" }));
      expect(facts).toContainEqual(expect.objectContaining({ kind: "result", text: "Rain." }));
    },
  },
  {
    title: "Headers of the provider's entry are sent",
    async prove(column) {
      const defaultHeaders = { "x-team": "harbour" };
      await using stage = await setStage("sim-text", { apiKey: "test-key", defaultHeaders });
      await stage.client.complete(requestTo(column, question));
      expect(stage.requests[0]?.headers).toMatchObject({ "x-team": "harbour" });
    },
  },
  {
    title: "anthropic-beta from provider_options and the entry",
    only: ["anthropic"],
    async prove(column) {
      const defaultHeaders = { "anthropic-beta": "files-api-2025-04-14" };
      await using stage = await setStage("sim-text", { apiKey: "test-key", defaultHeaders });
      const options = { beta_headers: ["context-1m-2025-08-07"], beta_features: ["files-api-2025-04-14"] };
      const providerOptionsJson = { anthropic: JSON.stringify(options) };
      await stage.client.complete(requestTo(column, { ...question, providerOptionsJson }));
      expect(stage.requests[0]?.headers).toMatchObject({
        "anthropic-beta": "files-api-2025-04-14,context-1m-2025-08-07",
      });
      expect(stage.bodyAt()).not.toHaveProperty("beta_headers");
    },
  },
  {
    title: "Tool choice auto",
    prove: (column) => proveToolChoice(column, { mode: Mode.AUTO }, "auto", 1),
  },
  {
    title: "Tool choice none",
    prove: (column) => proveToolChoice(column, { mode: Mode.NONE }, "none", 0),
  },
  {
    title: "Tool choice required",
    prove: (column) => proveToolChoice(column, { mode: Mode.REQUIRED }, "required", 1),
  },
  {
    title: "Tool choice named",
    prove: (column) =>
      proveToolChoice(column, { mode: Mode.NAMED, toolName: "get_weather" }, "get_weather", 1),
  },
]);

/** The provider's own word for an answer that is complete. */
const FINISHED: Readonly<Record<ColumnName, string>> = {
  openai: "completed",
  anthropic: "end_turn",
  gemini: "STOP",
  compatible: "stop",
};

/** Where a provider has instructions. */
const SYSTEM: Readonly<Record<ColumnName, object>> = {
  openai: { instructions: "Be brief.", input: [{ role: "user" }] },
  anthropic: { system: [{ type: "text", text: "Be brief." }], messages: [{ role: "user" }] },
  gemini: { systemInstruction: { parts: [{ text: "Be brief." }] }, contents: [{ role: "user" }] },
  compatible: { messages: [{ role: "system", content: "Be brief." }, { role: "user" }] },
};

/** @param calls How many calls a model then makes that likes to call tools. */
async function proveToolChoice(
  column: Column,
  toolChoice: { mode: Mode; toolName?: string },
  onTheWire: string,
  calls: number,
): Promise<void> {
  await using stage = await setStage("sim-tools");
  const request = requestTo(column, { ...question, tools: [weatherTool], toolChoice });
  const response = await stage.client.complete(request);
  expect(stage.client.supportsToolChoice(toolChoice.mode, column.model, column.name)).toBe(true);
  expect(column.read(stage.bodyAt()).toolChoice).toBe(onTheWire);
  expect(toolCallsOf(response)).toHaveLength(calls);
}

function proveKey({ requests, bodyAt }: Stage, { keyHeader }: Column, key: string): void {
  const { headers = {}, path } = requests[0] ?? {};
  const { [keyHeader.name]: sent, ...others } = headers;
  expect(sent).toBe(`${keyHeader.prefix}${key}`);
  expect(JSON.stringify([others, path, bodyAt()])).not.toContain(key);
}
