import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { inject, vi } from "vitest";
import { run } from "../../../src/cli/run.ts";
import { getWatchOptions } from "../../support/event-loop/watched-processes.ts";

const START_MS = 60_000;

// The time limit of tests that start a program, which is longer than usual.
vi.setConfig({ testTimeout: START_MS + 30_000 });

/** The program under test: its sources, or the bundle in the project `bundle`. OUTRIGGER_MAIN names another one. */
const main =
  process.env.OUTRIGGER_MAIN ||
  inject("program") ||
  fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));

/** A process of `outrigger`. */
export interface Outrigger {
  readonly child: ChildProcess;
  /** Returns the output so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves with the text of the first match on stdout. Rejects if the process ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with its exit code, or with the signal that killed it. */
  ended: Promise<number | NodeJS.Signals | null>;
}

const running = new Set<ChildProcess>();

/**
 * Starts `outrigger` with only the given environment.
 * @param program Path of its first module, or of a bundle. Default: the program under test.
 */
export function spawnOutrigger(
  args: readonly string[],
  env: Record<string, string> = {},
  program = main,
): Outrigger {
  const child = spawn(process.execPath, [...getWatchOptions(), program, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = once(child, "close").then(([code, signal]) => {
    running.delete(child);
    return code ?? signal;
  });
  const printed = (pattern: RegExp) =>
    vi.waitFor(
      () => {
        const match = pattern.exec(stdout);
        if (match !== null) return match;
        throw new Error(`${pattern} is not in:\n${stdout}\n${stderr}`);
      },
      { timeout: START_MS, interval: 20 },
    );
  return { child, stdout: () => stdout, stderr: () => stderr, printed, ended };
}

/** Starts `outrigger` with the given outputs, for instance a file as its stdout. */
export function spawnWithOutputs(
  args: readonly string[],
  env: Record<string, string>,
  stdio: NonNullable<SpawnOptions["stdio"]>,
): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env.PATH, ...env }, stdio });
  running.add(child);
  child.once("close", () => running.delete(child));
  return child;
}

/** A port of loopback that was free a moment ago, for a program whose output cannot name the one that it took. */
export async function freePort(): Promise<number> {
  let free = 0;
  await withBusyPort(async (port) => {
    free = port;
  });
  return free;
}

/** The output and the exit code of a command that has ended. */
export interface Ended {
  readonly code: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `outrigger` to its end, in a separate process. */
export async function runOutrigger(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Ended> {
  const outrigger = spawnOutrigger(args, env);
  const code = await outrigger.ended;
  return { code, stdout: outrigger.stdout(), stderr: outrigger.stderr() };
}

/** Runs `outrigger` to its end in this process, which is faster. For commands that do not wait for a signal. */
export async function runHere(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  const code = await run(args, {
    env,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

/** Kills the processes that a failed test left running. For `afterEach`. */
export async function killLeftovers(): Promise<void> {
  for (const child of running) {
    child.kill("SIGKILL");
    await once(child, "close");
  }
}

/** Occupies a port for the length of a function. */
export async function withBusyPort<Result>(use: (port: number) => Promise<Result>): Promise<Result> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
    return await use(address.port);
  } finally {
    server.close();
    await once(server, "close");
  }
}
