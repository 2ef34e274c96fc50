/** Starts and stops the programs of a run. Those that are still running when this process ends are killed. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { connect, createServer } from "node:net";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { PROJECT_FOLDER } from "./work-folder.ts";

/** A program and how to start it. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment of the program. */
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory. Default: the project's folder. */
  readonly folder?: string;
}

/** A program that runs until it is stopped. */
export interface Running {
  readonly pid: number;
  /** Host and port of the listener. */
  readonly address: string;
  /** Milliseconds from its start to the first connection that it accepted. */
  readonly startMs: number;
  /** Closes the program's standard input and sends SIGTERM; kills it if it does not end. Resolves when it has ended. */
  stop(): Promise<void>;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

// LiteLLM imports for half a minute on a busy machine.
const START_LIMIT_MS = 90_000;
const CONNECT_INTERVAL_MS = 2;
const MAX_ERROR_CHARS = 4000;
const STOP_LIMIT_MS = 15_000;

const children = new Set<Child>();

/** Kills all programs that are still running. */
export function killAll(): void {
  for (const child of children) child.kill("SIGKILL");
}

/**
 * Starts a server, and waits until it accepts connections. Its output is discarded.
 * @param commandFor Returns the command that listens on the given free address.
 * @throws Error with the standard error, if the server ends or does not listen within 90 seconds.
 */
export async function startListening(commandFor: (address: string) => Command): Promise<Running> {
  const port = await findFreePort();
  const address = `127.0.0.1:${port}`;
  const startedAt = performance.now();
  const child = spawnChild(commandFor(address));
  let errors = "";
  child.stdout.resume();
  child.stderr.on("data", (chunk: Buffer) => {
    errors = (errors + chunk).slice(-MAX_ERROR_CHARS);
  });
  while (!(await canConnect(port))) {
    const gone = child.exitCode !== null || performance.now() - startedAt > START_LIMIT_MS;
    if (gone) throw new Error(`${child.spawnargs.join(" ")} did not start:\n${errors.trim()}`);
    await sleep(CONNECT_INTERVAL_MS);
  }
  return { pid: child.pid ?? 0, address, startMs: performance.now() - startedAt, stop: () => stop(child) };
}

/**
 * Runs a program to its end.
 * @returns The standard output.
 * @throws Error with the standard error, if the program fails.
 */
export async function run(command: Command): Promise<string> {
  return finish(command, spawnChild(command));
}

/** A program that pauses at a known point until it is resumed. */
export interface Paused {
  /** Resumes it. @returns The output since. */
  resume(): Promise<string>;
}

/** Starts a program and waits for a matching line; closing its standard input resumes it. */
export async function runUntil(command: Command, line: RegExp): Promise<Paused> {
  const child = spawnChild(command);
  await waitFor(child, line);
  child.stdout.removeAllListeners("data");
  return {
    resume() {
      child.stdin.end();
      return finish(command, child);
    },
  };
}

async function finish(command: Command, child: Child): Promise<string> {
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code === 0) return output;
  throw new Error(`${command.file} ${command.args.join(" ")} ended with ${code}:\n${errors.trim()}`);
}

function spawnChild({ file, args, env, folder = PROJECT_FOLDER }: Command): Child {
  const child = spawn(file, args, {
    cwd: folder,
    stdio: ["pipe", "pipe", "pipe"],
    ...(env === undefined ? {} : { env }),
  });
  children.add(child);
  child.once("close", () => children.delete(child));
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  return child;
}

function waitFor(child: Child, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let printed = "";
    const fail = () => reject(new Error(`${child.spawnfile} did not start:\n${printed.trim()}`));
    const timer = setTimeout(fail, START_LIMIT_MS);
    const take = (chunk: Buffer) => {
      printed += chunk;
      const match = pattern.exec(printed);
      if (match === null) return;
      clearTimeout(timer);
      child.off("close", fail);
      child.stderr.off("data", take);
      resolve(match);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.once("close", fail);
  });
}

/** A port of 127.0.0.1 on which nothing listens. */
export function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const answer = (connected: boolean) => {
      socket.destroy();
      resolve(connected);
    };
    socket.once("connect", () => answer(true));
    socket.once("error", () => answer(false));
  });
}

async function stop(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("close", resolve));
  child.stdin.end();
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  await ended;
  clearTimeout(timer);
}
