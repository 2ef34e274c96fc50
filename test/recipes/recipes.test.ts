/**
 * Follows each recipe of CONTRIBUTING.md: adds the smallest instance to a copy of the project, compiles the copy, and
 * runs the suites that the recipes name there.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Change, copyProject, type Recipe, removeCopy } from "./recipe.ts";

/** Inserts a line with an import before the first import of a file. */
function addImport(file: string, first: string, line: string): Change {
  return { file, after: first, insert: `${line}\n` };
}

const recipes: readonly Recipe[] = [
  {
    name: "wire-api",
    changes: [
      addImport(
        "src/client/providers.ts",
        'import { command } from "../providers/command/definition.ts";\n',
        'import { echo } from "../providers/echo/definition.ts";',
      ),
      { file: "src/client/providers.ts", after: "const WIRE_DEFINITIONS = [", insert: "echo, " },
      {
        file: "src/index.ts",
        after:
          'export { CommandAdapter, type CommandAdapterOptions } from "./providers/command/adapter.ts";\n',
        insert: 'export { EchoAdapter, type EchoAdapterOptions } from "./providers/echo/adapter.ts";\n',
      },
      addImport(
        "simulator/start-simulator.ts",
        'import { createAnthropicModels } from "./anthropic-messages/models.ts";\n',
        'import { createEcho } from "./echo/format.ts";',
      ),
      { file: "simulator/start-simulator.ts", after: "    createGemini(),\n", insert: "    createEcho(),\n" },
      {
        file: "test/providers/hostile-counts.test.ts",
        after: "const ANSWERS: Readonly<Record<WireApi, (count: number) => object>> = {\n",
        insert: '  echo: (count) => ({ text: "a", usage: { input: count, output: count } }),\n',
      },
    ],
    suites: ["test/providers/echo/", "test/providers/hostile-counts.test.ts", "test/architecture.test.ts"],
  },
  {
    name: "http-api",
    changes: [
      addImport(
        "src/endpoints/v1.ts",
        'import { failedResponse } from "./openai/errors.ts";\n',
        'import { pingRoutes } from "./ping/routes.ts";',
      ),
      { file: "src/endpoints/v1.ts", after: "  const routes = [\n", insert: "    ...pingRoutes(),\n" },
    ],
    suites: ["test/endpoints/ping/"],
  },
  {
    name: "store-driver",
    changes: [
      {
        file: "src/config/runs-schema.ts",
        after: "export type StoreLocation =\n",
        insert: '  | { readonly kind: "plain" }\n',
      },
      {
        file: "src/config/runs-schema.ts",
        after: 'if (value === "memory") return { kind: "memory" };\n',
        insert: '  if (value === "plain") return { kind: "plain" };\n',
      },
      {
        file: "src/config/runs.ts",
        after: "export type StoreConfig =\n",
        insert: '  | { readonly kind: "plain" }\n',
      },
      {
        file: "src/config/runs.ts",
        after: "  switch (location.kind) {\n",
        insert: '    case "plain":\n      return location;\n',
      },
      {
        file: "src/config/open-run-store.ts",
        after: "const options = { maxBodyBytes, keys, onProblem };\n",
        insert: `  if (store.kind === "plain") {
    const { openPlainStore } = await import("../runs/store/plain.ts");
    return openPlainStore(options);
  }
`,
      },
    ],
    suites: ["test/runs/store/plain/"],
  },
  {
    name: "middleware",
    changes: [
      {
        file: "src/config/middleware-schema.ts",
        after: "export const ruleFields = {\n",
        insert: "  default_temperature: z.optional(number(0, 2)),\n",
      },
      addImport(
        "src/config/build-middleware.ts",
        'import { combineMiddleware } from "../middleware/combine-middleware.ts";\n',
        'import { createDefaultTemperature } from "../middleware/default-temperature.ts";',
      ),
      {
        file: "src/config/build-middleware.ts",
        after: "...(hasCallers ? [createModelAccess()] : []),\n",
        insert: '    ...levels.mostSpecific("defaultTemperature", createDefaultTemperature),\n',
      },
    ],
    suites: ["test/middleware/default-temperature.test.ts"],
  },
  {
    name: "observer",
    changes: [
      addImport(
        "src/cli/sidecar.ts",
        'import { createIdleMemory } from "../server/telemetry/idle-memory.ts";\n',
        'import { CallCounter } from "../server/telemetry/call-counter.ts";',
      ),
      { file: "src/cli/sidecar.ts", after: "const observers = [metrics, ", insert: "new CallCounter(), " },
    ],
    suites: ["test/server/telemetry/call-counter.test.ts"],
  },
  {
    name: "client-package",
    changes: [
      addImport(
        "scripts/generate-clients.ts",
        'import { java } from "./clients/java.ts";\n',
        'import { javascript } from "./clients/javascript.ts";',
      ),
      {
        file: "scripts/generate-clients.ts",
        after: "const packages: readonly ClientPackage[] = [",
        insert: "javascript, ",
      },
      addImport(
        "test/clients/run.ts",
        'import { javaPackage } from "./runner/java-package.ts";\n',
        'import { javascriptPackage } from "./runner/javascript-package.ts";',
      ),
      {
        file: "test/clients/run.ts",
        after: "const clients: readonly TestClient[] = [\n",
        insert: "  javascriptPackage,\n",
      },
    ],
    suites: [],
  },
];

/** The results of the suites, by the path of their files in the copy. */
interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

let folder: string;
let compiled: string;
let results: Results;

beforeAll(async () => {
  folder = copyProject(recipes);
  // Both in one process for all recipes: to start is the most of their time.
  compiled = await run("node_modules/.bin/tsc", "-p", "tsconfig.json");
  const output = join(folder, "results.json");
  const suites = recipes.flatMap((recipe) => recipe.suites);
  await run("node_modules/.bin/vitest", "run", "--reporter=json", `--outputFile=${output}`, ...suites);
  results = JSON.parse(readFileSync(output, "utf8"));
}, 240_000);

afterAll(() => removeCopy(folder));

/** Runs a program in the copy. Returns its output, also if it fails. */
async function run(file: string, ...args: readonly string[]): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  try {
    return (await promisify(execFile)(file, args, { cwd: folder, env, maxBuffer: 2 ** 26 })).stdout;
  } catch (thrown) {
    const { stdout, stderr } = thrown as { stdout: string; stderr: string };
    return `${stdout}${stderr}`;
  }
}

describe("the recipes of CONTRIBUTING.md", () => {
  it("compile, all of them at once", () => {
    expect(compiled).toBe("");
  });

  it.each(recipes.filter(({ suites }) => suites.length > 0))("work for the $name", ({ suites }) => {
    for (const suite of suites) {
      const found = results.testResults.filter(({ name }) => name.startsWith(join(folder, suite)));
      expect(found.length, suite).toBeGreaterThan(0);
      for (const { status, message, assertionResults } of found) {
        const failures = assertionResults.flatMap(({ failureMessages }) => failureMessages);
        expect([status, message, failures]).toEqual(["passed", "", []]);
        expect(assertionResults.length).toBeGreaterThan(0);
      }
    }
  });

  it("work for the client package", async () => {
    const generated = await run(process.execPath, "scripts/generate-clients.ts", "javascript");
    expect(generated).toMatch(/^javascript: generated, version \d/);
    const printed = await run(process.execPath, "test/clients/run.ts", "javascript-package");
    expect(printed).toMatch(/\n4 passed, 0 failed, 0 skipped\n$/);
  }, 60_000);

  it("name the files that the additions have", () => {
    const text = readFileSync(join(folder, "CONTRIBUTING.md"), "utf8");
    for (const { changes } of recipes)
      for (const { file } of changes) expect(text).toContain(file.replace(/^.*\//, ""));
  });
});
