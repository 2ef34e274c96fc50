/**
 * Runs whose models are called for whole answers: they end as streamed runs do, and their readers get complete events.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { functionTool, ServerError, textPart, userMessage } from "outrigger";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { LawChecker } from "../../src/core/laws.ts";
import { ResponseCollector } from "../../src/core/response-collector.ts";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import type { ContentPartSchema } from "../../src/gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason, ResponseSchema } from "../../src/gen/outrigger/v1/response_pb.ts";
import { type Run, type RunEvent, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { SubmitToolResultsRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { ToolCallStart_InputKind as InputKind } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { toStreamEvents } from "../../src/runs/answer-events.ts";
import { RunEngine } from "../../src/runs/run-engine.ts";
import { columns, createFixture } from "../providers/support/columns.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import { FakeServerTools, toolServer } from "./support/fake-server-tools.ts";
import { createTestEngine, getEvents, NEVER, replay, runRequest } from "./support/test-engine.ts";

let engines: RunEngine[] = [];

afterEach(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  engines = [];
});

async function engineWith(...parameters: Parameters<typeof createTestEngine>) {
  const made = await createTestEngine(...parameters);
  engines.push(made.engine);
  return made;
}

const whole = { owner: "", signal: NEVER, isStreamed: false };

/** The events of the model, by steps. Each must obey the laws, and contain its whole answer. */
function checkModelEvents(events: readonly RunEvent[], { steps }: Run): void {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  for (const [index, { response }] of steps.entries()) {
    const [laws, collector] = [new LawChecker(), new ResponseCollector()];
    for (const { event, step } of events) {
      if (event.case !== "modelEvent" || step !== index + 1) continue;
      laws.check(event.value);
      collector.add([event.value]);
    }
    laws.end();
    expect(collector.response?.message).toEqual(response?.message);
    expect(collector.response?.usage).toEqual(response?.usage);
    expect(collector.response?.finishReason).toEqual(response?.finishReason);
  }
}

/** The parts of a run that are the same if it is streamed. Ids of calls differ: the simulator counts them up. */
function comparable({ status, usage, steps, incompleteReason, requiredResults }: Run): object {
  return {
    status,
    incompleteReason,
    counts: [usage?.inputTokens, usage?.outputTokens],
    calls: requiredResults.map(({ name, input }) => [name, input]),
    answers: steps.map(({ response }) => [
      response?.finishReason,
      response?.message?.content.map(({ part }) => (part.case === "toolCall" ? part.value.input : part)),
    ]),
  };
}

describe.each(columns)("a run of $title whose answers come whole", ({ name, model }) => {
  it.each(["sim-text", "sim-tools", model])(
    "has the same steps as a streamed one, and valid events (%s)",
    async (simulated) => {
      await using fixture = await createFixture();
      const engine = new RunEngine({ client: fixture.client, store: await openMemory() });
      onTestFinished(() => engine.close());
      const tools = [functionTool({ name: "get_weather" })];
      const messages = [userMessage("Weather in Oslo?")];
      const options = { request: { model: simulated, provider: name, messages, tools } };
      const runs: Run[] = [];
      for (const isStreamed of [true, false]) {
        const request = runRequest("", { options });
        const run = await (await engine.createRun({ request }, { ...whole, isStreamed })).result();
        checkModelEvents(await replay(engine, run.id), run);
        expect(await engine.getRun("", run.id)).toEqual(run);
        runs.push(run);
      }
      const [streamed, complete] = runs.map(comparable);
      expect(complete).toEqual(streamed);
      const bodies = fixture.requests.map(({ body }) => body as { readonly stream?: boolean });
      if (name !== "gemini") expect(bodies.map(({ stream = false }) => stream)).toEqual([true, false]);
    },
  );
});

describe("a run whose answers come whole", () => {
  it("gives the same events to its caller, to a reader that joins while it runs, and later from each number", async () => {
    const { engine, model } = await engineWith(["hello"]);
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    model.beforeAnswer = () => {
      asked.resolve();
      return answer.promise;
    };
    const started = await engine.createRun({ request: runRequest("hi") }, whole);
    const result = started.result();
    await asked.promise;
    const joined = replay(engine, started.run.id);
    answer.resolve();
    const run = await result;
    const events = await joined;
    checkModelEvents(events, run);
    for (let after = -1; after < events.length; after += 1)
      expect(await replay(engine, run.id, after)).toEqual(events.slice(after + 1));
    expect(run.lastSequence).toBe(events.length - 1);
    expect(model.open).toBe(0);
  });

  it.each([true, false])("has the calls of MCP servers in their order (store: %s)", async (store) => {
    const fake = new FakeServerTools(["search"]);
    const kinds: string[][] = [];
    for (const isStreamed of [true, false]) {
      const { engine } = await engineWith([[{ name: "search" }], "found"], { serverTools: fake.serverTools });
      const request = runRequest("hi", { mcpServers: [toolServer], store });
      const started = await engine.createRun({ request }, { ...whole, isStreamed });
      const events = await getEvents(started.events);
      const run = await started.result();
      checkModelEvents(events, run);
      kinds.push(
        events.flatMap(({ event, step }) => (event.case === "run" ? [] : [`${step} ${event.case}`])),
      );
      if (store) expect(await replay(engine, run.id)).toEqual(events);
    }
    expect(kinds[1]?.filter((kind) => !kind.endsWith("modelEvent"))).toEqual(
      kinds[0]?.filter((kind) => !kind.endsWith("modelEvent")),
    );
    expect(kinds[1]?.indexOf("1 mcpToolStart")).toBeGreaterThan(kinds[1]?.indexOf("1 modelEvent") ?? 0);
  });

  it("has no events of its answers if nobody can ever read them", async () => {
    const { engine } = await engineWith(["hello"]);
    const started = await engine.createRun({ request: runRequest("hi", { store: false }) }, whole);
    const run = await started.result();
    expect(run).toMatchObject({ status: RunStatus.COMPLETED, usage: { totalTokens: 15 }, lastSequence: 1 });
    expect(run.attempts).toHaveLength(1);
    expect((await getEvents(started.events)).map(({ event }) => event.case)).toEqual(["run", "run"]);
  });

  it("keeps its attempts if a call fails first", async () => {
    const { engine, model } = await engineWith([new ServerError("busy", { retryable: true }), "hello"]);
    const options = {
      request: { model: "m", messages: [userMessage("hi")] },
      retry: { maxRetries: 1, baseDelay: { nanos: 1_000_000 } },
    };
    const run = await (await engine.createRun({ request: runRequest("", { options }) }, whole)).result();
    expect(run.status).toBe(RunStatus.COMPLETED);
    expect(run.attempts.map(({ error }) => error?.kind)).toEqual([ErrorKind.SERVER, undefined]);
    expect(model.requests).toHaveLength(2);
    checkModelEvents(await replay(engine, run.id), run);
  });

  it("ends with the failure of a later step, and keeps the steps before it", async () => {
    const fake = new FakeServerTools(["search"]);
    const { engine } = await engineWith([[{ name: "search" }], new ServerError("gone")], {
      serverTools: fake.serverTools,
    });
    const request = runRequest("hi", { mcpServers: [toolServer] });
    const run = await (await engine.createRun({ request }, whole)).result();
    expect(run).toMatchObject({ status: RunStatus.FAILED, usage: { totalTokens: 15 } });
    expect(run.steps).toHaveLength(1);
    checkModelEvents(await replay(engine, run.id), run);
  });

  it("continues with results of the caller's tools, streamed or not", async () => {
    for (const isStreamed of [true, false]) {
      const { engine } = await engineWith([[{ name: "ask", id: "call_1" }], "answered"]);
      const request = { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "ask" })] };
      const first = await (
        await engine.createRun({ request: runRequest("", { options: { request } }) }, whole)
      ).result();
      expect(first.status).toBe(RunStatus.REQUIRES_ACTION);
      const submission = create(SubmitToolResultsRequestSchema, {
        runId: first.id,
        results: [{ toolCallId: "call_1", content: [textPart("yes")] }],
      });
      const started = await engine.submitToolResults(submission, { ...whole, isStreamed });
      const run = await started.result();
      expect(run).toMatchObject({ status: RunStatus.COMPLETED, usage: { totalTokens: 30 } });
      checkModelEvents(await replay(engine, run.id), run);
    }
  });
});

it("The events of a whole answer have everything that it has", () => {
  const state = (dataJson: string) => ({ provider: "p", model: "m", dataJson });
  const facts = { inferenceId: "inf_1", provider: "p", model: "m", createdAt: timestampFromMs(1000) };
  const finishReason = { reason: FinishReason_Reason.STOP, raw: "stop" };
  const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
  const warnings = [{ code: "odd", field: "f", message: "w" }];
  const call = { id: "c", name: "f", input: { case: "text", value: "in" } } as const;
  const emptyCall = { id: "d", name: "g", input: { case: "argumentsJson", value: "" } } as const;
  const reasoning = { text: "Hm.", redacted: true };
  const citations = [{ url: "https://example.com" }];
  const content: MessageInitShape<typeof ContentPartSchema>[] = [
    { part: { case: "text", value: "No." }, refusal: true, providerState: state("1") },
    { part: { case: "text", value: "" }, citations },
    { part: { case: "reasoning", value: reasoning }, providerState: state("2") },
    { part: { case: "toolCall", value: call } },
    { part: { case: "toolCall", value: emptyCall }, providerState: state("3") },
  ];
  const message = { content };
  const response = create(ResponseSchema, { ...facts, finishReason, usage, warnings, message });
  const events = toStreamEvents(response).map(({ event }) => event);
  expect(events.map(({ case: name }) => name)).toEqual([
    "streamStart",
    ...["textStart", "textDelta", "textEnd", "textStart", "textEnd"],
    ...["reasoningStart", "reasoningDelta", "reasoningEnd"],
    ...["toolCallStart", "toolCallDelta", "toolCallEnd", "toolCallStart", "toolCallEnd", "finish"],
  ]);
  const { createdAt: startedAt, ...ids } = facts;
  expect(events.map(({ value }) => value)).toMatchObject([
    { ...ids, startedAt, warnings },
    ...[{ partIndex: 0, refusal: true }, { delta: "No." }, { partIndex: 0, providerState: state("1") }],
    ...[{ partIndex: 1, refusal: false }, { citations }],
    ...[{ partIndex: 2 }, { delta: "Hm." }, { redacted: true, providerState: state("2") }],
    ...[{ id: "c", name: "f", inputKind: InputKind.TEXT }, { delta: "in" }, { toolCall: { id: "c" } }],
    { partIndex: 4, id: "d", name: "g", inputKind: InputKind.ARGUMENTS_JSON },
    { partIndex: 4, toolCall: { id: "d" }, providerState: state("3") },
    { finishReason, usage, response: facts },
  ]);
});
