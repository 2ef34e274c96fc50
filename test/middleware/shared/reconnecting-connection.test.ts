/** A connection that is kept, to a server of the test and by its clock. Over real servers it is in outages.test.ts. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type ConnectionKind,
  type Failure,
  ReconnectingConnection,
  type UnavailableError,
} from "../../../src/middleware/shared/reconnecting-connection.ts";

// Vitest has no fake of this module.
vi.mock("node:timers/promises", () => ({
  setTimeout: (milliseconds: number, _value: unknown, options: { readonly signal?: AbortSignal } = {}) =>
    new Promise<void>((resolve, reject) => {
      setTimeout(resolve, milliseconds);
      options.signal?.addEventListener("abort", () => reject(new Error("aborted")));
    }),
}));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const never = () => new Promise<never>(() => {});

/** A connection named by its number, and what happens to it. */
function open(changes: Partial<ConnectionKind<string>> = {}) {
  const seen: string[] = [];
  const breaks = new Map<string, (thrown: unknown) => void>();
  let connections = 0;
  const kept = new ReconnectingConnection<string>(
    {
      server: "Server at x",
      timeoutMs: 100,
      connect: async () => {
        connections += 1;
        seen.push(`connect ${connections}`);
        return String(connections);
      },
      probe: async () => {},
      close: (connection) => void seen.push(`close ${connection}`),
      follow: (connection, onBreak) => void breaks.set(connection, onBreak),
      describe: (thrown): Failure => ({ problem: String(thrown), reason: "connection" }),
      ...changes,
    },
    {
      changed: (problem) => void seen.push(problem === undefined ? "up" : `away: ${problem}`),
      failed: (reason) => void seen.push(reason),
    },
  );
  const toFailure = (work: (connection: string) => Promise<unknown>) =>
    kept.use(work).then(
      () => undefined,
      (thrown: UnavailableError) => thrown,
    );
  return { kept, seen, breaks, toFailure };
}

describe("a reconnecting connection", () => {
  it("is used once it takes writes, and refuses commands at once until then", async () => {
    const { kept, seen, toFailure } = open();
    expect(await toFailure(never)).toMatchObject({
      message: "Server at x: not connected yet",
      reason: "connection",
      late: undefined,
    });
    await kept.ready();
    expect(await kept.use(async (connection) => `by ${connection}`)).toBe("by 1");
    expect(seen).toEqual(["connect 1", "connection", "up"]);
    expect(kept.problem).toBeUndefined();
  });

  it("is unavailable after one unanswered command, which may still be answered, and available when a probe is answered", async () => {
    const probes: PromiseWithResolvers<void>[] = [];
    const probe = () => {
      const answer = Promise.withResolvers<void>();
      probes.push(answer);
      return answer.promise;
    };
    const { kept, seen, toFailure } = open({ probe });
    await pass(0);
    probes[0]?.resolve();
    await kept.ready();
    const answer = Promise.withResolvers<string>();
    const failing = toFailure(() => answer.promise);
    await pass(99);
    expect(kept.problem).toBeUndefined();
    await pass(1);
    const failure = await failing;
    expect(failure).toMatchObject({ message: "Server at x: no answer within 100 ms", reason: "timeout" });
    // Nobody waits for it a second time.
    const refused = await toFailure(never);
    expect(refused).toMatchObject({ reason: "connection", late: undefined });
    answer.resolve("late");
    expect(await failure?.late).toBe("late");
    probes[1]?.resolve();
    await pass(0);
    expect(await kept.use(async (connection) => connection)).toBe("1");
    expect(seen).toEqual(["connect 1", "up", "away: no answer within 100 ms", "timeout", "connection", "up"]);
  });

  it("is replaced if it breaks or its probe is not answered, and each lost one is closed", async () => {
    const { kept, seen, breaks } = open();
    await kept.ready();
    breaks.get("1")?.("broken");
    expect(kept.problem).toBe("broken");
    await pass(10_000);
    expect(seen).toEqual(["connect 1", "up", "away: broken", "close 1", "connect 2", "up"]);
    const silent = open({ probe: never });
    await pass(5000);
    await silent.kept.ready();
    expect(silent.kept.problem).toBe("no answer within 5000 ms");
    expect(silent.seen.slice(0, 3)).toEqual(["connect 1", "away: no answer within 5000 ms", "close 1"]);
  });

  it("stays available if a command of the previous connection fails", async () => {
    const { kept, seen, breaks, toFailure } = open({ timeoutMs: 60_000 });
    await kept.ready();
    const answer = Promise.withResolvers<never>();
    const failing = toFailure(() => answer.promise);
    for (const problem of ["reset", "closed"]) breaks.get("1")?.(new Error(problem));
    await pass(5000);
    answer.reject(new Error("the socket was closed"));
    expect(await failing).toMatchObject({ reason: "connection" });
    expect(kept.problem).toBeUndefined();
    expect(seen.filter((state) => state.startsWith("away"))).toEqual(["away: Error: reset"]);
  });

  it("is closed if it is established after the timeout", async () => {
    const connecting = Promise.withResolvers<string>();
    const { kept, seen } = open({ connect: () => connecting.promise });
    await pass(4999);
    expect(seen).toEqual([]);
    await pass(1);
    expect(kept.problem).toBe("no answer within 5000 ms");
    connecting.resolve("late");
    await pass(0);
    expect(seen).toContain("close late");
  });

  it("waits longer before each attempt, with jitter, up to five seconds", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const times: number[] = [];
    open({
      connect: async () => {
        times.push(performance.now());
        throw new Error("refused");
      },
    });
    await pass(60_000);
    const waits = times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0)));
    expect(waits.slice(0, 8)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    vi.restoreAllMocks();
  });

  it("accepts 5000 concurrent commands, and more as soon as some have ended", async () => {
    const { kept, toFailure } = open({ timeoutMs: 60_000 });
    await kept.ready();
    const first = Promise.withResolvers<string>();
    const waiting = [toFailure(() => first.promise)];
    while (waiting.length < 5000) waiting.push(toFailure(never));
    expect(await toFailure(async () => {})).toMatchObject({
      message: "Server at x: 5000 commands wait for answers",
      reason: "timeout",
      late: undefined,
    });
    // The server is not away for that.
    expect(kept.problem).toBeUndefined();
    first.resolve("done");
    expect(await waiting[0]).toBeUndefined();
    expect(await kept.use(async () => "next")).toBe("next");
  });

  it("is closed after the commands in progress, or a second, and does not reconnect", async () => {
    const { kept, seen, breaks } = open({ timeoutMs: 60_000 });
    await kept.ready();
    const answer = Promise.withResolvers<string>();
    const command = kept.use(() => answer.promise);
    const closing = kept.close();
    await pass(500);
    expect(seen).toEqual(["connect 1", "up"]);
    answer.resolve("done");
    expect(await command).toBe("done");
    await pass(20);
    await closing;
    await pass(60_000);
    expect(seen).toEqual(["connect 1", "up", "close 1"]);
    breaks.get("1")?.(new Error("reset"));
    expect(seen).toHaveLength(3);
    const hanging = open({ timeoutMs: 60_000 });
    await hanging.kept.ready();
    void hanging.toFailure(never);
    const left = hanging.kept.close();
    await pass(1020);
    await left;
    expect(hanging.seen.at(-1)).toBe("close 1");
  });
});
