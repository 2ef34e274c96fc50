/**
 * Raises the lock files of the frameworks to the newest versions in the registries, and their versions in
 * docs/frameworks.md.
 *
 *   node test/frameworks/update.ts [NAME...]
 *
 * Names choose folders; the default is all. No lock file has the address of a registry.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { build } from "../clients/runner/process.ts";
import { frameworksFolder, readVersion } from "./runner/framework.ts";
import { frameworks } from "./runner/frameworks.ts";
import { installUv, OLDEST_PYTHON, uvLockFile } from "./runner/install.ts";

const documentation = `${frameworksFolder}../../docs/frameworks.md`;

/** Python has requirements.in with the names of packages, and requirements.txt with versions and hashes. */
async function lockPython(input: string, output: string): Promise<void> {
  const flags = [
    "--universal",
    "--generate-hashes",
    "--upgrade",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
  ];
  const args = [
    "pip",
    "compile",
    "--quiet",
    "--python-version",
    OLDEST_PYTHON,
    ...flags,
    input,
    "--output-file",
    output,
  ];
  await build({ file: await installUv(), args, cwd: frameworksFolder });
}

/** The lock file is made anew, so that it has the newest versions of indirect dependencies too. */
async function lockNode(folder: string): Promise<void> {
  rmSync(`${folder}/package-lock.json`, { force: true });
  rmSync(`${folder}/node_modules`, { recursive: true, force: true });
  const { dependencies } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const newest = Object.keys(dependencies).map((name) => `${name}@latest`);
  const flags = ["--package-lock-only", "--ignore-scripts", "--save-exact", "--no-audit", "--no-fund"];
  const args = ["install", ...flags, "--omit-lockfile-registry-resolved", ...newest];
  await build({ file: "npm", args, cwd: folder });
}

/** A line of the table in the documentation begins with the name and the version of a framework. */
function updateDocumentation(): void {
  let text = readFileSync(documentation, "utf8");
  for (const framework of frameworks) {
    const line = new RegExp(`^(\\| [^|]*\`${framework.name}\`[^|]*\\| )[^| ]+`, "m");
    text = text.replace(line, `$1${readVersion(framework)}`);
  }
  writeFileSync(documentation, text);
}

const names = process.argv.slice(2);
if (names.length === 0) await lockPython(uvLockFile.replace(/txt$/, "in"), uvLockFile);
for (const folder of new Set(frameworks.map((each) => each.folder))) {
  if (names.length > 0 && !names.includes(folder)) continue;
  const path = `${frameworksFolder}${folder}`;
  const python = readdirSync(path).includes("requirements.in");
  await (python ? lockPython(`${path}/requirements.in`, `${path}/requirements.txt`) : lockNode(path));
}
updateDocumentation();
