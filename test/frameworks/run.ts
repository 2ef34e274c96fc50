/**
 * Tests that agent frameworks and agents work over the sidecar, each with its defaults: only the base
 * URL, the key and the name of the model differ from a program that was written for OpenAI. Behind the sidecar is the
 * simulator, with each of its wire APIs.
 *
 *   node test/frameworks/run.ts [--only NAME,BEGINNING*]
 *
 * Each framework is installed in the version of its lock file, into a folder of the user's cache. OUTRIGGER_MAIN names
 * another file to start than src/cli/main.ts, for instance the released bundle, dist/outrigger.cjs. A framework whose
 * registry cannot be reached is skipped. The exit code is 1 if a check failed, 2 if a name is unknown.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { sum, type Tally } from "../clients/runner/report.ts";
import { type Backend, startBackend, targets, wireApis } from "./runner/backend.ts";
import { type Framework, readVersion } from "./runner/framework.ts";
import { chooseFrameworks, frameworks } from "./runner/frameworks.ts";
import { installFramework, NotInstalledError } from "./runner/install.ts";
import { runProgram } from "./runner/program.ts";
import { formatTable, type Row } from "./runner/table.ts";
import { listChecks, readVerdict } from "./runner/verdict.ts";

/** Variables of a developer that would change what is tested, or that hold keys. */
const FOREIGN_VARIABLES = /^(OPENAI|ANTHROPIC|GEMINI|GOOGLE|AZURE|LANGCHAIN|LANGSMITH|LITELLM)_/;

/** The result of a framework. */
interface Result {
  readonly row: Row;
  readonly tally: Tally;
}

async function testFramework(framework: Framework, backend: Backend): Promise<Result> {
  const startedAt = performance.now();
  const result = await installFramework(framework).then(
    (installation) => checkInstalled(framework, installation, backend),
    (error) => reportMissing(framework, error),
  );
  const { passed, failed, skipped } = result.tally;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  print(`${framework.name}: ${passed} passed, ${failed} failed, ${skipped} skipped (${seconds} s)`);
  return result;
}

async function checkInstalled(
  framework: Framework,
  installation: string,
  { baseUrl }: Backend,
): Promise<Result> {
  const outcome = await runProgram(framework, installation, {
    OUTRIGGER_BASE_URL: baseUrl,
    OUTRIGGER_TARGETS: JSON.stringify(targets),
    // The machine's proxy must not be used for a local sidecar.
    no_proxy: "127.0.0.1",
    NO_PROXY: "127.0.0.1",
  });
  const { cells, tally } = readVerdict(framework, outcome);
  if (tally.failed > 0) print(`${framework.name}:`, outcome.stderr.trimEnd().slice(-8_000));
  return { row: createRow(framework, cells), tally };
}

/** A registry that is away is not a failure. */
function reportMissing(framework: Framework, error: unknown): Result {
  const count = wireApis.length * listChecks(framework).length;
  if (error instanceof NotInstalledError) {
    const tally = { passed: 0, failed: 0, skipped: count };
    return { row: createRow(framework, `not installed: ${error.message}`), tally };
  }
  print(`${framework.name}:`, String(error));
  return {
    row: createRow(framework, "✗ the installation failed"),
    tally: { passed: 0, failed: count, skipped: 0 },
  };
}

function createRow(framework: Framework, results: Row["results"]): Row {
  return { name: framework.name, version: readVersion(framework), results };
}

function print(...lines: string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

/** Calls `work` for all items, for as many at once as there are cores. */
async function mapInParallel<Item, Value>(
  items: readonly Item[],
  work: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = [];
  const entries = items.entries();
  const worker = async () => {
    for (const [index, item] of entries) values[index] = await work(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return values;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { only: { type: "string" } } });
  const names = values.only?.split(",") ?? [];
  const unknown = names.find((name) => chooseFrameworks(name).length === 0);
  if (unknown !== undefined) {
    print(`No framework is named "${unknown}"; there are ${frameworks.map(({ name }) => name).join(", ")}.`);
    return 2;
  }
  const chosen = names.length === 0 ? frameworks : new Set(names.flatMap(chooseFrameworks));
  for (const name of Object.keys(process.env)) {
    if (FOREIGN_VARIABLES.test(name)) delete process.env[name];
  }
  const backend = await startBackend();
  const results = await mapInParallel([...chosen], (framework) => testFramework(framework, backend));
  await backend.close();
  const { passed, failed, skipped } = sum(results.map(({ tally }) => tally));
  print(
    "",
    formatTable(results.map(({ row }) => row)),
    "",
    `${passed} passed, ${failed} failed, ${skipped} skipped`,
  );
  return failed === 0 ? 0 : 1;
}

// Node does not emit "exit" when a signal ends it, so exit explicitly to stop the sidecar.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => process.exit(1));
}
process.exitCode = await main();
