import { Client } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import type { Caller } from "../../src/core/caller.ts";
import { RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { createModelAccess } from "../../src/middleware/model-access.ts";
import { ScriptedModel, type Turn } from "../generation/support/scripted-model.ts";
import {
  createTestEngine,
  NEVER,
  replay,
  run,
  runRequest,
  start,
  type TestEngine,
} from "./support/test-engine.ts";

let open: TestEngine[] = [];

/** An engine whose client checks the models of callers, by the names that they may use. */
async function engineFor(allowed: Map<string, string>, turns: readonly Turn[]): Promise<TestEngine> {
  const model = new ScriptedModel(turns);
  const providers = { scripted: model };
  const client = new Client({ providers, middleware: [createModelAccess()], fieldPaths: "contract" });
  const callerNamed = (name: string): Caller => ({
    name,
    isRestricted: true,
    allowsModel: (_provider, asked) => allowed.get(name) === asked,
  });
  const made = await createTestEngine([], { client, callerNamed });
  open.push(made);
  return { ...made, model };
}

afterEach(async () => {
  await Promise.all(open.map(({ engine }) => engine.close()));
  open = [];
});

describe("a run in the background", () => {
  it("uses the models that its owner may use at the time of each call", async () => {
    const allowed = new Map([["a", "m"]]);
    const { engine, model } = await engineFor(allowed, ["hello", "again"]);
    const request = runRequest("hi", { background: true });
    expect(await run(engine, request, "a")).toMatchObject({ status: RunStatus.COMPLETED });
    expect(await run(engine, request, "b")).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: 'the caller b may not use the model "m" of "scripted"' },
    });
    allowed.delete("a");
    expect(await run(engine, request, "a")).toMatchObject({ status: RunStatus.FAILED });
    expect(model.requests).toHaveLength(1);
  });
});

describe("a run of another owner", () => {
  it("does not exist: neither it nor its events can be read, and it cannot be changed", async () => {
    const { engine } = await engineFor(new Map([["a", "m"]]), ["a secret"]);
    const { run: created, result } = await start(engine, runRequest("hi"), "a");
    await result();
    expect(await replay(engine, created.id, -1, "a")).not.toEqual([]);
    const missing = { kindName: "NOT_FOUND", message: `the run "${created.id}" does not exist` };
    for (const owner of ["b", ""]) {
      await expect(replay(engine, created.id, -1, owner)).rejects.toMatchObject(missing);
      await expect(engine.getRun(owner, created.id)).rejects.toMatchObject(missing);
      await expect(engine.cancelRun(owner, created.id)).rejects.toMatchObject(missing);
      await expect(engine.deleteRun(owner, created.id)).rejects.toMatchObject(missing);
      const next = runRequest("go on", { previousRunId: created.id });
      await expect(engine.createRun({ request: next }, { owner, signal: NEVER })).rejects.toMatchObject({
        kindName: "NOT_FOUND",
      });
    }
  });
});
