/** Whatever callers do at the same time, each run ends once, and its events have its whole history without gaps. */
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { functionTool, SDKError, ServerError, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { type Run, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { SubmitToolResultsRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { isTerminal } from "../../src/runs/status.ts";
import type { RunStore } from "../../src/runs/store.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import {
  createTestEngine,
  getEvents,
  NEVER,
  replay,
  runRequest,
  type TestEngine,
} from "./support/test-engine.ts";
import { wrapStore } from "./support/wrapped-store.ts";

/** A call, and the run so far that it concerns. */
interface Operation {
  readonly kind:
    | "create"
    | "background"
    | "continue"
    | "thread"
    | "leave"
    | "cancel"
    | "submit"
    | "delete"
    | "read";
  readonly target: number;
  /** Turns of the event loop before it. */
  readonly pause: number;
}

const operation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom(
    "create",
    "background",
    "continue",
    "thread",
    "leave",
    "cancel",
    "submit",
    "delete",
    "read",
  ),
  target: fc.nat({ max: 20 }),
  pause: fc.nat({ max: 3 }),
});

const options = {
  request: { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "local" })] },
};

const turn = fc.constantFrom("text", "call", "failure");

/** A store whose writes take a turn of the event loop, so that much happens meanwhile. */
function slowed(store: RunStore): RunStore {
  return wrapStore(store, {
    write: async (write) => {
      await new Promise((resolve) => setImmediate(resolve));
      return store.write(write);
    },
  });
}

/** Callers of one engine, and the runs that they know. */
class Callers {
  readonly runs: string[] = [];
  readonly deleted = new Set<string>();
  readonly #made: TestEngine;
  #thread = "";

  constructor(made: TestEngine) {
    this.#made = made;
  }

  async act({ kind, target }: Operation): Promise<void> {
    const { engine } = this.#made;
    const id = this.runs[target % Math.max(1, this.runs.length)] ?? "run_none";
    switch (kind) {
      case "create":
        return this.#create({});
      case "background":
        return this.#create({ background: true });
      case "continue":
        return this.#create({ previousRunId: id });
      case "thread":
        this.#thread ||= (await engine.threads.createThread("", { metadata: {}, messages: [] })).id;
        return this.#create({ threadId: this.#thread });
      case "leave":
        return this.#create({}, true);
      case "cancel":
        await engine.cancelRun("", id);
        return;
      case "submit":
        return this.#submit(id);
      case "delete":
        this.deleted.add(id);
        return engine.deleteRun("", id);
      case "read":
        await replay(engine, id, target);
    }
  }

  async #create(fields: Parameters<typeof runRequest>[1], isLeft = false): Promise<void> {
    const request = runRequest("", { ...fields, options });
    const started = await this.#made.engine.createRun({ request }, { owner: "", signal: NEVER });
    this.runs.push(started.run.id);
    const reader = started.events[Symbol.asyncIterator]();
    if (!isLeft) {
      const last = (await getEvents({ [Symbol.asyncIterator]: () => reader })).at(-1)?.event;
      const found = await this.#made.engine.getRun("", started.run.id);
      // A run has ended for everybody as soon as its end is announced.
      if (last?.case === "run" && isTerminal(last.value.status))
        expect({ ...found, steps: [] }).toEqual(last.value);
      return;
    }
    await reader.next();
    await reader.return?.();
  }

  async #submit(id: string): Promise<void> {
    const { engine } = this.#made;
    const { requiredResults } = await engine.getRun("", id);
    const results = requiredResults.map((call) => ({ toolCallId: call.id }));
    const submission = create(SubmitToolResultsRequestSchema, { runId: id, results });
    await (await engine.submitToolResults(submission, { owner: "", signal: NEVER })).result();
  }
}

/** The errors that operations may end with: the operation was no longer possible. */
function ignoreRefusal(thrown: unknown): void {
  if (!(thrown instanceof SDKError) || thrown.kindName === "INTERNAL") throw thrown;
}

async function checkHistory({ engine }: TestEngine, run: Run): Promise<void> {
  const events = await replay(engine, run.id);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
  const states = events.flatMap(({ event }) => (event.case === "run" ? [event.value] : []));
  expect(states.filter(({ status }) => isTerminal(status))).toHaveLength(isTerminal(run.status) ? 1 : 0);
  expect({ ...run, steps: [] }).toEqual(states.at(-1));
  expect(events.at(-1)?.event.case).toBe("run");
  expect(events.filter(({ event }) => event.case === "stepFinish")).toHaveLength(run.steps.length);
}

describe("any operations at the same time on runs", () => {
  // Never repeated: a race that it finds once is a fault.
  it("leave each run with one end, and with events that have its history without gaps", {
    timeout: 40_000,
    retry: 0,
  }, async () => {
    const scenario = fc.record({
      operations: fc.array(operation, { minLength: 1, maxLength: 25 }),
      turns: fc.array(turn, { minLength: 1, maxLength: 12 }),
    });
    const property = fc.asyncProperty(scenario, async ({ operations, turns }) => {
      const script = turns.map((kind) => {
        if (kind === "failure") return new ServerError("overloaded", { retryable: false });
        return kind === "call" ? [{ name: "local" }] : kind;
      });
      const made = await createTestEngine(script, {
        store: slowed(await openMemory()),
        limits: { threadWaitMs: 500 },
      });
      const callers = new Callers(made);
      const acts: Promise<void>[] = [];
      for (const next of operations) {
        for (let turns = 0; turns < next.pause; turns += 1)
          await new Promise((resolve) => setImmediate(resolve));
        acts.push(callers.act(next).catch(ignoreRefusal));
      }
      await Promise.all(acts);
      await made.engine.drain();
      for (const id of callers.runs) {
        const found = await made.engine.getRun("", id).catch(() => undefined);
        if (found === undefined) expect(callers.deleted).toContain(id);
        else {
          expect([...[RunStatus.QUEUED, RunStatus.IN_PROGRESS]]).not.toContain(found.status);
          await checkHistory(made, found);
        }
      }
      await made.engine.close();
    });
    await fc.assert(property, { numRuns: 100, interruptAfterTimeLimit: 20_000 });
  });
});
