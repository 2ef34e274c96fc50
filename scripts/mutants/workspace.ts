/** A copy of the project's files in which mutants are tried. Nothing is ever changed in the project's folder. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { COVERAGE_FILE } from "./coverage.ts";
import type { TestReply, TestRequest } from "./test-server.ts";

/** How a run of a test file ended. */
export interface TestRun {
  readonly outcome: "passed" | "failed" | "timed out";
  readonly durationMs: number;
  /** Failures of tests, or the last lines of what Vitest wrote. */
  readonly output: string;
  /** The instrumented blocks that ran, see `instrument`. */
  readonly blocks: ReadonlySet<string>;
}

/** A copy of the project. */
export interface Workspace {
  readonly folder: string;
  /** Replaces the text of a file of the copy. */
  writeFile(file: string, text: string): void;
  /** Runs a test file until one test fails. */
  runTest(test: string, timeoutMs: number): Promise<TestRun>;
  remove(): void;
}

/** Lists the files of the project that are committed or would be. */
export function listFiles(root: string): string[] {
  const options = { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 } as const;
  const listed = execFileSync(
    "git",
    ["ls-files", "--cached", "--others", "--exclude-standard", "-z"],
    options,
  );
  return [...new Set(listed.split("\0"))].filter((file) => file !== "" && existsSync(join(root, file)));
}

/** Folders that no test of the suite reads. */
const UNUSED = /^(clients\/(go|java|python)|bench)\//;

/** Copies the project into a temporary folder. */
export function createWorkspace(root: string, files: readonly string[]): Workspace {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "outrigger-mutants-")));
  for (const file of files.filter((path) => !UNUSED.test(path))) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  linkModules(join(root, "node_modules"), join(folder, "node_modules"));
  return new TestedFolder(folder);
}

/** Links each package by itself, so that caches are written into the copy. */
function linkModules(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (name !== ".vite") symlinkSync(join(from, name), join(to, name));
  }
}

class TestedFolder implements Workspace {
  readonly folder: string;
  readonly #coverageFile: string;
  #server: TestServer | undefined;
  #changed = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
    this.#coverageFile = join(folder, "node_modules", "blocks.txt");
  }

  writeFile(file: string, text: string): void {
    const path = join(this.folder, file);
    writeFileSync(path, text);
    this.#changed.add(path);
  }

  async runTest(test: string, timeoutMs: number): Promise<TestRun> {
    this.#server ??= new TestServer(this.folder, this.#coverageFile);
    const changed = [...this.#changed];
    this.#changed.clear();
    writeFileSync(this.#coverageFile, "");
    const run = await this.#server.run({ test, changed }, timeoutMs);
    if (run.outcome === "timed out" || this.#server.isSpent()) this.#stopServer();
    return { ...run, blocks: new Set(readFileSync(this.#coverageFile, "utf8").split("\n")) };
  }

  remove(): void {
    this.#stopServer();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #stopServer(): void {
    this.#server?.kill();
    this.#server = undefined;
  }
}

const MAX_OUTPUT = 4000;

/** The process that runs tests. */
class TestServer {
  readonly #child: ChildProcess;
  #output = "";

  constructor(folder: string, coverageFile: string) {
    const program = fileURLToPath(new URL("./test-server.ts", import.meta.url));
    this.#child = spawn(process.execPath, [program], {
      cwd: folder,
      // A group of its own: the workers and the processes that tests start end with it.
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: {
        ...process.env,
        CI: "1",
        TEST: "true",
        VITEST: "true",
        NODE_ENV: "test",
        [COVERAGE_FILE]: coverageFile,
      },
    });
    const keep = (text: string) => {
      this.#output = (this.#output + text).slice(-MAX_OUTPUT);
    };
    this.#child.stdout?.setEncoding("utf8").on("data", keep);
    this.#child.stderr?.setEncoding("utf8").on("data", keep);
    process.once("exit", this.kill);
  }

  async run(request: TestRequest, timeoutMs: number): Promise<Omit<TestRun, "blocks">> {
    const start = performance.now();
    const { promise, resolve } = Promise.withResolvers<TestReply | "ended" | "timed out">();
    const onEnd = () => resolve("ended");
    const timer = setTimeout(() => resolve("timed out"), timeoutMs);
    this.#child.once("message", resolve).once("exit", onEnd);
    this.#child.send(request);
    const reply = await promise;
    clearTimeout(timer);
    this.#child.off("message", resolve).off("exit", onEnd);
    const durationMs = performance.now() - start;
    if (reply === "timed out") return { outcome: "timed out", durationMs, output: this.#output };
    if (reply === "ended") return { outcome: "failed", durationMs, output: this.#output };
    return { outcome: reply.isPassed ? "passed" : "failed", durationMs, output: reply.failures };
  }

  /** Whether it has ended, or tests have left processes: those have lost their parent. */
  isSpent(): boolean {
    const { pid, exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return true;
    const processes = execFileSync("ps", ["-A", "-o", "pid=,ppid=,pgid="], { encoding: "utf8" });
    return processes.split("\n").some((line) => {
      const [id, parent, group] = line.trim().split(/\s+/).map(Number);
      return group === pid && id !== pid && parent !== pid;
    });
  }

  readonly kill = (): void => {
    process.off("exit", this.kill);
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  };
}
