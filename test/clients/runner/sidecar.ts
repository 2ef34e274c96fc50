import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "./client.ts";

/** A running sidecar. */
export interface Sidecar {
  /** host:port of its data port. */
  readonly address: string;
  /** Sends SIGTERM. Throws if it does not end with exit code 0. */
  stop(): Promise<void>;
}

/** The program that is tested, from the root of the repository. */
export const mainFile = process.env.OUTRIGGER_MAIN || "src/cli/main.ts";

const startTimeoutMs = 120_000;
const stopTimeoutMs = 15_000;

/** Starts `outrigger demo`, the sidecar with the simulator behind it, and waits until it is ready. */
export function startDemo(): Promise<Sidecar> {
  return startSidecar(["demo"]);
}

/** Starts the program with these arguments and variables, and waits until it is ready. */
export async function startSidecar(
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<Sidecar> {
  const address = `127.0.0.1:${await freePort()}`;
  const admin = `127.0.0.1:${await freePort()}`;
  const child = spawn(process.execPath, [mainFile, ...args], {
    cwd: root,
    env: {
      ...neutralEnvironment(),
      ...variables,
      OUTRIGGER_LISTEN: address,
      OUTRIGGER_ADMIN_LISTEN: admin,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = readTail(child);
  // The child must not outlive the runner.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  try {
    await ready(child, `http://${admin}/readyz`);
  } catch (error) {
    kill();
    throw new Error(`The sidecar did not start: ${error}\n${output()}`, { cause: error });
  }
  return { address, stop: () => stop(child, output) };
}

async function stop(child: ChildProcess, output: () => string): Promise<void> {
  const ended = child.exitCode === null ? once(child, "exit") : undefined;
  child.kill("SIGTERM");
  await Promise.race([ended, sleep(stopTimeoutMs, undefined, { ref: false })]);
  if (child.exitCode !== 0) {
    const how = child.exitCode ?? child.signalCode ?? `no exit within ${stopTimeoutMs} ms`;
    child.kill("SIGKILL");
    throw new Error(`The sidecar should end with exit code 0 after SIGTERM, got ${how}\n${output()}`);
  }
}

/** The environment without the developer's settings, which would change what is tested, and without their keys. */
function neutralEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(OUTRIGGER|OPENAI|ANTHROPIC|GEMINI|GOOGLE|OTEL)_/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

/** A free port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") {
    throw new Error("a TCP server has no port");
  }
  return address.port;
}

/** Waits until a child answers 200 under a URL. Throws if it ends, or does not answer within `timeoutMs`. */
export async function ready(child: ChildProcess, url: string, timeoutMs = startTimeoutMs): Promise<void> {
  const giveUp = Date.now() + timeoutMs;
  while (Date.now() < giveUp) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`);
    }
    const answer = await fetch(url).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.status === 200) {
      return;
    }
    await sleep(50);
  }
  throw new Error(`${url} did not answer 200 within ${timeoutMs} ms`);
}

/** Keeps the end of a child's output, for the error message when it fails. */
export function readTail(child: ChildProcess): () => string {
  let tail = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      tail = (tail + text).slice(-8_000);
    });
  }
  return () => tail;
}
