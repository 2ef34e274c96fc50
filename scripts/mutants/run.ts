/** Tries mutants against their nearest tests. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../test/support/random.ts";
import type { ChangedLines } from "./changes.ts";
import { getBlock, instrument } from "./coverage.ts";
import { type Equivalent, matches } from "./equivalents.ts";
import { findNearestTests, findTestsOfImporters, readImportGraph } from "./nearest-tests.ts";
import { applyMutant, listMutants, type Mutant } from "./operators.ts";
import { createWorkspace, listFiles, type TestRun, type Workspace } from "./workspace.ts";

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
const MAX_TESTS_MS = 90_000;

/** Time that a run needs besides its tests, in milliseconds. */
const START_MS = 20_000;

/** Time that a test may take without a mutant, in milliseconds. One that is slower costs more than it tells. */
const BASELINE_TIMEOUT_MS = 60_000;

/** Share of the remaining time that a test may take without a mutant. */
const BASELINE_SHARE = 1 / 8;

/** How often a test is tried without a mutant before it counts as failing. */
const BASELINE_TRIES = 3;

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
  const tests = findTests(root, files, chosen);
  const count = Math.min(options.jobs, chosen.length);
  const tried = await withWorkspaces(root, files, count, (workspaces) => {
    for (const workspace of workspaces) instrumentFiles(workspace, tests.keys());
    return tryMutants(root, workspaces, chosen, tests, options);
  });
  const equivalent = all.filter(isEquivalent).map((mutant): Result => ({ mutant, verdict: "equivalent" }));
  return {
    results: [...equivalent, ...tried],
    untried: chosen.length - tried.length,
    stale: findStale(all, selection, options.equivalents),
  };
}

/** The tests of a file. */
interface FileTests {
  /** Nearest first. */
  readonly nearest: readonly string[];
  /** For code that no nearest test runs. */
  readonly others: readonly string[];
}

type TestsByFile = ReadonlyMap<string, FileTests>;

function findTests(root: string, files: readonly string[], mutants: readonly Mutant[]): TestsByFile {
  const graph = readImportGraph(
    root,
    files.filter((file) => /^(src|test)\/.*\.ts$/.test(file)),
  );
  const mutated = new Set(mutants.map(({ file }) => file));
  return new Map(
    [...mutated].map((file) => {
      const nearest = findNearestTests(file, graph);
      const others = findTestsOfImporters(file, graph).filter((test) => !nearest.includes(test));
      return [file, { nearest, others }];
    }),
  );
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

function instrumentFiles(workspace: Workspace, files: Iterable<string>): void {
  for (const file of files)
    workspace.writeFile(file, instrument(file, readFileSync(join(workspace.folder, file), "utf8")));
}

/** Tries mutants until the time is up. Returns the outcomes of the mutants that were tried. */
async function tryMutants(
  root: string,
  workspaces: readonly Workspace[],
  mutants: readonly Mutant[],
  tests: TestsByFile,
  { deadline, onProgress }: Options,
): Promise<Result[]> {
  const baseline = new Baseline(deadline, onProgress);
  const results: Result[] = [];
  const queue = [...mutants];
  const next = () => (performance.now() < deadline ? queue.shift() : undefined);
  const work = async (workspace: Workspace) => {
    for (let mutant = next(); mutant !== undefined; mutant = next()) {
      const trial = { mutant, text: readFileSync(join(root, mutant.file), "utf8"), workspace };
      const verdict = await tryMutant(trial, tests.get(mutant.file) ?? NO_TESTS, baseline, deadline);
      if (verdict === undefined) return;
      results.push({ mutant, verdict });
      onProgress(`${results.length}/${mutants.length} ${verdict}: ${describe(mutant)}`);
    }
  };
  await Promise.all(workspaces.map(work));
  return results;
}

const NO_TESTS: FileTests = { nearest: [], others: [] };

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

/** What is known of a test without a mutant. */
interface MeasuredTest {
  readonly durationMs: number;
  /** The blocks that it runs. */
  readonly blocks: ReadonlySet<string>;
}

/** The tests without a mutant. Each is measured when it is first needed. */
class Baseline {
  readonly #deadline: number;
  readonly #onProgress: (line: string) => void;
  readonly #tests = new Map<string, Promise<MeasuredTest | undefined>>();
  readonly #durations = new Map<string, number>();

  constructor(deadline: number, onProgress: (line: string) => void) {
    this.#deadline = deadline;
    this.#onProgress = onProgress;
  }

  /**
   * Returns undefined if the test is of no use, because it is too slow or fails now and then.
   * @param workspace Without a mutant.
   * @throws Error if the test always fails; OutOfTime.
   */
  getTest(workspace: Workspace, test: string): Promise<MeasuredTest | undefined> {
    const known = this.#tests.get(test) ?? this.#measure(workspace, test);
    this.#tests.set(test, known);
    return known;
  }

  /** Puts the tests first that were measured, the quickest one first. The others keep their order. */
  sortByCost(tests: readonly string[]): readonly string[] {
    const measured = tests.filter((test) => this.#durations.has(test));
    const cost = (test: string) => this.#durations.get(test) ?? 0;
    return [
      ...measured.sort((a, b) => cost(a) - cost(b)),
      ...tests.filter((test) => !this.#durations.has(test)),
    ];
  }

  async #measure(workspace: Workspace, test: string): Promise<MeasuredTest | undefined> {
    for (let tries = 1; ; tries += 1) {
      const timeoutMs = Math.min(BASELINE_TIMEOUT_MS, getRemainingMs(this.#deadline) * BASELINE_SHARE);
      const run = await workspace.runTest(test, timeoutMs);
      if (run.outcome === "passed" && tries === 1) {
        this.#durations.set(test, run.durationMs);
        return run;
      }
      if (run.outcome === "passed") return this.#leaveOut(test, "fails now and then without a mutant");
      if (performance.now() >= this.#deadline) throw new OutOfTime();
      if (run.outcome === "timed out") return this.#leaveOut(test, "takes too long");
      if (tries === BASELINE_TRIES) throw new Error(`${test} fails without a mutant:\n${run.output}`);
    }
  }

  #leaveOut(test: string, reason: string): undefined {
    this.#onProgress(`${test} ${reason}, and is left out`);
  }
}

/** The time was over before the tests ended. */
class OutOfTime extends Error {}

/** Longest timer, in milliseconds. Node fires one that is longer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function getRemainingMs(deadline: number): number {
  return Math.min(MAX_TIMER_MS, Math.max(0, deadline - performance.now()));
}

/** A mutant, the text of its file, and where it is tried. */
interface Trial {
  readonly mutant: Mutant;
  readonly text: string;
  readonly workspace: Workspace;
}

/** Tries a mutant. Undefined if the time was over before its tests ended. */
async function tryMutant(
  trial: Trial,
  { nearest, others }: FileTests,
  baseline: Baseline,
  deadline: number,
): Promise<Result["verdict"] | undefined> {
  try {
    const verdict = await tryTests(trial, baseline.sortByCost(nearest), baseline, deadline);
    if (verdict !== "no test") return verdict;
    return await tryTests(trial, others, baseline, deadline);
  } catch (thrown) {
    if (thrown instanceof OutOfTime) return undefined;
    throw thrown;
  }
}

/** Runs those tests against a mutant that run its block, until one notices. */
async function tryTests(
  trial: Trial,
  tests: readonly string[],
  baseline: Baseline,
  deadline: number,
): Promise<Result["verdict"] | undefined> {
  const block = getBlock(trial.mutant, trial.text);
  let totalMs = 0;
  for (const name of tests) {
    const test = await baseline.getTest(trial.workspace, name);
    if (test === undefined || (block !== undefined && !test.blocks.has(block))) continue;
    if (totalMs > 0 && totalMs + test.durationMs > MAX_TESTS_MS) continue;
    totalMs += test.durationMs;
    const timeoutMs = Math.min(START_MS + 3 * test.durationMs, getRemainingMs(deadline));
    const outcome = await runWithMutant(trial, name, timeoutMs);
    if (outcome !== "passed" && performance.now() >= deadline) return undefined;
    if (outcome === "failed") return "killed";
    if (outcome === "timed out") return "timed out";
  }
  return totalMs > 0 ? "survived" : "no test";
}

async function runWithMutant(
  { workspace, mutant, text }: Trial,
  test: string,
  timeoutMs: number,
): Promise<TestRun["outcome"]> {
  workspace.writeFile(mutant.file, applyMutant(text, mutant));
  try {
    return (await workspace.runTest(test, timeoutMs)).outcome;
  } finally {
    workspace.writeFile(mutant.file, instrument(mutant.file, text));
  }
}
