import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const START_MS = 60_000;
const STOP_MS = 30_000;

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A sidecar in a separate process. */
export interface Sidecar {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Returns the log so far. */
  log(): string;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Ends it as an orchestrator does, which kills it if it does not end by itself in time. Returns its exit code. */
  stop(): Promise<number | null>;
}

/**
 * Starts a sidecar from the sources, or from the program that OUTRIGGER_MAIN names. Rejects if it ends before it
 * listens.
 */
export async function startSidecar(config: string, nodeOptions: readonly string[]): Promise<Sidecar> {
  const main = process.env.OUTRIGGER_MAIN || "src/cli/main.ts";
  const child = spawn(process.execPath, [...nodeOptions, main, "serve", "--config", config], {
    cwd: root,
    env: { PATH: process.env.PATH },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  // It must not outlive this process.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  void ended.then(() => process.off("exit", kill));
  let output = "";
  const listening = new Promise<string>((resolve, reject) => {
    const read = (text: string) => {
      output += text;
      const [, address] = /"addresses":\["([^"]+)"\].*"listening"/.exec(output) ?? [];
      if (address !== undefined) resolve(`http://${address}`);
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    const timer = setTimeout(() => reject(new Error(`the sidecar does not listen:\n${output}`)), START_MS);
    void ended.then(([code, signal]) => {
      clearTimeout(timer);
      reject(new Error(`the sidecar ended with ${code ?? signal}:\n${output}`));
    });
  });
  const url = await listening.catch((error) => {
    kill();
    throw error;
  });
  return {
    url,
    log: () => output,
    async kill() {
      kill();
      await ended;
    },
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(kill, STOP_MS);
      const [code] = await ended;
      clearTimeout(timer);
      return code;
    },
  };
}
