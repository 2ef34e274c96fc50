/** Tests of a store whose database is away, with a clock that they set. */
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InternalError } from "../../../src/core/errors.ts";
import { StepResultSchema } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { StoreUnreachableError } from "../../../src/runs/errors.ts";
import { Bodies } from "../../../src/runs/store/bodies.ts";
import { BodyCodec } from "../../../src/runs/store/body-codec.ts";
import { type Driver, NotConnectedError } from "../../../src/runs/store/driver.ts";
import {
  createThroughOutage,
  repeatThroughOutage,
  UncertainWrites,
} from "../../../src/runs/store/outages.ts";
import { createRevision } from "../../../src/runs/store/writes.ts";
import type { RunWrite } from "../../../src/runs/store.ts";
import { creation, finished, getClaim, message, runEvent, step, textEvent } from "../contract/data.ts";

// Node's timers with promises use the real clock.
vi.mock("node:timers/promises", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  setTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
}));

const bodies = new Bodies(new BodyCodec({ maxBodyBytes: 1_000_000 }));
const away = () => new StoreUnreachableError("the database is away");

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Runs work whose pauses pass at once. Returns what it gives or throws. */
async function pass<Value>(work: Promise<Value>): Promise<Value | Error> {
  let outcome: Value | Error | undefined;
  let isOver = false;
  work.then(
    (value) => {
      outcome = value;
      isOver = true;
    },
    (thrown: Error) => {
      outcome = thrown;
      isOver = true;
    },
  );
  while (!isOver) await vi.advanceTimersByTimeAsync(50);
  return outcome as Value | Error;
}

describe("work while the database is unavailable", () => {
  it("is retried with growing delays, for ten seconds", async () => {
    const times: number[] = [];
    const failed = await pass(
      repeatThroughOutage(async () => {
        times.push(performance.now());
        throw away();
      }),
    );
    expect(failed).toBeInstanceOf(StoreUnreachableError);
    const pauses = times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0)));
    expect(pauses.slice(0, 7)).toEqual([50, 100, 200, 400, 800, 1000, 1000]);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(10_000);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(11_100);
  });

  it("succeeds when the database is available again", async () => {
    let tries = 0;
    const work = async () => {
      tries += 1;
      if (tries < 3) throw away();
      return "done";
    };
    expect(await pass(repeatThroughOutage(work))).toBe("done");
  });

  it("is not retried after another failure", async () => {
    let tries = 0;
    const failed = repeatThroughOutage(async () => {
      tries += 1;
      throw new InternalError("broken");
    });
    expect(await pass(failed)).toMatchObject({ message: "broken" });
    expect(tries).toBe(1);
  });
});

describe("a run whose creation may have succeeded", () => {
  const created = creation();
  const result = { case: "created" as const, run: created.run, forked: false };

  /** Creates a run over a driver that finds some rows. */
  function createOver(
    { rows = [], isShared = true }: { rows?: readonly object[]; isShared?: boolean },
    attempt: (tries: number) => Error | undefined,
    from = created,
  ) {
    const seen = { tries: 0, reads: 0 };
    const read = async () => {
      seen.reads += 1;
      return rows;
    };
    const work = createThroughOutage({ isShared, read } as unknown as Driver, from, bodies, async () => {
      seen.tries += 1;
      const failure = attempt(seen.tries);
      if (failure !== undefined) throw failure;
      return result;
    });
    return { work: pass(work), seen };
  }

  const row = (fields = {}) => ({
    id: created.run.id,
    thread_id: created.run.threadId,
    holder: "process-1",
    fence: 1,
    body: bodies.writeRun(created.run),
    last_sequence: 0,
    cancel_requested: 0,
    status: RunStatus.IN_PROGRESS,
    ...fields,
  });

  it("is not created again if it is there", async () => {
    const { work, seen } = createOver({ rows: [row()] }, () => away());
    expect(await work).toEqual({ ...result, claim: getClaim(created.run.id) });
    expect(seen).toEqual({ tries: 1, reads: 1 });
  });

  it("has no claim if it is queued", async () => {
    const { work } = createOver({ rows: [row({ holder: null, fence: 0 })] }, () => away());
    expect(await work).toEqual(result);
  });

  it("is a fork if it continues another run in its new thread", async () => {
    const next = { ...created, request: { ...created.request, previousRunId: "run_x" } };
    const forked = createOver({ rows: [row()] }, () => away(), next);
    expect(await forked.work).toMatchObject({ forked: true });
    const joined = createOver({ rows: [row({ thread_id: "thread_x" })] }, () => away(), next);
    expect(await joined.work).toMatchObject({ forked: false });
  });

  it("is created if it is not there", async () => {
    const { work, seen } = createOver({}, (tries) => (tries === 1 ? away() : undefined));
    expect(await work).toEqual(result);
    expect(seen).toEqual({ tries: 2, reads: 1 });
  });

  it("is not looked for if nothing can have been executed", async () => {
    const { work, seen } = createOver({}, (tries) =>
      tries === 1 ? new NotConnectedError("no connection") : undefined,
    );
    expect(await work).toEqual(result);
    expect(seen).toEqual({ tries: 2, reads: 0 });
  });

  it("is looked for even if a later attempt had no connection", async () => {
    const failures = [away(), new NotConnectedError("no connection")];
    const { work, seen } = createOver({}, (tries) => failures[tries - 1]);
    expect(await work).toEqual(result);
    expect(seen).toEqual({ tries: 3, reads: 2 });
  });
});

it("marks each write with another number, which PostgreSQL and JavaScript keep exactly", () => {
  const revisions = Array.from({ length: 100 }, createRevision);
  expect(new Set(revisions).size).toBe(100);
  expect(revisions.every(Number.isSafeInteger)).toBe(true);
  expect(Math.min(...revisions)).toBeGreaterThanOrEqual(0);
});

describe("a write that may have succeeded", () => {
  const { run } = creation();
  const claim = getClaim(run.id);

  /** Writes to a driver with some stored events, or with the revision of a write. */
  function createWrites() {
    const written: { rest: RunWrite; revision: number }[] = [];
    const state = { events: [] as ReturnType<typeof textEvent>[], revision: 0, failures: [] as Error[] };
    const driver = {
      read: async () => [{ revision: state.revision }],
      readPage: async (_page: unknown, [, after]: readonly number[]) => {
        const found = state.events.filter(({ sequence }) => sequence > (after ?? 0));
        return { rows: bodies.writeEvents(run.id, found), hasMore: false };
      },
    };
    const writes = new UncertainWrites(driver as unknown as Driver, bodies);
    const write = (fields: Omit<RunWrite, "claim">) =>
      pass(
        writes.write({ claim, ...fields }, async (rest, revision) => {
          written.push({ rest, revision });
          const failure = state.failures.shift();
          if (failure !== undefined) throw failure;
          return true;
        }),
      );
    return { state, written, write };
  }

  it("is not repeated if its last event is stored", async () => {
    const { state, written, write } = createWrites();
    state.failures = [away()];
    state.events = [textEvent(1, "a"), textEvent(2, "b")];
    expect(await write({ events: [textEvent(1, "a"), textEvent(2, "b")] })).toBe(true);
    expect(written).toHaveLength(1);
  });

  it("is repeated with the same mark if it is not stored", async () => {
    const { state, written, write } = createWrites();
    state.failures = [away(), away()];
    const events = [textEvent(1, "a")];
    expect(await write({ events })).toBe(true);
    expect(written.map(({ rest }) => rest.events)).toEqual([events, events, events]);
    expect(new Set(written.map(({ revision }) => revision)).size).toBe(1);
  });

  it("is repeated if another process has written another event in its place", async () => {
    const { state, written, write } = createWrites();
    state.failures = [away()];
    state.events = [textEvent(1, "of another process")];
    await write({ events: [textEvent(1, "a")] });
    expect(written).toHaveLength(2);
  });

  it("is not repeated if it has no event and its mark is stored", async () => {
    const { state, written, write } = createWrites();
    state.failures = [away()];
    const writing = write({ steps: [step("a")] });
    await vi.waitUntil(() => written.length === 1);
    state.revision = written[0]?.revision ?? 0;
    expect(await writing).toBe(true);
    expect(written).toHaveLength(1);
    state.failures = [away()];
    await write({ steps: [step("b")] });
    expect(written).toHaveLength(3);
  });

  it("leaves out of a later write what it has stored", async () => {
    const { state, written, write } = createWrites();
    const [first, second] = [step("first"), step("second")];
    const [one, two] = [message("one"), message("two")];
    const latestStep = create(StepResultSchema);
    const early = { events: [textEvent(1, "a")], steps: [first], messages: [one], run, latestStep };
    state.failures = Array.from({ length: 30 }, away);
    expect(await write(early)).toBeInstanceOf(StoreUnreachableError);
    state.failures = [];
    state.events = [textEvent(1, "a")];
    const over = finished(run, RunStatus.COMPLETED);
    const events = [textEvent(1, "a"), runEvent(2, over)];
    await write({ ...early, events, steps: [first, second], messages: [one, two], run: over });
    expect(written.at(-1)?.rest).toEqual({
      claim,
      events: [runEvent(2, over)],
      steps: [second],
      messages: [two],
      run: over,
      latestStep: undefined,
    });
    await write({ events: [textEvent(3, "c")] });
    expect(written.at(-1)?.rest).toEqual({ claim, events: [textEvent(3, "c")] });
  });

  it.each([
    ["a step", { steps: [step("b")] }],
    ["a message", { messages: [message("b")] }],
    ["a version of the latest step", { latestStep: step("b") }],
    ["a change of the run", { run: finished(run, RunStatus.COMPLETED) }],
  ])("is followed by a later one that has only %s more", async (_name, more) => {
    const { state, written, write } = createWrites();
    const events = [textEvent(1, "a")];
    state.failures = Array.from({ length: 30 }, away);
    await write({ events });
    const tries = written.length;
    state.failures = [];
    state.events = events;
    expect(await write({ events, ...more })).toBe(true);
    expect(written).toHaveLength(tries + 1);
    expect(written.at(-1)?.rest).toMatchObject({ events: [], ...more });
  });

  it("is forgotten if nothing can have been executed", async () => {
    const { state, written, write } = createWrites();
    state.failures = [new NotConnectedError("no connection")];
    state.events = [textEvent(1, "a")];
    await write({ events: [textEvent(1, "a")] });
    expect(written).toHaveLength(2);
  });
});
