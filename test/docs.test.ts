/**
 * Rules for the documentation: line length, links, the index, the size of the glossary, and references that readers can
 * follow.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Longest line of documentation, in UTF-16 units. Tables, code blocks and lines that end in a long URL are exempt. */
const MAX_COLUMNS = 120;

/** Most terms that the glossary may define. */
const MAX_TERMS = 64;

/** Folders that hold other people's text, build output or dependencies. */
const SKIPPED = new Set([
  "node_modules",
  "dist",
  "build",
  "target",
  ".venv",
  ".git",
  "third_party",
  "recordings",
]);

/** Paths, relative to the root, of all files below a folder whose names end in one of the extensions. */
function filesBelow(folder: string, extensions: readonly string[]): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : filesBelow(path, extensions);
    return extensions.some((extension) => entry.name.endsWith(extension)) ? [path] : [];
  });
}

function textOf(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** The lines of a Markdown text with their numbers, without those in code blocks. */
function splitProse(text: string): { line: string; number: number }[] {
  let inCode = false;
  return text.split("\n").flatMap((line, index) => {
    if (/^\s*```/.test(line)) inCode = !inCode;
    return inCode ? [] : [{ line, number: index + 1 }];
  });
}

/** The names by which links refer to the headings of a Markdown text. */
function getHeadings(text: string): string[] {
  return splitProse(text).flatMap(({ line }) => {
    const [, heading] = /^#+ (.*)$/.exec(line) ?? [];
    if (heading === undefined) return [];
    const words = heading.toLowerCase().replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    return [words.replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-")];
  });
}

const pages = filesBelow(".", [".md"]).map((path) => relative(".", path));

describe("the documentation", () => {
  it("is found by this test", () => {
    expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/glossary.md", "bench/README.md"]));
  });

  it.each(pages)("has no line over 120 columns in %s", (page) => {
    const long = splitProse(textOf(page)).filter(
      ({ line }) => line.length > MAX_COLUMNS && !/^\s*\|/.test(line) && !/https?:\/\/\S+$/.test(line),
    );
    expect(long.map(({ line, number }) => `${page}:${number}: ${line}`)).toEqual([]);
  });

  it.each(pages)("has relative links to existing files only in %s", (page) => {
    const targets = splitProse(textOf(page)).flatMap(({ line }) =>
      [...line.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target.replace(/#.*$/, "")),
    );
    const broken = targets.filter(
      (target) =>
        target !== "" && !/^[a-z]+:/.test(target) && !existsSync(resolve(root, dirname(page), target)),
    );
    expect(broken).toEqual([]);
  });

  it.each(pages)("has links to existing headings only in %s", (page) => {
    const targets = splitProse(textOf(page)).flatMap(({ line }) =>
      [...line.matchAll(/\]\((?![a-z]+:)([^)\s#]*)#([^)\s]+)\)/g)].map(([, path = "", anchor = ""]) => ({
        path: path === "" ? page : relative(root, resolve(root, dirname(page), path)),
        anchor,
      })),
    );
    const broken = targets.filter(
      ({ path, anchor }) => path.endsWith(".md") && !getHeadings(textOf(path)).includes(anchor),
    );
    expect(broken).toEqual([]);
  });

  it("has every page in its index", () => {
    const index = textOf("docs/README.md");
    const names = readdirSync(join(root, "docs")).filter(
      (name) => name.endsWith(".md") && name !== "README.md",
    );
    expect(names.filter((name) => !index.includes(`](${name}`))).toEqual([]);
  });

  it("defines at most 64 terms in the glossary, each once", () => {
    const terms = [...textOf("docs/glossary.md").matchAll(/\*\*([^*]+)\*\*/g)].map(([, term]) => term);
    expect(terms.length).toBeGreaterThan(20);
    expect(terms.length).toBeLessThanOrEqual(MAX_TERMS);
    expect(new Set(terms).size).toBe(terms.length);
  });
});

describe("references", () => {
  it("do not point at a specification that is not in the repository", () => {
    const self = relative(root, fileURLToPath(import.meta.url));
    const extensions = [".ts", ".js", ".go", ".py", ".java", ".sh", ".md", ".proto"];
    const sources = ["src", "test", "docs", "bench", "scripts", "proto"].flatMap((folder) =>
      filesBelow(folder, extensions),
    );
    expect(sources.length).toBeGreaterThan(300);
    const wrong = sources.filter(
      (path) => path !== self && /specification\s+(?:\*\s+)?§/i.test(textOf(path)),
    );
    expect(wrong).toEqual([]);
  });
});
