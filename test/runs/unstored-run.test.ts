/** Runs that are not stored, and whose models are called while their callers read. */
import { Client, functionTool, type ModelClient, userMessage } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { isValidated } from "../../src/client/validate.ts";
import { RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { RunEngine } from "../../src/runs/run-engine.ts";
import { ScriptedModel } from "../generation/support/scripted-model.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import {
  createTestEngine,
  getEvents,
  NEVER,
  runRequest,
  start,
  untilAborted,
} from "./support/test-engine.ts";
import { WordyClient } from "./support/wordy-client.ts";

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

const request = runRequest("hi", { store: false });

describe("a run that is not stored", () => {
  it("has its last event in one batch with the end of its answer", async () => {
    const { engine } = await engineWith(["hello"]);
    const { events } = await start(engine, request);
    const batches: (string | undefined)[][] = [];
    for await (const batch of events) batches.push(batch.map(({ event }) => event.case));
    expect(batches[0]).toEqual(["run"]);
    expect(batches.at(-1)).toEqual(["modelEvent", "stepFinish", "run"]);
    expect(batches.slice(1, -1).flat()).not.toContain("run");
  });

  it("is cancelled at once if its caller has left before it begins", async () => {
    const { engine, model } = await engineWith(["hello"]);
    model.beforeAnswer = untilAborted;
    const { result } = await engine.createRun({ request }, { owner: "", signal: AbortSignal.abort() });
    expect(await result()).toMatchObject({ status: RunStatus.CANCELLED, steps: [] });
  });

  it("proceeds no further than its caller reads", async () => {
    const client = new WordyClient(1_000);
    const engine = new RunEngine({ client, store: await openMemory() });
    engines.push(engine);
    const { events } = await start(engine, request);
    const reader = events[Symbol.asyncIterator]();
    for (let reads = 0; reads < 3; reads += 1) await reader.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(client.written).toBeLessThan(10);
    await reader.return?.();
    expect(client.written).toBeLessThan(10);
  });

  it("is cancelled by a caller that leaves, and has given its place back by then", async () => {
    const { engine, model } = await engineWith(["hello"], { limits: { maxForegroundRuns: 1 } });
    model.beforeAnswer = untilAborted;
    const first = await start(engine, request);
    const reader = first.events[Symbol.asyncIterator]();
    await reader.next();
    await reader.return?.();
    expect(await first.result()).toMatchObject({ status: RunStatus.CANCELLED });
    model.beforeAnswer = undefined;
    expect(await (await start(engine, request)).result()).toMatchObject({ status: RunStatus.COMPLETED });
  });

  it("fails if the engine is closed, also if nobody reads", async () => {
    const { engine, model } = await createTestEngine(["hello"]);
    model.beforeAnswer = untilAborted;
    const { events, result } = await start(engine, request);
    await engine.close();
    expect(await result()).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: "the sidecar stopped before the run ended" },
    });
    expect((await getEvents(events)).at(-1)?.event.value).toMatchObject({ status: RunStatus.FAILED });
  });

  it("is waited for by a process that stops", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { engine, model } = await engineWith(["late"]);
    model.beforeAnswer = () => promise;
    const { result } = await start(engine, request);
    const ended = result();
    let hasDrained = false;
    const drained = engine.drain().then(() => {
      hasDrained = true;
    });
    await new Promise((later) => setTimeout(later, 10));
    expect(hasDrained).toBe(false);
    resolve();
    expect(await ended).toMatchObject({ status: RunStatus.COMPLETED });
    await drained;
  });

  it.each([true, false])("ends at the caller's time limit (streamed: %s)", async (isStreamed) => {
    const { engine, model } = await engineWith(["hello"]);
    model.beforeAnswer = untilAborted;
    const options = {
      request: { model: "m", messages: [userMessage("hi")] },
      timeouts: { total: { nanos: 20_000_000 } },
    };
    const limited = runRequest("", { store: false, options });
    const { result } = await engine.createRun({ request: limited }, { owner: "", signal: NEVER, isStreamed });
    expect(await result()).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: expect.stringContaining("the generation exceeded its time limit of 20 ms") },
    });
  });

  it("leaves calls of its tools to the caller", async () => {
    const { engine } = await engineWith([[{ name: "look" }]]);
    const model = { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "look" })] };
    const { result } = await start(engine, runRequest("", { store: false, options: { request: model } }));
    expect(await result()).toMatchObject({
      status: RunStatus.REQUIRES_ACTION,
      requiredResults: [{ name: "look" }],
    });
  });
});

describe("The request of a run", () => {
  it.each([
    { store: true, isStreamed: true },
    { store: true, isStreamed: false },
    { store: false, isStreamed: true },
    { store: false, isStreamed: false },
  ])("is not checked again by the client (%j)", async ({ store, isStreamed }) => {
    const inner = new Client({ providers: { scripted: new ScriptedModel(["hello"]) } });
    const checks: boolean[] = [];
    const client: ModelClient = {
      complete(sent, options) {
        checks.push(isValidated(sent));
        return inner.complete(sent, options);
      },
      stream(sent, options) {
        checks.push(isValidated(sent));
        return inner.stream(sent, options);
      },
    };
    const { engine } = await engineWith([], { client });
    const options = { owner: "", signal: NEVER, isStreamed };
    const { result } = await engine.createRun({ request: runRequest("hi", { store }) }, options);
    expect(await result()).toMatchObject({ status: RunStatus.COMPLETED });
    expect(checks).toEqual([true]);
  });
});
