/** Shows how an implementation spends its time: a V8 profile, by function and by module. */
import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BenchCase } from "./cases/case.ts";
import { buildForProfile, type OwnName } from "./implementations/implementation.ts";
import { CACHE_FOLDER } from "./work-folder.ts";

/** Selects the profiled case. */
export interface ProfileOptions {
  readonly benchCase: BenchCase;
  readonly implementation: OwnName;
  readonly quick: boolean;
  readonly whole: boolean;
}

/** The fields of Chrome's `.cpuprofile` format that are read here. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const FUNCTIONS_SHOWN = 40;
const MODULES_SHOWN = 20;

/** Runs a case under V8's profiler, on a bundle with function names, and describes the profile. */
export async function profileCase({
  benchCase,
  implementation,
  quick,
  whole,
}: ProfileOptions): Promise<string> {
  const folder = await mkdtemp(join(CACHE_FOLDER, "profile-"));
  const built = await buildForProfile(implementation, folder);
  await benchCase.runOnce({ implementations: [built], index: 0, quick, whole });
  const [file] = await readdir(folder);
  if (file === undefined) throw new Error(`${implementation} left no profile in ${folder}`);
  const path = join(folder, file);
  const profile: CpuProfile = JSON.parse(await readFile(path, "utf8"));
  return [
    `${implementation}, ${benchCase.title}`,
    ...describe(profile, await modulesByLine(built.bundle)),
    "",
    `The whole profile, for Chrome's developer tools or speedscope: ${path}`,
  ].join("\n");
}

function describe(profile: CpuProfile, moduleAt: (line: number) => string): string[] {
  const byFunction = new Map<string, number>();
  const byModule = new Map<string, number>();
  const toPlace = new Map(profile.nodes.map((node) => [node.id, describeNode(node.callFrame, moduleAt)]));
  let total = 0;
  for (const [index, sample] of profile.samples.entries()) {
    const place = toPlace.get(sample);
    const micros = profile.timeDeltas[index] ?? 0;
    if (place === undefined || place.name === "(idle)") continue;
    total += micros;
    add(byFunction, `${place.name}  ${place.module}`, micros);
    add(byModule, place.module || place.name, micros);
  }
  return [
    "",
    `Self time by function, of ${(total / 1_000_000).toFixed(2)} s of activity:`,
    ...largest(byFunction, total, FUNCTIONS_SHOWN),
    "",
    "Self time by module:",
    ...largest(byModule, total, MODULES_SHOWN),
  ];
}

function describeNode(
  { functionName, url, lineNumber }: CpuProfile["nodes"][number]["callFrame"],
  moduleAt: (line: number) => string,
): { name: string; module: string } {
  const module = url.endsWith(".cjs") ? `${moduleAt(lineNumber)}` : url;
  return { name: functionName || "(anonymous)", module };
}

function add(sums: Map<string, number>, key: string, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value);
}

function largest(sums: ReadonlyMap<string, number>, total: number, count: number): string[] {
  return [...sums]
    .sort(([, left], [, right]) => right - left)
    .slice(0, count)
    .map(([key, micros]) => `${((micros / total) * 100).toFixed(1).padStart(6)} %  ${key}`);
}

/** Which module a line of a readable bundle comes from: esbuild writes a comment with the path before each. */
async function modulesByLine(bundle: string): Promise<(line: number) => string> {
  const modules: string[] = [];
  let current = "";
  for (const line of (await readFile(bundle, "utf8")).split("\n")) {
    current = /^\s*\/\/ ([\w@.][\w@./-]*\.[cm]?[jt]s)$/.exec(line)?.[1] ?? current;
    modules.push(current);
  }
  return (line) => modules[line] ?? "";
}
