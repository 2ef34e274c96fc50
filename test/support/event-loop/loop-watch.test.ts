import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type LoopWatch, type ThreadTimes, watchLoop } from "./loop-watch.ts";
import {
  getWatchOptions,
  startWatchingProcesses,
  stopWatchingProcesses,
  takeHoldsOfProcesses,
} from "./watched-processes.ts";

const isLinux = process.platform === "linux";

/** Computes until the thread has had a core for some time. */
function compute(ms: number): void {
  for (const start = getComputedMs(); getComputedMs() < start + ms; );
}

function getComputedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1e3;
}

const NO_TIMES: ThreadTimes = { elapsedMs: 0, computedMs: 0, waitedMs: 0 };

function start(): LoopWatch {
  const watch = watchLoop();
  onTestFinished(() => watch.close());
  return watch;
}

/** On a busy machine, a computation that waits for a core is allowed to take longer. */
const BUSY = { retry: 5 };

describe("watchLoop", () => {
  it("reports one long computation, and forgets it when it was taken", async () => {
    const times = { ...NO_TIMES };
    const watch = watchLoop(undefined, { readTimes: () => ({ ...times }), measureSlowness: () => 1 });
    onTestFinished(() => watch.close());
    Object.assign(times, { elapsedMs: 450, computedMs: 400, waitedMs: 50 });
    await sleep(20);
    expect(watch.take()).toEqual([{ delayMs: 440, computedMs: 400, waitedMs: 50, blockedMs: 0 }]);
    expect(watch.take()).toEqual([]);
  });

  it("reports a computation that has not returned to the event loop yet", () => {
    const times = { ...NO_TIMES };
    const watch = watchLoop(undefined, { readTimes: () => ({ ...times }), measureSlowness: () => 1 });
    onTestFinished(() => watch.close());
    Object.assign(times, { elapsedMs: 400, computedMs: 400 });
    expect(watch.take()).toHaveLength(1);
  });

  it("allows a computation as much time as it waited for a core besides", () => {
    const times = { ...NO_TIMES };
    const watch = watchLoop(undefined, { readTimes: () => ({ ...times }), measureSlowness: () => 1 });
    onTestFinished(() => watch.close());
    Object.assign(times, { elapsedMs: 800, computedMs: 400, waitedMs: 400 });
    expect(watch.take()).toEqual([]);
  });

  it("allows a computation more time on a machine that is slower", () => {
    const times = { ...NO_TIMES };
    const slowness = vi.fn(() => 2);
    const watch = watchLoop(undefined, { readTimes: () => ({ ...times }), measureSlowness: slowness });
    onTestFinished(() => watch.close());
    Object.assign(times, { elapsedMs: 400, computedMs: 400 });
    expect(watch.take()).toEqual([]);
    Object.assign(times, { elapsedMs: 1000, computedMs: 1000 });
    expect(watch.take()).toHaveLength(1);
    expect(slowness).toHaveBeenCalledTimes(2);
  });

  it("does not report computations between which the event loop turns", async () => {
    const watch = start();
    for (let count = 0; count < 5; count += 1) {
      compute(100);
      await sleep(15);
    }
    expect(watch.take()).toEqual([]);
  });

  it.runIf(isLinux)("reports a synchronous wait", () => {
    const watch = start();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2300);
    expect(watch.take()).toEqual([
      expect.objectContaining({ blockedMs: expect.toSatisfy((ms) => ms > 2000) }),
    ]);
  });

  it("does not report work of the test itself, and returns its result", async () => {
    const watch = start();
    const work = () => {
      compute(400);
      return "done";
    };
    expect(watch.uncounted(work)).toBe("done");
    await sleep(20);
    expect(watch.take()).toEqual([]);
  });

  it("does not report the time that the thread waits for a core", { timeout: 60_000 }, async () => {
    // They leave this thread a small share of a core.
    const count = 4 * availableParallelism();
    const rivals = Array.from({ length: count }, () => spawn(process.execPath, ["-e", "for (;;);"]));
    onTestFinished(() => {
      for (const rival of rivals) rival.kill("SIGKILL");
    });
    await Promise.all(rivals.map((rival) => once(rival, "spawn")));
    const watch = start();
    compute(150);
    await sleep(20);
    expect(watch.take()).toEqual([]);
  });
});

describe("the watch over processes", () => {
  afterEach(stopWatchingProcesses);

  it(
    "reports a process that holds its event loop after it listens, and not the loading before",
    BUSY,
    async () => {
      await startWatchingProcesses();
      const program = `
      const hold = () => { for (const end = performance.now() + 1000; performance.now() < end; ); };
      hold();
      require("node:net").createServer().listen(0, "127.0.0.1", function () {
        setTimeout(hold, 30);
        setTimeout(() => this.close(), 60);
      });
      process.on("exit", () => {});
    `;
      const child = spawn(process.execPath, [...getWatchOptions(), "-e", program], { stdio: "inherit" });
      expect(await once(child, "close")).toEqual([0, null]);
      const holds = await takeHoldsOfProcesses();
      expect(holds).toHaveLength(1);
      expect(await takeHoldsOfProcesses()).toEqual([]);
    },
  );

  it("adds nothing to processes of tests that are not watched", () => {
    expect(getWatchOptions()).toEqual([]);
  });
});
