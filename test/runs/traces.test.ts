/** The trace of the call that creates a run is kept with it, for the calls that the run makes without its caller. */
import { Client } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { readTraceContext, type TraceContext } from "../../src/core/trace-context.ts";
import { RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { RunEngine } from "../../src/runs/run-engine.ts";
import { createBackgroundClient } from "../../src/server/calls/background-calls.ts";
import type { Call } from "../../src/server/telemetry/call-observer.ts";
import { ScriptedModel } from "../generation/support/scripted-model.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import { NEVER, runRequest } from "./support/test-engine.ts";
import { sharedStore } from "./support/wrapped-store.ts";

const trace = readTraceContext({
  traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  tracestate: "congo=t61rcWkgMzE",
});

let open: RunEngine[] = [];

afterEach(async () => {
  await Promise.all(open.map((engine) => engine.close()));
  open = [];
});

/** A process of a sidecar, whose observer records the traces of its calls and attempts. */
function startProcess(store: Awaited<ReturnType<typeof openMemory>>, maxBackgroundRuns = 1) {
  const traces: (TraceContext | undefined)[] = [];
  const note = ({ trace: found }: Call) => traces.push(found);
  const models = new Client({ providers: { scripted: new ScriptedModel(["hello"]) } });
  const client = createBackgroundClient(models, [{ begin: note, attempt: note, end: () => undefined }]);
  const engine = new RunEngine({ client, store: sharedStore(store), limits: { maxBackgroundRuns } });
  open.push(engine);
  return { engine, traces };
}

describe("a run in the background", () => {
  it("has the trace of the call that created it in its calls and attempts", async () => {
    const { engine, traces } = startProcess(await openMemory());
    const request = runRequest("hi", { background: true });
    const started = await engine.createRun({ request }, { owner: "", signal: NEVER, trace });
    expect(await started.result()).toMatchObject({ status: RunStatus.COMPLETED });
    expect(traces).toEqual([trace, trace]);
  });

  it("has it also if another process executes the run", async () => {
    const store = await openMemory();
    const creator = startProcess(store, 0);
    const request = runRequest("hi", { background: true });
    const { run } = await creator.engine.createRun({ request }, { owner: "", signal: NEVER, trace });
    await creator.engine.drain();
    const { engine, traces } = startProcess(store);
    for await (const _ of engine.streamRun("", run.id, -1, NEVER));
    expect(await engine.getRun("", run.id)).toMatchObject({ status: RunStatus.COMPLETED });
    expect(traces).toEqual([trace, trace]);
    expect(creator.traces).toEqual([]);
  });

  it("has none if its call was not traced", async () => {
    const { engine, traces } = startProcess(await openMemory());
    const request = runRequest("hi", { background: true });
    await (await engine.createRun({ request }, { owner: "", signal: NEVER })).result();
    expect(traces).toEqual([undefined, undefined]);
  });
});
