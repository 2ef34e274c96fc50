/**
 * Runs the test files of the current folder that its parent process names, one at a time and each in a process of its
 * own. Modules stay transformed between them, which is most of what a start of Vitest costs.
 */
import { inspect } from "node:util";
import { createVitest, type TestModule, type TestSpecification, type Vitest } from "vitest/node";

/** Asks for a run of one test file. */
export interface TestRequest {
  readonly test: string;
  /** Absolute paths of files that changed since the last request. */
  readonly changed: readonly string[];
}

/** Answers a request. */
export interface TestReply {
  readonly isPassed: boolean;
  /** Names and messages of the failures. */
  readonly failures: string;
}

/** The tests of the sources. Projects that come later repeat them with the bundle, which mutants do not change. */
async function findTest(vitest: Vitest, test: string): Promise<TestSpecification> {
  const [first] = await vitest.globTestSpecifications([test]);
  if (first === undefined) throw new Error(`Vitest found no test in ${test}`);
  return first;
}

function listFailures(modules: readonly TestModule[], unhandled: readonly unknown[]): string[] {
  const failures = modules.flatMap((module) => [
    ...module.errors().map(({ message }) => `${module.relativeModuleId}: ${message}`),
    ...[...module.children.allTests("failed")].flatMap((test) =>
      (test.result().errors ?? []).map(({ message }) => `${test.fullName}: ${message.split("\n")[0]}`),
    ),
  ]);
  return [...failures, ...unhandled.map(getMessage)];
}

/** Errors of the processes that run tests come as objects without a prototype, which are no text by themselves. */
function getMessage(error: unknown): string {
  return typeof error === "object" && error !== null && "message" in error
    ? String(error.message)
    : inspect(error);
}

async function runTest(vitest: Vitest, { test, changed }: TestRequest): Promise<TestReply> {
  for (const file of changed) vitest.invalidateFile(file);
  const specification = await findTest(vitest, test);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification]);
  const modules = testModules.filter(({ moduleId }) => moduleId === specification.moduleId);
  const isPassed =
    modules.length > 0 && modules.every((module) => module.ok()) && unhandledErrors.length === 0;
  return { isPassed, failures: listFailures(modules, unhandledErrors).join("\n") };
}

const vitest = await createVitest("test", {
  root: process.cwd(),
  watch: false,
  bail: 1,
  maxWorkers: 1,
  reporters: [{}],
});

process.on("message", async (request: TestRequest) => {
  try {
    process.send?.(await runTest(vitest, request));
  } catch (thrown) {
    const failures = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    process.send?.({ isPassed: false, failures } satisfies TestReply);
  }
});
process.on("disconnect", () => process.exit());
