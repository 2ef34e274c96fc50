/**
 * Tests the packages for TypeScript as their users get them: packs them, installs them in a folder outside of the
 * project with nothing but their dependencies, TypeScript and the types of Node, compiles programs against it and runs
 * them.
 *
 *   node test/package/run.ts
 *
 * Needs a package registry, or npm's cache of it. The exit code is 1 if a check failed.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { CatalogService } from "../../src/gen/outrigger/v1/catalog_service_pb.ts";
import { GenerationService } from "../../src/gen/outrigger/v1/generation_service_pb.ts";
import { InferenceService } from "../../src/gen/outrigger/v1/inference_service_pb.ts";
import { RunService } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { ThreadService } from "../../src/gen/outrigger/v1/thread_service_pb.ts";
import { root } from "../clients/runner/client.ts";
import { build, run } from "../clients/runner/process.ts";
import { programFiles, runPrograms } from "./programs.ts";

type Versions = Readonly<Record<string, string>>;

/** The steps that must work, in this order. Each step needs the steps before. */
const STEPS: readonly (readonly [name: string, step: (folder: string) => Promise<void>])[] = [
  ["pack", pack],
  ["install the library alone, in little space", installLibrary],
  ["install", install],
  ["generate the code of the TypeScript client in docs/calling.md", generate],
  ["compile with moduleResolution nodenext", (folder) => compile(folder, { module: "nodenext" })],
  [
    "compile with moduleResolution bundler",
    (folder) => compile(folder, { module: "esnext", moduleResolution: "bundler" }),
  ],
  ["run a program", (folder) => runFile(folder, "consumer.ts")],
  ["run an adapter for another provider", (folder) => runFile(folder, "adapter.ts")],
  ["run the programs of docs/library.md", runPrograms],
  ["outrigger --version", printVersion],
  ["describe the contract", describeContract],
];

const { version, devDependencies }: { readonly version: string; readonly devDependencies: Versions } =
  JSON.parse(readFileSync(`${root}package.json`, "utf8"));

const checks: { readonly peerDependencies: Versions } = JSON.parse(
  readFileSync(`${root}tools/checks/package.json`, "utf8"),
);

/** The packages with which the project is developed. */
const development = { ...devDependencies, ...checks.peerDependencies };

const client: { readonly dependencies: Versions } = JSON.parse(
  readFileSync(`${root}clients/typescript/package.json`, "utf8"),
);

const INSTALL_FLAGS = ["--prefer-offline", "--no-audit", "--no-fund"];

/** The packages that a user's project has alongside ours. */
const TOOLS = ["typescript", "@types/node"];

/** A library that the programs use, in the version that the project itself has. */
const LIBRARY = "zod";

/** Pages whose TypeScript must compile. */
const SNIPPETS_OF = ["docs/calling.md", "clients/typescript/README.md", "docs/library.md", "docs/catalog.md"];

/** The number of packages that a program that only calls models may install, with the library itself. */
const MAX_PACKAGES = 8;
const MAX_INSTALLED_BYTES = 12e6;

/** Programs that are not part of the documentation. */
const OWN_PROGRAMS = ["consumer.ts", "adapter.ts"];

/** A picture of one pixel. */
const CHART =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const stepTimeoutMs = 30_000;

/** Packs the library and the client of a sidecar. Runs their `prepack` scripts, too. */
async function pack(folder: string): Promise<void> {
  for (const source of [".", "./clients/typescript"])
    await build({ file: "npm", args: ["pack", source, "--pack-destination", folder], cwd: root });
}

/** Installs the library in a separate folder. */
async function installLibrary(folder: string): Promise<void> {
  const alone = join(folder, "alone");
  await mkdir(alone);
  await writeFile(join(alone, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const tarball = join(folder, `outrigger-${version}.tgz`);
  await build({ file: "npm", args: ["install", ...INSTALL_FLAGS, tarball], cwd: alone });
  const modules = join(alone, "node_modules");
  const lock: { readonly packages: object } = JSON.parse(
    readFileSync(join(modules, ".package-lock.json"), "utf8"),
  );
  const packages = Object.keys(lock.packages);
  if (packages.length > MAX_PACKAGES) throw new Error(`it installs ${packages.join(", ")}`);
  const entries = await readdir(modules, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  if (bytes > MAX_INSTALLED_BYTES) throw new Error(`it installs ${bytes} bytes`);
}

async function install(folder: string): Promise<void> {
  const tarballs = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  const packages = [
    ...tarballs.map((name) => `./${name}`),
    ...TOOLS.map((name) => `${name}@${development[name]}`),
    `${LIBRARY}@${development[LIBRARY]}`,
  ];
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await build({ file: "npm", args: ["install", ...INSTALL_FLAGS, ...packages], cwd: folder });
  const wanted = [...TOOLS, LIBRARY, ...Object.keys(client.dependencies)];
  const others = Object.keys(development).filter((name) => !wanted.includes(name));
  const installed = others.filter((name) => existsSync(join(folder, "node_modules", name)));
  if (installed.length > 0) throw new Error(`a user would not have ${installed.join(", ")}`);
}

/** Runs the command that docs/calling.md has for TypeScript, with the folder in place of a service's. */
async function generate(folder: string): Promise<void> {
  const [, template] =
    /--template "([^"]*protoc-gen-es[^"]*)"/.exec(readFileSync(`${root}docs/calling.md`, "utf8")) ?? [];
  if (template === undefined) throw new Error("docs/calling.md has no template for protoc-gen-es");
  const args = ["buf", "generate", "--path", "proto/outrigger", "--template"];
  await build({
    file: "npx",
    args: [...args, template.replace("out: gen", `out: ${join(folder, "gen")}`)],
    cwd: root,
  });
}

function snippetsIn(page: string): string[] {
  const snippets = [
    ...readFileSync(`${root}${page}`, "utf8").matchAll(/^```(?:ts|typescript)\n(.*?)^```$/gms),
  ];
  if (snippets.length === 0) throw new Error(`${page} has no snippet of TypeScript`);
  return snippets.map(([, code = ""]) => code);
}

async function runFile(folder: string, name: string): Promise<void> {
  await build({ file: process.execPath, args: [name], cwd: folder });
}

/** Compiles programs that use the package, and the snippets of the documentation. */
async function compile(folder: string, resolution: Readonly<Record<string, string>>): Promise<void> {
  const programs = [...OWN_PROGRAMS.map((name) => join(import.meta.dirname, name)), ...programFiles];
  await Promise.all(programs.map((file) => copyFile(file, join(folder, basename(file)))));
  await writeFile(join(folder, "chart.png"), Buffer.from(CHART, "base64"));
  const snippets = SNIPPETS_OF.flatMap(snippetsIn);
  const files = [
    ...programs.map((file) => basename(file)),
    ...snippets.map((_, index) => `snippet-${index + 1}.ts`),
  ];
  await Promise.all(snippets.map((code, index) => writeFile(join(folder, `snippet-${index + 1}.ts`), code)));
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
  const services = [InferenceService, GenerationService, RunService, ThreadService, CatalogService];
  for (const { typeName, methods } of services) {
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

/** Runs all steps up to the first that fails. Returns the number of steps that passed. */
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
