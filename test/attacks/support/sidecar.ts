/**
 * The program that ships, under attack.
 *
 * A test starts a sidecar with a bounded heap (`attacks.start`), or uses one that the tests of a block share
 * (`attacks.share`), runs its attack inside `withstand`, and checks what that returns. Meanwhile a bystander, which is
 * a separate process with a separate provider, calls the sidecar on another connection and asks for `/livez`.
 * Afterwards `expectRecovered` waits until nothing but garbage uses the memory.
 *
 *   const attacks = useSidecars();
 *   it("survives ...", async () => {
 *     const sidecar = await attacks.start({ heapMiB: 512 });
 *     expectWithstood(await sidecar.withstand(() => sendSomethingBad(sidecar.url)));
 *     await sidecar.expectRecovered();
 *   });
 *
 * `ATTACK_REPORT=1 npx vitest run test/attacks` prints what was measured.
 *
 * The program is bundled once (test/support/build-program.ts); OUTRIGGER_MAIN names another one. An attack by a
 * provider serves on a separate port and is named in `providers`; the attack is then a call with `provider: "<its
 * name>"`.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, inject, vi } from "vitest";
import { ALLOCATOR_VARIABLES, NODE_OPTIONS } from "../../../src/cli/process-settings.ts";
import { collectGarbage, getWatchOptions } from "../../support/event-loop/watched-processes.ts";
import { type Bystander, type Observed, startBystander } from "./bystander.ts";

/** How a sidecar under attack is started. */
export interface SidecarOptions {
  /** Size of V8's old generation, in MiB. */
  readonly heapMiB: number;
  /** Providers besides the bystander's provider: entries of `providers` in the configuration. */
  readonly providers?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Further fields of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** File descriptors that the process may open. Default: as many as this one. */
  readonly maxDescriptors?: number;
}

/** The effects of an attack. */
export interface AttackReport extends Observed {
  /** Whether the process still runs. */
  readonly isAlive: boolean;
  /** Largest resident memory during the attack, in MiB. */
  readonly peakMiB: number;
  /** Warnings of Node in the log of the process: leaks of listeners and the like. */
  readonly warnings: readonly string[];
  /** How long the process was ready to run while other processes ran on all cores, in milliseconds. */
  readonly heldUpMs: number;
}

/** A sidecar under attack. */
export interface AttackedSidecar {
  /** `http://127.0.0.1:<port>` of the data listener. */
  readonly url: string;
  readonly adminUrl: string;
  /** Runs an attack while the bystander calls. Rejects if the attack rejects. */
  withstand(attack: () => Promise<unknown>): Promise<AttackReport>;
  /** Waits until the memory without garbage is near what it was before the attack. Fails if it stays higher. */
  expectRecovered(): Promise<void>;
  /** Returns the log of the process so far. */
  log(): string;
}

/** Memory above that at rest that a sidecar may keep: compiled code, connections and fragments, in MiB. */
const MAX_KEPT_MIB = 80;

/** Longest wait for the memory to come back, in milliseconds: connections, stores and timers release it first. */
const RECOVERY_MS = 60_000;

/** Time for a collection of garbage, in milliseconds. */
const COLLECTION_MS = 500;

/**
 * Longest call or probe of the bystander, in milliseconds, besides the time in which other processes held up the
 * sidecar. Whatever the attack, it is less than one second on a machine with two cores; the rest is for slower ones.
 */
const MAX_DELAY_MS = 3000;

/**
 * Checks that the process lives, that the bystander noticed nothing, and that the memory would have been enough in a
 * container of that size.
 */
export function expectWithstood(report: AttackReport, maxPeakMiB = Number.POSITIVE_INFINITY): void {
  if (process.env.ATTACK_REPORT !== undefined) print(report);
  expect(report).toMatchObject({ isAlive: true, failures: [], warnings: [] });
  expect(report.peakMiB).toBeLessThan(maxPeakMiB);
  expect(report.slowestCallMs).toBeLessThan(MAX_DELAY_MS + report.heldUpMs);
  expect(report.slowestProbeMs).toBeLessThan(MAX_DELAY_MS + report.heldUpMs);
  expect(report.calls).toBeGreaterThan(0);
  expect(report.probes).toBeGreaterThan(0);
}

function print(report: AttackReport): void {
  process.stdout.write(`\n${expect.getState().currentTestName}: ${JSON.stringify(report)}\n`);
}

/** The sidecars of a test file. */
export interface Sidecars {
  /** Starts a sidecar for one test. */
  start(options: SidecarOptions): Promise<AttackedSidecar>;
  /**
   * Starts a sidecar for all tests of a block, in which this is called. For attacks that do not need a fresh process.
   * @param createOptions Called before the first test of the block.
   * @returns Returns the sidecar inside a test.
   */
  share(createOptions: () => SidecarOptions | Promise<SidecarOptions>): () => AttackedSidecar;
}

/** Registers hooks that stop what tests started. To be called once in a test file. */
export function useSidecars(): Sidecars {
  let folder = "";
  let bystander: Bystander;
  let processes: SidecarProcess[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "outrigger-attacks-"));
    bystander = await startBystander();
  });
  afterEach(async () => {
    for (const process of processes) await process.close();
    processes = [];
  });
  afterAll(async () => {
    await bystander.close();
    await rm(folder, { recursive: true });
  });
  return {
    async start(options) {
      const process = await startProcess(folder, options, bystander);
      processes.push(process);
      return attackedSidecar(process, bystander);
    },
    share(createOptions) {
      let process: SidecarProcess;
      let sidecar: AttackedSidecar;
      beforeAll(async () => {
        process = await startProcess(folder, await createOptions(), bystander);
        sidecar = await attackedSidecar(process, bystander);
      });
      afterAll(() => process.close());
      return () => sidecar;
    },
  };
}

interface SidecarProcess {
  readonly pid: number;
  readonly url: string;
  readonly adminUrl: string;
  isAlive(): boolean;
  log(): string;
  close(): Promise<unknown>;
}

async function startProcess(
  folder: string,
  { heapMiB, providers = {}, config = {}, maxDescriptors }: SidecarOptions,
  bystander: Bystander,
): Promise<SidecarProcess> {
  const file = join(folder, `${randomUUID()}.yaml`);
  const all = { bystander: bystander.provider, ...providers };
  await writeFile(file, JSON.stringify({ ...config, default_provider: "bystander", providers: all }));
  const command = [
    process.execPath,
    ...NODE_OPTIONS,
    `--max-old-space-size=${heapMiB}`,
    ...getWatchOptions(),
    process.env.OUTRIGGER_MAIN || inject("program") || "src/cli/main.ts",
    ...["serve", "--config", file, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"],
  ];
  const child = spawn("/bin/sh", ["-c", `${descriptorLimit(maxDescriptors)}exec "$@"`, "sh", ...command], {
    env: ALLOCATOR_VARIABLES,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  const listening = await vi.waitFor(
    () => {
      const line = /^.*"msg":"listening".*$/m.exec(output)?.[0];
      if (line === undefined) throw new Error(`the sidecar does not listen:\n${output}`);
      return line;
    },
    { timeout: 60_000, interval: 20 },
  );
  const { addresses, admin_address: admin } = JSON.parse(listening);
  return {
    pid: child.pid ?? 0,
    url: `http://${addresses[0]}`,
    adminUrl: `http://${admin}`,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    log: () => output,
    async close() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

/** Hard and soft: Node raises its soft limit to the hard one. */
function descriptorLimit(count: number | undefined): string {
  return count === undefined ? "" : `ulimit -n ${count}; `;
}

async function attackedSidecar(process: SidecarProcess, bystander: Bystander): Promise<AttackedSidecar> {
  const { pid, url, adminUrl } = process;
  // The first calls load chunks and compile code, which stays.
  await bystander.warmUp(process);
  const restMiB = await readCollectedMiB(pid);
  return {
    url,
    adminUrl,
    log: () => process.log(),
    async withstand(attack) {
      const heldUpBefore = await readHeldUpMs(pid);
      await resetPeak(pid);
      const observed = await bystander.observe(process, async () => {
        try {
          await attack();
        } catch (error) {
          // A process that died cuts the attack short; the report then says so.
          if (process.isAlive()) throw error;
        }
      });
      const isAlive = process.isAlive();
      const warnings = process.log().match(/^\(node:\d+\) .*$/gm) ?? [];
      if (!isAlive) return { ...observed, isAlive, warnings, peakMiB: Number.NaN, heldUpMs: 0 };
      const heldUpMs = (await readHeldUpMs(pid)) - heldUpBefore;
      return { ...observed, isAlive, warnings, peakMiB: (await readMemory(pid)).peakMiB, heldUpMs };
    },
    async expectRecovered() {
      await vi.waitFor(async () => expect(await readCollectedMiB(pid)).toBeLessThan(restMiB + MAX_KEPT_MIB), {
        timeout: RECOVERY_MS,
      });
    },
  };
}

/** Resident memory of a process, now and at most (proc(5), status). */
async function readMemory(pid: number): Promise<{ residentMiB: number; peakMiB: number }> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const read = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
  return { residentMiB: read("VmRSS"), peakMiB: read("VmHWM") };
}

/** Resident memory without garbage, in MiB. */
async function readCollectedMiB(pid: number): Promise<number> {
  collectGarbage(pid);
  await sleep(COLLECTION_MS);
  return (await readMemory(pid)).residentMiB;
}

/** Makes the largest resident memory of a process the present one (proc(5), clear_refs). */
function resetPeak(pid: number): Promise<void> {
  return writeFile(`/proc/${pid}/clear_refs`, "5");
}

/** Time that the main thread of a process has waited for a core (proc(5), schedstat). */
async function readHeldUpMs(pid: number): Promise<number> {
  const [, waitedNs] = (await readFile(`/proc/${pid}/schedstat`, "utf8")).split(" ");
  return Number(waitedNs) / 1e6;
}
