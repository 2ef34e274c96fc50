/** Tests of the notifications about runs, and of runs that are deleted. */
import { functionTool, userMessage } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { type Run, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { statusName } from "../../src/runs/status.ts";
import { waitUntil } from "../kit/http/servers.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import {
  createTestEngine,
  getEvents,
  NEVER,
  run,
  runRequest,
  start,
  type TestEngine,
  untilAborted,
} from "./support/test-engine.ts";
import { sharedStore } from "./support/wrapped-store.ts";

let open: TestEngine[] = [];

afterEach(async () => {
  await Promise.all(open.map(({ engine }) => engine.close()));
  open = [];
});

async function engineWith(...[turns, options]: Parameters<typeof createTestEngine>) {
  const told: string[] = [];
  const observer = {
    runCreated: ({ status }: Run) => void told.push(`created ${statusName(status)}`),
    runEnded: ({ status }: Run) => void told.push(`ended ${statusName(status)}`),
  };
  const made = await createTestEngine(turns, { ...options, observer });
  open.push(made);
  return { ...made, told };
}

describe("an observer of runs", () => {
  it("is notified of each run that is created, and of its end", async () => {
    const { engine, told } = await engineWith(["hello"]);
    await run(engine, runRequest("hi"));
    await run(engine, runRequest("hi", { store: false }));
    await run(engine, runRequest("hi", { background: true }));
    await waitUntil(() => told.length === 6);
    expect(told).toEqual([
      "created IN_PROGRESS",
      "ended COMPLETED",
      "created IN_PROGRESS",
      "ended COMPLETED",
      "created QUEUED",
      "ended COMPLETED",
    ]);
  });

  it("is notified of a run that requires action, and of its cancellation then", async () => {
    const { engine, told } = await engineWith([[{ name: "ask" }]]);
    const options = {
      request: { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "ask" })] },
    };
    const waiting = await run(engine, runRequest("", { options }));
    await engine.cancelRun("", waiting.id);
    expect(told).toEqual(["created IN_PROGRESS", "ended REQUIRES_ACTION", "ended CANCELLED"]);
  });

  it("is not notified of the end of a run that continues elsewhere, nor of one that is not created", async () => {
    const store = await openMemory();
    const { engine, model, told } = await engineWith(["never"], { store: sharedStore(store) });
    model.beforeAnswer = untilAborted;
    await start(engine, runRequest("hi", { background: true }));
    await waitUntil(() => model.requests.length === 1);
    await expect(start(engine, runRequest("hi", { previousRunId: "run_x" }))).rejects.toThrow("run_x");
    await engine.drain();
    expect(told).toEqual(["created QUEUED"]);
    await store.close();
  });
});

describe("a run that is deleted", () => {
  it.each([true, false])("is cancelled first if it is in progress (background: %s)", async (background) => {
    const { engine, model, told } = await engineWith(["never"]);
    model.beforeAnswer = untilAborted;
    const started = await start(engine, runRequest("hi", { background }));
    const read = getEvents(started.events);
    await waitUntil(() => model.requests.length === 1);
    await engine.deleteRun("", started.run.id);
    expect((await read).at(-1)?.event).toMatchObject({ value: { status: RunStatus.CANCELLED } });
    expect(told.at(-1)).toBe("ended CANCELLED");
    await expect(engine.getRun("", started.run.id)).rejects.toMatchObject({ kindName: "NOT_FOUND" });
  });

  it("is cancelled in the queue, and ends its readers", async () => {
    const { engine, model } = await engineWith(["never"], { limits: { maxBackgroundRuns: 0 } });
    const started = await start(engine, runRequest("hi", { background: true }));
    const read = getEvents(engine.streamRun("", started.run.id, -1, NEVER));
    await engine.deleteRun("", started.run.id);
    await read;
    expect(model.requests).toEqual([]);
    await expect(engine.getRun("", started.run.id)).rejects.toMatchObject({ kindName: "NOT_FOUND" });
    await expect(engine.deleteRun("", started.run.id)).rejects.toMatchObject({ kindName: "NOT_FOUND" });
  });

  it("is not cancelled before if it is over", async () => {
    const { engine, told } = await engineWith(["hello"]);
    const { id } = await run(engine, runRequest("hi"));
    await engine.deleteRun("", id);
    expect(told).toEqual(["created IN_PROGRESS", "ended COMPLETED"]);
    await expect(engine.getRun("", id)).rejects.toMatchObject({ kindName: "NOT_FOUND" });
  });
});
