/**
 * Counts words and names that make prose hard to read, over src, simulator, test, docs and proto, and compares the
 * figures with the limits in prose-limits.json. A figure may fall and never rise: `--write` lowers the limits to what
 * was counted.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { countPhrases, readMarkdown, readProto, readSource, type Text } from "./prose/count.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const limitsFile = join(root, "scripts/prose-limits.json");

/** Folders that somebody else writes. */
const IGNORED = /^src\/gen\/|^test\/recordings\/|^test\/conformance\/(?:gen|proto)\//;

const READERS: Readonly<Record<string, (path: string, text: string) => Text>> = {
  ".ts": readSource,
  ".md": readMarkdown,
  ".proto": readProto,
};

/** The files that git knows or would add: builds and caches are not counted. */
function readTexts(folders: readonly string[]): Text[] {
  const listing = ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...folders];
  return execFileSync("git", listing, { cwd: root, encoding: "utf8" })
    .split("\n")
    .filter((path) => !IGNORED.test(path) && existsSync(join(root, path)))
    .flatMap((path) => {
      const read = READERS[extname(path)];
      return read === undefined ? [] : [read(path, readFileSync(join(root, path), "utf8"))];
    });
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

const limits: Record<string, number> = JSON.parse(readFileSync(limitsFile, "utf8"));
const figures = countPhrases(readTexts(["src", "simulator", "test", "docs", "proto"]));

const tooHigh = figures.filter(({ name, value }) => value > (limits[name] ?? 0));
for (const { name, value, unit, count } of figures)
  print(`${name.padEnd(36)} ${value.toFixed(2)} ${unit} (${count}); limit ${limits[name] ?? 0}`);

if (process.argv.includes("--list"))
  for (const { name, places } of figures) print([`\n${name}`, ...places].join("\n"));

if (process.argv.includes("--write")) {
  // Rounded up, so that the figure itself passes.
  const lowered = figures.map(({ name, value }) => {
    const rounded = Math.ceil(value * 100) / 100;
    return [name, Math.min(limits[name] ?? rounded, rounded)];
  });
  writeFileSync(limitsFile, `${JSON.stringify(Object.fromEntries(lowered), undefined, 2)}\n`);
} else if (tooHigh.length > 0) {
  print(`prose: ${tooHigh.map(({ name }) => name).join(", ")} rose above the limit; --list shows the places`);
  process.exitCode = 1;
}
