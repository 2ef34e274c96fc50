/** Tries mutants against their nearest tests. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../test/support/random.ts";
import type { ChangedLines } from "./changes.ts";
import { type Equivalent, matches } from "./equivalents.ts";
import { findNearestTests, readImportGraph } from "./nearest-tests.ts";
import { applyMutant, listMutants, type Mutant } from "./operators.ts";
import { createWorkspace, listFiles, type Workspace } from "./workspace.ts";

/** Selects the code to change. */
export interface Selection {
  /** Folders or files. */
  readonly paths: readonly string[];
  /** Only these lines. Default: all. */
  readonly changedLines?: ChangedLines;
}

/** How mutants are tried. */
export interface Options {
  /** Most mutants to try. */
  readonly sample: number;
  readonly seed: number;
  /** Time of `performance.now()` after which none is started. */
  readonly deadline: number;
  /** Mutants at the same time. */
  readonly jobs: number;
  readonly equivalents: readonly Equivalent[];
  readonly onProgress: (line: string) => void;
}

/** The outcome of a mutant. */
export interface Result {
  readonly mutant: Mutant;
  readonly verdict: "killed" | "timed out" | "survived" | "no test" | "equivalent";
}

/** The outcomes of all mutants. */
export interface Outcome {
  readonly results: readonly Result[];
  /** Mutants that were chosen and not tried, because the time was over. */
  readonly untried: number;
  /** Entries about files of the selection that match no mutant. */
  readonly stale: readonly Equivalent[];
}

/** Time that the tests of one mutant may take when they pass, in milliseconds: the nearest ones are chosen. */
const MAX_TESTS_MS = 45_000;

/** Tests that are run before the others, in milliseconds: most mutants end there. */
const FIRST_TESTS_MS = 8000;

/** Time that a run needs besides its tests, in milliseconds. */
const START_MS = 20_000;

const BASELINE_TIMEOUT_MS = 15 * 60_000;

/** Tries the mutants of a selection. Throws if tests fail without one. */
export async function runMutants(root: string, selection: Selection, options: Options): Promise<Outcome> {
  const files = listFiles(root);
  const all = chooseFiles(files, selection).flatMap((file) =>
    listMutants(file, readFileSync(join(root, file), "utf8")).filter(({ line }) =>
      isSelected(selection, file, line),
    ),
  );
  const isEquivalent = (mutant: Mutant) => options.equivalents.some((entry) => matches(entry, mutant));
  const others = all.filter((mutant) => !isEquivalent(mutant));
  const chosen = shuffle(others, options.seed).slice(0, options.sample);
  const nearestTests = findTests(root, files, chosen);
  const count = Math.min(options.jobs, chosen.length);
  const tried = await withWorkspaces(root, files, count, (workspaces) =>
    tryMutants(workspaces, chosen, nearestTests, options),
  );
  const equivalent = all.filter(isEquivalent).map((mutant): Result => ({ mutant, verdict: "equivalent" }));
  return {
    results: [...equivalent, ...tried],
    untried: chosen.length - tried.length,
    stale: findStale(all, selection, options.equivalents),
  };
}

/** The nearest tests of each file, nearest first. */
type NearestTests = ReadonlyMap<string, readonly string[]>;

function findTests(root: string, files: readonly string[], mutants: readonly Mutant[]): NearestTests {
  const graph = readImportGraph(
    root,
    files.filter((file) => /^(src|test)\/.*\.ts$/.test(file)),
  );
  const mutated = new Set(mutants.map(({ file }) => file));
  return new Map([...mutated].map((file) => [file, findNearestTests(file, graph)]));
}

/** Removes the copies in any case, also if the process is interrupted. */
async function withWorkspaces<Value>(
  root: string,
  files: readonly string[],
  count: number,
  use: (workspaces: readonly Workspace[]) => Promise<Value>,
): Promise<Value> {
  const workspaces: Workspace[] = [];
  const removeAll = () => {
    for (const workspace of workspaces) workspace.remove();
  };
  const stop = () => process.exit(130);
  process.once("exit", removeAll).once("SIGINT", stop).once("SIGTERM", stop);
  try {
    while (workspaces.length < count) workspaces.push(createWorkspace(root, files));
    return await use(workspaces);
  } finally {
    removeAll();
    process.off("exit", removeAll).off("SIGINT", stop).off("SIGTERM", stop);
  }
}

/** Tries mutants until the time is up. Returns the outcomes of the mutants that were tried. */
async function tryMutants(
  workspaces: readonly Workspace[],
  mutants: readonly Mutant[],
  nearestTests: NearestTests,
  options: Options,
): Promise<Result[]> {
  const { deadline, onProgress } = options;
  const durations = await measureTests(workspaces, [...new Set([...nearestTests.values()].flat())], options);
  if (durations === undefined) return [];
  const results: Result[] = [];
  const queue = [...mutants];
  const next = () => (performance.now() < deadline ? queue.shift() : undefined);
  const work = async (workspace: Workspace) => {
    for (let mutant = next(); mutant !== undefined; mutant = next()) {
      const tests = chooseTests(nearestTests.get(mutant.file) ?? [], durations);
      const verdict = await tryMutant(workspace, mutant, tests, durations, deadline);
      if (verdict === undefined) return;
      results.push({ mutant, verdict });
      onProgress(`${results.length}/${mutants.length} ${verdict}: ${describe(mutant)}`);
    }
  };
  await Promise.all(workspaces.map(work));
  return results;
}

/** One line about a mutant. */
export function describe({ file, line, before, after }: Mutant): string {
  const short = (text: string) => text.replaceAll(/\s+/g, " ").slice(0, 80);
  return `${file}:${line} ${short(before)} → ${short(after)}`;
}

function chooseFiles(files: readonly string[], { paths, changedLines }: Selection): string[] {
  const chosen = files.filter(
    (file) =>
      file.startsWith("src/") &&
      file.endsWith(".ts") &&
      !file.startsWith("src/gen/") &&
      paths.some((path) => file === path || file.startsWith(`${path}/`)),
  );
  if (chosen.length === 0) throw new Error(`found no source files in ${paths.join(", ")}`);
  return changedLines === undefined ? chosen : chosen.filter((file) => changedLines.has(file));
}

function isSelected({ changedLines }: Selection, file: string, line: number): boolean {
  return changedLines === undefined || changedLines.get(file)?.has(line) === true;
}

/** Only the mutants of whole files tell whether an entry matches one. */
function findStale(
  mutants: readonly Mutant[],
  { changedLines }: Selection,
  equivalents: readonly Equivalent[],
): Equivalent[] {
  if (changedLines !== undefined) return [];
  const files = new Set(mutants.map(({ file }) => file));
  return equivalents.filter(
    (entry) => files.has(entry.file) && !mutants.some((mutant) => matches(entry, mutant)),
  );
}

/** Shuffles a list (Fisher and Yates). */
function shuffle<Item>(list: readonly Item[], seed: number): Item[] {
  const random = createRandom(seed);
  const keyed = list.map((item) => ({ item, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}

/**
 * Runs the tests without a mutant, shared among the workspaces. Returns how long each took, or undefined if the time
 * was over before they ended.
 */
async function measureTests(
  workspaces: readonly Workspace[],
  tests: readonly string[],
  { deadline, onProgress }: Options,
): Promise<ReadonlyMap<string, number> | undefined> {
  if (tests.length === 0) return new Map();
  onProgress(`running ${tests.length} test files without a mutant`);
  const timeoutMs = Math.min(BASELINE_TIMEOUT_MS, getRemainingMs(deadline));
  const runs = await Promise.all(
    workspaces.map((workspace, index) => {
      const share = tests.filter((_, at) => at % workspaces.length === index);
      return share.length === 0 ? undefined : workspace.runTests(share, timeoutMs);
    }),
  );
  for (const run of runs) {
    if (run?.outcome === "timed out" && performance.now() >= deadline) return undefined;
    if (run !== undefined && run.outcome !== "passed") {
      throw new Error(`the tests do not pass without a mutant (${run.outcome}):\n${run.output}`);
    }
  }
  return new Map(runs.flatMap((run) => [...(run?.durations ?? [])]));
}

/** The nearest tests that take no longer than a mutant may, and at least one. */
function chooseTests(tests: readonly string[], durations: ReadonlyMap<string, number>): string[] {
  const chosen: string[] = [];
  let totalMs = 0;
  for (const test of tests) {
    const ms = durations.get(test);
    if (ms === undefined || (chosen.length > 0 && totalMs + ms > MAX_TESTS_MS)) continue;
    totalMs += ms;
    chosen.push(test);
  }
  return chosen;
}

/** Longest timer, in milliseconds. Node fires one that is longer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function getRemainingMs(deadline: number): number {
  return Math.min(MAX_TIMER_MS, Math.max(0, deadline - performance.now()));
}

/** Tries a mutant. Undefined if the time was over before its tests ended. */
async function tryMutant(
  workspace: Workspace,
  mutant: Mutant,
  tests: readonly string[],
  durations: ReadonlyMap<string, number>,
  deadline: number,
): Promise<Result["verdict"] | undefined> {
  if (tests.length === 0) return "no test";
  const path = join(workspace.folder, mutant.file);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, applyMutant(text, mutant));
  try {
    for (const part of splitTests(tests, durations)) {
      const timeoutMs = START_MS + 3 * sumDurations(part, durations);
      const { outcome } = await workspace.runTests(part, Math.min(timeoutMs, getRemainingMs(deadline)));
      if (outcome === "failed") return "killed";
      if (outcome === "timed out") return performance.now() < deadline ? "timed out" : undefined;
    }
    return "survived";
  } finally {
    writeFileSync(path, text);
  }
}

function sumDurations(tests: readonly string[], durations: ReadonlyMap<string, number>): number {
  return tests.reduce((sum, test) => sum + (durations.get(test) ?? 0), 0);
}

/** Splits tests into those that are run first and the others. */
function splitTests(tests: readonly string[], durations: ReadonlyMap<string, number>): string[][] {
  const first = tests.filter(
    (_, index) => sumDurations(tests.slice(0, index + 1), durations) <= FIRST_TESTS_MS,
  );
  return [first, tests.filter((test) => !first.includes(test))].filter((part) => part.length > 0);
}
