/** Installs the packages of a lock file, once for each version of the file, in a folder outside the checkout. */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { build, probe } from "../../clients/runner/process.ts";
import { type Framework, frameworksFolder, getLockFile, readVersion } from "./framework.ts";

/** The oldest Python that the lock files are made for. */
export const OLDEST_PYTHON = "3.11";

/** The lock file of uv itself. */
export const uvLockFile = `${frameworksFolder}runner/uv.txt`;

/** Time after which an installation that no run used is removed, in milliseconds. */
const UNUSED_AFTER = 14 * 24 * 3_600_000;

/** A framework cannot be installed because something outside of this project is missing. */
export class NotInstalledError extends Error {}

/**
 * Installs a framework unless it is installed already. Throws a {@link NotInstalledError} if its registry cannot be
 * reached or there is no Python.
 *
 * @returns The folder: a virtual environment, or the parent of `node_modules`.
 */
export function installFramework(framework: Framework): Promise<string> {
  const { folder } = framework;
  const known = installations.get(folder);
  if (known !== undefined) return known;
  const installation = framework.language === "python" ? installPython(framework) : installNode(framework);
  installations.set(folder, installation);
  return installation;
}

/** Installations of this run by folder: frameworks may share one. */
const installations = new Map<string, Promise<string>>();

async function installPython(framework: Framework): Promise<string> {
  const uv = await installUv();
  const inputs = { name: framework.folder, lockFile: getLockFile(framework), facts: [readPython()] };
  return await installOnce(inputs, async (target) => {
    const env = { UV_NO_PROGRESS: "1", UV_PYTHON_DOWNLOADS: "never", ...getIndexSetting() };
    const python = `${target}/bin/python`;
    await build({ file: uv, args: ["venv", "--quiet", "--python", "python3", target], cwd: target, env });
    const flags = ["--quiet", "--python", python, "--require-hashes", "--no-deps", "--no-build"];
    const args = ["pip", "install", ...flags, "--requirement", getLockFile(framework)];
    await build({ file: uv, args, cwd: target, env }).catch((error) =>
      throwUnlessAway(error, "PyPI", isPyPiReachable(framework.package)),
    );
  });
}

/**
 * Installs uv, which is several times as fast as pip.
 *
 * @returns The path of its program.
 */
export async function installUv(): Promise<string> {
  const inputs = { name: "uv", lockFile: uvLockFile, facts: [readPython()] };
  uvInstallation ??= installOnce(inputs, async (target) => {
    await build({ file: "python3", args: ["-m", "venv", target], cwd: target });
    const flags = ["--quiet", "--require-hashes", "--only-binary", ":all:", "--disable-pip-version-check"];
    const args = ["-m", "pip", "install", ...flags, "--requirement", uvLockFile];
    await build({ file: `${target}/bin/python`, args, cwd: target }).catch((error) =>
      throwUnlessAway(error, "PyPI", isPyPiReachable("uv")),
    );
  });
  return join(await uvInstallation, "bin/uv");
}

let uvInstallation: Promise<string> | undefined;

async function installNode(framework: Framework): Promise<string> {
  const { platform } = framework;
  if (platform !== undefined && platform !== `${process.platform}-${process.arch}`)
    throw new NotInstalledError(`it is installed on ${platform} only`);
  const source = `${frameworksFolder}${framework.folder}`;
  const inputs = { name: framework.folder, lockFile: getLockFile(framework), facts: [process.version] };
  return await installOnce(inputs, async (target) => {
    for (const name of ["package.json", "package-lock.json"])
      copyFileSync(join(source, name), join(target, name));
    const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    await build({ file: "npm", args, cwd: target }).catch((error) =>
      throwUnlessAway(error, "the npm registry", isNpmReachable(framework)),
    );
  });
}

interface Inputs {
  readonly name: string;
  readonly lockFile: string;
  /** What else the installation depends on, such as the version of Python. */
  readonly facts: readonly string[];
}

/** Installs into a temporary folder and renames it, so that a folder with the final name is complete. */
async function installOnce(
  { name, lockFile, facts }: Inputs,
  install: (target: string) => Promise<void>,
): Promise<string> {
  const hash = createHash("sha256").update(readFileSync(lockFile));
  for (const fact of [process.platform, process.arch, ...facts]) hash.update(`\0${fact}`);
  const final = join(getCacheFolder(), `${name}-${hash.digest("hex").slice(0, 16)}`);
  if (!existsSync(final)) {
    const temporary = `${final}.${process.pid}`;
    mkdirSync(temporary, { recursive: true });
    try {
      await install(temporary);
      // Another run may have been faster.
      if (!existsSync(final)) renameSync(temporary, final);
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  }
  utimesSync(final, new Date(), new Date());
  removeUnused(name, final);
  return final;
}

/** Removes installations of other versions that were not used for some time. */
function removeUnused(name: string, current: string): void {
  const versions = new RegExp(`^${name}-[0-9a-f]{16}(\\.\\d+)?$`);
  for (const entry of readdirSync(getCacheFolder()).filter((each) => versions.test(each))) {
    const path = join(getCacheFolder(), entry);
    if (path !== current && Date.now() - statSync(path).mtimeMs > UNUSED_AFTER) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}

function getCacheFolder(): string {
  const { OUTRIGGER_TEST_CACHE, XDG_CACHE_HOME } = process.env;
  const folder =
    OUTRIGGER_TEST_CACHE || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "outrigger/frameworks");
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Reads which Python there is. Throws a {@link NotInstalledError} if it is too old or cannot create environments. */
function readPython(): string {
  const minimum = OLDEST_PYTHON.replace(".", ", ");
  const code = `import ensurepip, sys, venv; assert sys.version_info >= (${minimum}); print(sys.executable, sys.version)`;
  const found = probe("python3", "-c", code);
  if (found === undefined) throw new NotInstalledError(`no python3 (${OLDEST_PYTHON} or newer, with venv)`);
  return found;
}

/** uv does not read the settings of pip. */
function getIndexSetting(): Readonly<Record<string, string>> {
  const index = probe("python3", "-m", "pip", "config", "get", "global.index-url");
  return index === undefined || process.env.UV_DEFAULT_INDEX ? {} : { UV_DEFAULT_INDEX: index };
}

function throwUnlessAway(error: Error, registry: string, reachable: boolean): never {
  throw reachable ? error : new NotInstalledError(`${registry} is away`, { cause: error });
}

function isPyPiReachable(name: string): boolean {
  return probe("python3", "-m", "pip", "index", "versions", name) !== undefined;
}

function isNpmReachable(framework: Framework): boolean {
  return probe("npm", "view", `${framework.package}@${readVersion(framework)}`, "version") !== undefined;
}
