/**
 * Builds the program that ships: `dist/outrigger.cjs`, its chunks beside it, and the licences of what is in them.
 * Removes what an earlier build left. The library (`dist/lib`) is built afterwards, by `tsc -p tsconfig.lib.json`.
 */
import { chmod, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BundleFile, bundleProgram, writeBundle } from "./bundle.ts";

const FOLDER = "dist";
const START_FILE = "outrigger.cjs";

const files = await bundleProgram("src/cli/main.ts", START_FILE);
await rm(FOLDER, { recursive: true, force: true });
await writeBundle(files, FOLDER);
await chmod(join(FOLDER, START_FILE), 0o755);
await writeFile(join(FOLDER, "THIRD_PARTY_NOTICES.txt"), await loadNotices(packagesIn(files)));

/** Folders of the packages that have code in the program. */
function packagesIn(files: readonly BundleFile[]): string[] {
  const folders = files
    .flatMap(({ modules }) => modules)
    .flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
  return [...new Set(folders)].sort();
}

async function loadNotices(folders: readonly string[]): Promise<string> {
  const notices = await Promise.all(folders.map(readNotice));
  return `${notices.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

async function readNotice(folder: string): Promise<string> {
  const {
    name,
    version: installed,
    license,
  } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? "" : await readFile(join(folder, file), "utf8");
  return `${name} ${installed} (${license})\n\n${text.trim()}`;
}
