import { spawn, spawnSync } from "node:child_process";

/** A program and how to start it. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Variables in addition to the runner's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** How a program ended. */
export interface Outcome {
  /** Exit code; null if a signal ended the program. */
  readonly code: number | null;
  /** The texts that the program printed on standard output and on standard error. */
  readonly stdout: string;
  readonly stderr: string;
}

/** Returns the output of a command, or undefined if it is missing or fails. */
export function probe(file: string, ...args: string[]): string | undefined {
  const result = spawnSync(file, args, { encoding: "utf8" });
  return result.status === 0 ? `${result.stdout}${result.stderr}`.trim() : undefined;
}

/** Runs a program to its end, and kills it after `timeoutMs`. Rejects only if it cannot be started. */
export function run(command: Command, timeoutMs: number): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const child = spawn(command.file, command.args, {
    cwd: command.cwd,
    env: { ...process.env, ...command.env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.on("error", reject);
  child.on("close", (code) => resolve({ code, stdout, stderr }));
  return promise;
}

/** Runs one step of a build. Throws with the end of its output if it fails. */
export async function build(command: Command): Promise<void> {
  // A first build downloads and compiles gRPC itself; on a slow machine that takes minutes.
  const { code, stdout, stderr } = await run(command, 900_000);
  if (code !== 0) {
    const output = `${stdout}${stderr}`.trim().slice(-4_000);
    throw new Error(`${command.file} ${command.args.join(" ")} ended with ${code ?? "a signal"}:\n${output}`);
  }
}
