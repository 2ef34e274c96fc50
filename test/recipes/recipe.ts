/** A copy of the project to which the recipes of CONTRIBUTING.md add their smallest instances. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The changes that a recipe makes. Its new files are in `additions`, under its name. */
export interface Recipe {
  readonly name: string;
  /** The changes of existing files. */
  readonly changes: readonly Change[];
  /** The suites that the recipe names. */
  readonly suites: readonly string[];
}

/** Inserts a text into a file after another text, which the file has once. */
export interface Change {
  readonly file: string;
  readonly after: string;
  readonly insert: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const additions = fileURLToPath(new URL("additions", import.meta.url));

/** Large folders that no recipe changes: they are linked. */
const LINKED = [
  "node_modules",
  "test/recordings",
  "third_party",
  "clients/go",
  "clients/java",
  "clients/python",
];

/** Files that no suite of a recipe needs. */
const LEFT_OUT =
  /^(test\/(recordings|frameworks|conformance\/(?!gen)|recipes)|third_party|clients\/(go|java|python))\//;

/** Copies the project, with the changes of recipes. @returns The folder of the copy. */
export function copyProject(recipes: readonly Recipe[]): string {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-recipes-"));
  const listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const files = execFileSync("git", listing, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 });
  for (const file of new Set(files.split("\0")))
    if (file !== "" && !LEFT_OUT.test(file)) cpSync(join(root, file), join(folder, file));
  for (const name of LINKED) symlinkSync(join(root, name), join(folder, name));
  for (const { name, changes } of recipes) {
    cpSync(join(additions, name), folder, { recursive: true, errorOnExist: true, force: false });
    for (const change of changes) applyChange(folder, change);
  }
  return folder;
}

/** Removes a copy. */
export function removeCopy(folder: string): void {
  if (dirname(folder) !== tmpdir()) throw new Error(`${folder} is no copy`);
  rmSync(folder, { recursive: true });
}

function applyChange(folder: string, { file, after, insert }: Change): void {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  const at = text.indexOf(after);
  if (at < 0 || text.indexOf(after, at + 1) >= 0) throw new Error(`${file} should have ${after} once`);
  writeFileSync(path, `${text.slice(0, at + after.length)}${insert}${text.slice(at + after.length)}`);
}
