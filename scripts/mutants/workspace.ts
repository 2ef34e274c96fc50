/** A copy of the project's files in which mutants are tried. Nothing is ever changed in the project's folder. */
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** How a run of tests ended. */
export interface TestRun {
  readonly outcome: "passed" | "failed" | "timed out";
  /** How long each test file took, in milliseconds. Only of a run that passed. */
  readonly durations: ReadonlyMap<string, number>;
  /** The last lines of its output. */
  readonly output: string;
}

/** A copy of the project. */
export interface Workspace {
  readonly folder: string;
  /** Runs test files until one test fails. */
  runTests(tests: readonly string[], timeoutMs: number): Promise<TestRun>;
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
  const folder = mkdtempSync(join(tmpdir(), "outrigger-mutants-"));
  for (const file of files.filter((path) => !UNUSED.test(path))) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  linkModules(join(root, "node_modules"), join(folder, "node_modules"));
  return {
    folder,
    runTests: (tests, timeoutMs) => runTests(folder, tests, timeoutMs),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Links each package by itself, so that caches are written into the copy. */
function linkModules(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (name !== ".vite") symlinkSync(join(from, name), join(to, name));
  }
}

const MAX_OUTPUT = 4000;

async function runTests(folder: string, tests: readonly string[], timeoutMs: number): Promise<TestRun> {
  const report = join(folder, "node_modules", "report.json");
  rmSync(report, { force: true });
  const args = ["run", "--bail=1", "--maxWorkers=1", "--reporter=json", `--outputFile=${report}`];
  const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", ...args, ...tests], {
    cwd: folder,
    // A separate process group: the workers and the processes that tests start end with it.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, CI: "1" },
  });
  const killGroup = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  };
  process.once("exit", killGroup);
  let output = "";
  const keep = (text: string) => {
    output = (output + text).slice(-MAX_OUTPUT);
  };
  child.stdout.setEncoding("utf8").on("data", keep);
  child.stderr.setEncoding("utf8").on("data", keep);
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    killGroup();
  }, timeoutMs);
  const code = await new Promise<number | null>((resolve) => child.once("exit", resolve));
  clearTimeout(timer);
  killGroup();
  process.off("exit", killGroup);
  if (isTimedOut) return { outcome: "timed out", durations: new Map(), output };
  if (code !== 0)
    return { outcome: "failed", durations: new Map(), output: `${output}\n${await readFailures(report)}` };
  return { outcome: "passed", durations: await readDurations(report, folder), output };
}

interface JsonReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly failureMessages?: string[] }[];
  }[];
}

async function readDurations(report: string, folder: string): Promise<Map<string, number>> {
  const { testResults }: JsonReport = JSON.parse(await readFile(report, "utf8"));
  return new Map(
    testResults.map(({ name, startTime, endTime }) => [name.slice(folder.length + 1), endTime - startTime]),
  );
}

async function readFailures(report: string): Promise<string> {
  const text = await readFile(report, "utf8").catch(() => undefined);
  if (text === undefined) return "";
  const { testResults }: JsonReport = JSON.parse(text);
  const failures = testResults.flatMap(({ name, message, assertionResults }) => [
    ...(message === "" ? [] : [`${name}: ${message}`]),
    ...assertionResults.flatMap(({ fullName, failureMessages = [] }) =>
      failureMessages.map((failure) => `${fullName}: ${failure.split("\n")[0]}`),
    ),
  ]);
  return failures.join("\n");
}
