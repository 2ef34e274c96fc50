/** Compares the files that the Dockerfile copies with the build context and with the files that the build needs. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";

interface Copy {
  readonly sources: readonly string[];
  readonly target: string;
}

let instructions: string[];
let patterns: string[];

beforeAll(async () => {
  const lines = (text: string) => text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  instructions = lines(await readFile("Dockerfile", "utf8"));
  patterns = lines(await readFile(".dockerignore", "utf8"));
});

/** The instructions of the stage that builds the program. */
function buildStage(): string[] {
  const isFrom = (line: string) => line.startsWith("FROM ");
  const first = instructions.findIndex(isFrom);
  const second = instructions.findIndex((line, index) => index > first && isFrom(line));
  return instructions.slice(first + 1, second);
}

/** Returns the files that instructions copy from the build context. */
function copiesIn(lines: readonly string[]): Copy[] {
  return lines
    .filter((line) => line.startsWith("COPY ") && !line.includes("--from="))
    .map((line) => {
      const words = line.split(/\s+/).filter((word, index) => index > 0 && !word.startsWith("--"));
      return { sources: words.slice(0, -1), target: words.at(-1) ?? "" };
    });
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Whether the build context has a path: the last pattern that fits decides. */
function isInContext(path: string): boolean {
  const last = patterns.findLast((pattern) => pattern === "*" || isBelow(path, pattern.replace(/^!/, "")));
  return last === undefined || last.startsWith("!");
}

async function readJson<Content>(path: string): Promise<Content> {
  return JSON.parse(await readFile(path, "utf8"));
}

/** Folders of this project that `npm ci` installs as packages. */
async function linkedFolders(): Promise<string[]> {
  type Dependencies = Readonly<Record<string, string>>;
  const manifest = await readJson<{ dependencies: Dependencies; devDependencies: Dependencies }>(
    "package.json",
  );
  const all = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
  const named = all.filter((range) => range.startsWith("file:")).map((range) => range.slice("file:".length));
  type Locked = { readonly link?: boolean; readonly resolved?: string };
  const { packages } = await readJson<{ packages: Readonly<Record<string, Locked>> }>("package-lock.json");
  const locked = Object.values(packages).flatMap(({ link, resolved = "" }) =>
    link === true ? [resolved] : [],
  );
  return [...new Set([...named, ...locked])];
}

describe("the image", () => {
  it("copies nothing that its build context leaves out", () => {
    const sources = copiesIn(instructions).flatMap((copy) => copy.sources);
    expect(sources).toContain("src");
    expect(sources.filter((source) => !isInContext(source))).toEqual([]);
  });

  it("has a build context without anything that it does not copy", () => {
    const sources = copiesIn(instructions).flatMap((copy) => copy.sources);
    const allowed = patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1));
    expect(allowed.filter((path) => !sources.includes(path))).toEqual([]);
    expect(patterns[0]).toBe("*");
  });

  it("has every folder that npm installs as a package before it installs", async () => {
    const stage = buildStage();
    const before = stage.slice(
      0,
      stage.findIndex((line) => line.startsWith("RUN npm ci")),
    );
    const sources = copiesIn(before).flatMap((copy) => copy.sources);
    const folders = await linkedFolders();
    expect(folders).toContain("tools/node");
    expect(folders.filter((folder) => !sources.some((source) => isBelow(folder, source)))).toEqual([]);
  });

  it("builds a program that starts, from the files that it copies", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "outrigger-image-")));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const { sources, target } of copiesIn(buildStage()))
      for (const source of sources) {
        const to = target === "./" ? join(folder, source) : join(folder, target);
        await cp(source, to, { recursive: true });
      }
    // In the place of `npm ci`.
    await symlink(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
    const command = buildStage()
      .findLast((line) => line.startsWith("RUN node "))
      ?.slice("RUN node ".length);
    const run = promisify(execFile);
    await run(process.execPath, (command ?? "").split(" "), { cwd: folder });
    const { stdout } = await run(process.execPath, [join(folder, "dist/outrigger.cjs"), "--version"]);
    expect(stdout).toMatch(/^outrigger \d+\.\d+\.\d+\n$/);
  });
});
