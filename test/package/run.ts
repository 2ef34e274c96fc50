/**
 * Tests the package as its users get it: packs it, installs it in a folder outside of the project with
 * nothing but its dependencies, TypeScript and the types of Node, compiles programs against it and runs them.
 *
 *   node test/package/run.ts
 *
 * Needs a package registry, or npm's cache of it. The exit code is 1 where a check failed.
 */
import { existsSync, readFileSync } from "node:fs";
import { copyFile, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { CatalogService } from "../../src/gen/outrigger/v1/catalog_service_pb.ts";
import { InferenceService } from "../../src/gen/outrigger/v1/inference_service_pb.ts";
import { root } from "../clients/runner/client.ts";
import { build, run } from "../clients/runner/process.ts";

interface Manifest {
  readonly version: string;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** What must work, in this order. Each step needs those before it. */
const STEPS: readonly (readonly [name: string, step: (folder: string) => Promise<void>])[] = [
  ["pack", pack],
  ["install", install],
  ["compile with moduleResolution nodenext", (folder) => compile(folder, { module: "nodenext" })],
  [
    "compile with moduleResolution bundler",
    (folder) => compile(folder, { module: "esnext", moduleResolution: "bundler" }),
  ],
  ["run a program", (folder) => build({ file: process.execPath, args: ["consumer.ts"], cwd: folder })],
  ["outrigger --version", printVersion],
  ["describe the contract", describeContract],
];

const { version, devDependencies }: Manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8"));

/** What a user's project has beside the package. */
const TOOLS = ["typescript", "@types/node"];

const stepTimeoutMs = 30_000;

/** Runs what `prepack` says, too. */
async function pack(folder: string): Promise<void> {
  await build({ file: "npm", args: ["pack", "--pack-destination", folder], cwd: root });
}

async function install(folder: string): Promise<void> {
  const tarballs = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  const packages = [
    ...tarballs.map((name) => `./${name}`),
    ...TOOLS.map((name) => `${name}@${devDependencies[name]}`),
  ];
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const flags = ["--prefer-offline", "--no-audit", "--no-fund"];
  await build({ file: "npm", args: ["install", ...flags, ...packages], cwd: folder });
  const others = Object.keys(devDependencies).filter((name) => !TOOLS.includes(name));
  const installed = others.filter((name) => existsSync(join(folder, "node_modules", name)));
  if (installed.length > 0) throw new Error(`a user would not have ${installed.join(", ")}`);
}

/** Compiles a program that uses the package, and the snippets of the README. */
async function compile(folder: string, resolution: Readonly<Record<string, string>>): Promise<void> {
  await copyFile(join(import.meta.dirname, "consumer.ts"), join(folder, "consumer.ts"));
  const readme = readFileSync(`${root}README.md`, "utf8");
  const snippets = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
  if (snippets.length === 0) throw new Error("README.md has no snippet of TypeScript");
  const files = ["consumer.ts", ...snippets.map((_, index) => `readme-${index + 1}.ts`)];
  await Promise.all(snippets.map((code, index) => writeFile(join(folder, `readme-${index + 1}.ts`), code)));
  const compilerOptions = {
    ...resolution,
    target: "es2024",
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    types: ["node"],
    noEmit: true,
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const tsc = join(folder, "node_modules/typescript/bin/tsc");
  await build({ file: process.execPath, args: [tsc, "-p", "."], cwd: folder });
}

async function printVersion(folder: string): Promise<void> {
  const file = join(folder, "node_modules/.bin/outrigger");
  const env = { PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` };
  const { code, stdout, stderr } = await run({ file, args: ["--version"], cwd: folder, env }, stepTimeoutMs);
  if (code !== 0 || stdout !== `outrigger ${version}\n`) throw new Error(`it printed ${stdout}${stderr}`);
}

/** Reads the descriptor set, for programs that call the sidecar without generated code. */
async function describeContract(folder: string): Promise<void> {
  const bytes = readFileSync(join(folder, "node_modules/outrigger/dist/outrigger.binpb"));
  const set = fromBinary(FileDescriptorSetSchema, bytes);
  const described = [...createFileRegistry(set)].filter((type) => type.kind === "service");
  for (const { typeName, methods } of [InferenceService, CatalogService]) {
    const found = described.find((service) => service.typeName === typeName);
    const missing = methods.filter(({ name }) => found?.methods.every((method) => method.name !== name));
    if (found === undefined || missing.length > 0) throw new Error(`it does not describe ${typeName}`);
  }
  const comments = set.file.flatMap(({ sourceCodeInfo }) => sourceCodeInfo?.location ?? []);
  if (comments.every(({ leadingComments }) => leadingComments === "")) throw new Error("it has no comments");
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Runs all steps up to the first that fails. Gives the number of those that did not. */
async function runSteps(folder: string): Promise<number> {
  for (const [index, [name, step]] of STEPS.entries()) {
    const startedAt = performance.now();
    try {
      await step(folder);
    } catch (error) {
      print(`FAIL ${name}: ${error}`);
      return index;
    }
    print(`ok ${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
  }
  return STEPS.length;
}

const folder = await mkdtemp(join(tmpdir(), "outrigger-package-"));
try {
  const passed = await runSteps(folder);
  const failed = passed < STEPS.length ? 1 : 0;
  print(`${passed} passed, ${failed} failed, ${STEPS.length - passed - failed} skipped`);
  process.exitCode = failed;
} finally {
  await rm(folder, { recursive: true });
}
