/** A separate PostgreSQL server for a test file, in a temporary folder, reached by a Unix socket. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { findPostgres, type User, unprivilegedUser } from "./find-postgres.ts";

const run = promisify(execFile);

/** How long a server may take to start, in milliseconds. */
const START_TIMEOUT_MS = 30_000;

/** Settings for short tests: the data does not have to survive a crash of the machine. */
const SETTINGS = {
  listen_addresses: "",
  fsync: "off",
  full_page_writes: "off",
  shared_buffers: "32MB",
  max_connections: "60",
};

/** A server. */
export class Postgres {
  /** Folder of its socket. */
  readonly folder: string;
  readonly #bin: string;
  readonly #user: User;
  readonly #settings: Readonly<Record<string, string>>;
  #process: ChildProcess | undefined;

  private constructor(folder: string, bin: string, user: User, settings: Readonly<Record<string, string>>) {
    this.folder = folder;
    this.#bin = bin;
    this.#user = user;
    this.#settings = settings;
  }

  /**
   * Starts a server. Undefined if the programs are missing.
   * @param settings Further settings of the server. Files that they name must be readable for everybody.
   */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<Postgres | undefined> {
    const user = await unprivilegedUser();
    const folder = await mkdtemp(join(tmpdir(), "outrigger-pg-"));
    if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid);
    const bin = await findPostgres(user, folder);
    if (bin === undefined) {
      process.stderr.write("no PostgreSQL works here: its tests are skipped (see CONTRIBUTING.md)\n");
      await rm(folder, { recursive: true, force: true });
      return undefined;
    }
    const postgres = new Postgres(folder, bin, user, settings);
    await postgres.#initialize();
    await postgres.resume();
    return postgres;
  }

  /** Connection string of a database; by default of the one that is always there. */
  url(database = "postgres", user = "postgres", folder = this.folder): string {
    return `postgres://${user}@/${database}?host=${folder}&port=${this.#settings.port ?? 5432}`;
  }

  /** Starts the server again. */
  async resume(): Promise<void> {
    const settings = Object.entries({ ...SETTINGS, unix_socket_directories: this.folder, ...this.#settings });
    const args = [
      "-D",
      join(this.folder, "data"),
      ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ];
    const stdio = process.env.OUTRIGGER_TEST_POSTGRES_LOG === undefined ? "ignore" : "inherit";
    this.#process = spawn(join(this.#bin, "postgres"), args, { ...this.#user, stdio });
    await this.#untilReady(this.#process);
  }

  /** Stops the server: connections break, transactions are rolled back. */
  async pause(signal: NodeJS.Signals = "SIGQUIT"): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  }

  /** Stops the server and removes its data. */
  async stop(): Promise<void> {
    await this.pause();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A separate connection. */
  async connect(): Promise<Client> {
    const client = new Client({ connectionString: this.url() });
    await client.connect();
    return client;
  }

  /** Runs SQL. */
  async query(sql: string): Promise<Record<string, unknown>[]> {
    const client = await this.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async #initialize(): Promise<void> {
    const data = join(this.folder, "data");
    await mkdir(data, { mode: 0o700 });
    if (this.#user.uid !== undefined && this.#user.gid !== undefined) {
      await chown(data, this.#user.uid, this.#user.gid);
    }
    const args = ["-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"];
    await run(join(this.#bin, "initdb"), args, { ...this.#user, cwd: this.folder });
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    const end = performance.now() + START_TIMEOUT_MS;
    for (;;) {
      try {
        await this.query("SELECT 1");
        return;
      } catch (thrown) {
        if (child.exitCode !== null || performance.now() > end) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}
