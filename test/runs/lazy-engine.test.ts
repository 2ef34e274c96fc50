import { create } from "@bufbuild/protobuf";
import { Client } from "outrigger";
import { describe, expect, it } from "vitest";
import { ListRunsRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { createLazyRunEngine } from "../../src/runs/lazy-engine.ts";
import { createRunEngine } from "../../src/runs/run-engine.ts";
import { NotConnectedError } from "../../src/runs/store/driver.ts";
import { openMemory } from "./store/sqlite/open-store.ts";

/** An engine that counts how often it is opened. The given number of openings fail first. */
function countedEngine(failures = 0, failure = new Error("a failure of the test")) {
  const counts = { opened: 0 };
  const engine = createLazyRunEngine(async () => {
    counts.opened += 1;
    if (counts.opened <= failures) throw failure;
    return createRunEngine({ client: new Client({ providers: {} }), store: await openMemory() });
  });
  return { engine, counts };
}

const list = create(ListRunsRequestSchema);

describe("createLazyRunEngine()", () => {
  it("opens the engine at its first use, once for all uses", async () => {
    const { engine, counts } = await countedEngine();
    expect(counts.opened).toBe(0);
    const lists = await Promise.all([engine.listRuns("", list), engine.listRuns("", list)]);
    expect(lists.map(({ runs }) => runs)).toEqual([[], []]);
    await engine.open();
    expect(counts.opened).toBe(1);
    await engine.close();
  });

  it("opens it for a stream when the stream is read", async () => {
    const { engine, counts } = await countedEngine();
    const events = engine.streamRun("", `run_${"0".repeat(32)}`, -1, new AbortController().signal);
    expect(counts.opened).toBe(0);
    await expect(events[Symbol.asyncIterator]().next()).rejects.toThrow("run_0000");
    expect(counts.opened).toBe(1);
    await engine.close();
  });

  it("tries again if it could not be opened", async () => {
    const { engine, counts } = await countedEngine(2);
    await expect(engine.open()).rejects.toThrow("a failure of the test");
    await expect(engine.listRuns("", list)).rejects.toThrow("a failure of the test");
    expect((await engine.listRuns("", list)).runs).toEqual([]);
    expect(counts.opened).toBe(3);
    await engine.close();
  });

  it("is opened in the background if its database cannot be reached at first", async () => {
    const { engine, counts } = await countedEngine(2, new NotConnectedError("no connection in the test"));
    const failures: string[] = [];
    await engine.openWhenReachable((error) => failures.push(error.message));
    expect(failures).toEqual(["no connection in the test"]);
    await expect.poll(() => counts.opened, { timeout: 10_000 }).toBe(3);
    expect((await engine.listRuns("", list)).runs).toEqual([]);
    await engine.close();
  });

  it("throws every other failure to open it", async () => {
    const { engine } = await countedEngine(1);
    await expect(engine.openWhenReachable(() => {})).rejects.toThrow("a failure of the test");
    await engine.close();
  });

  it("is not opened by its end, nor after it", async () => {
    const { engine, counts } = await countedEngine();
    await engine.drain();
    await engine.close();
    await expect(engine.listRuns("", list)).rejects.toThrow("the sidecar is shutting down");
    expect(counts.opened).toBe(0);
  });
});
