import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import {
  findNearestTests,
  findTestsOfImporters,
  readImportGraph,
} from "../../../scripts/mutants/nearest-tests.ts";
import { listFiles } from "../../../scripts/mutants/workspace.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const graph = readImportGraph(
  root,
  listFiles(root).filter((file) => /^(src|test)\/.*\.ts$/.test(file)),
);

it("begins with the test of the same name and continues with the tests of its folder", () => {
  const tests = findNearestTests("src/core/batches.ts", graph);
  expect(tests[0]).toBe("test/core/batches.test.ts");
  expect(tests).toContain("test/core/event-stream.test.ts");
  expect(tests.filter((test) => test.startsWith("test/attacks/"))).toEqual([]);
});

it("finds tests that reach a file by the library's entry point", () => {
  expect(findNearestTests("src/generation/loop/tool-loop.ts", graph)).toContain(
    "test/generation/loop/tool-loop.test.ts",
  );
});

it("puts the tests of other folders of the same layer behind those of its own", () => {
  const tests = findNearestTests("src/generation/objects/object-answer.ts", graph);
  expect(tests[0]).toBe("test/generation/objects/object-answer.test.ts");
  expect(tests).toContain("test/generation/generate-object.test.ts");
});

it("finds the tests of the files that import a file, for code that only other layers run", () => {
  const tests = findTestsOfImporters("src/client/providers.ts", graph);
  expect(tests).toContain("test/config/load-config.test.ts");
  expect(tests.filter((test) => test.startsWith("test/cli/"))).toEqual([]);
});

it("leaves out tests that take long and say little about one line", () => {
  expect(
    findNearestTests("src/core/errors.ts", graph).filter((test) => test.startsWith("test/faults/")),
  ).toEqual([]);
});

it("finds none for a file that no test loads", () => {
  expect(findNearestTests("src/missing.ts", graph)).toEqual([]);
});
