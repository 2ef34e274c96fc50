import { readdirSync } from "node:fs";
import { buildOnce } from "./build-cache.ts";
import { root, type TestClient } from "./client.ts";
import { build, probe } from "./process.ts";

const folder = `${root}clients/python`;
const environment = `${folder}/build/test`;
const python = `${environment}/bin/python`;
const requirements = `${folder}/requirements/test.txt`;
const packaged = ["pyproject.toml", "README.md", "LICENSE", "src"].map((path) => `${folder}/${path}`);

/** The package in clients/python, installed as its users install it, and its tests, one check for each module. */
export const pythonPackage: TestClient = {
  name: "python-package",
  checks: readdirSync(`${folder}/tests`).flatMap((file) => /^test_(\w+)\.py$/.exec(file)?.[1] ?? []),
  missing: () => (version() === undefined ? "python3 (3.10 or newer, with venv)" : undefined),
  async build() {
    const facts = [version() ?? "", folder];
    await buildOnce(`${environment}/stamp`, { paths: [requirements], facts }, installRequirements);
    await buildOnce(`${environment}/package`, { paths: [requirements, ...packaged], facts }, installPackage);
    return { file: python, args: ["-m", "tests"], cwd: folder };
  },
};

function version(): string | undefined {
  const code =
    "import ensurepip, sys, venv; assert sys.version_info >= (3, 10); print(sys.executable, sys.version)";
  return probe("python3", "-c", code);
}

async function installRequirements(): Promise<void> {
  await build({ file: "python3", args: ["-m", "venv", "--clear", environment], cwd: folder });
  await pipInstall("-r", requirements);
}

async function installPackage(): Promise<void> {
  await pipInstall("--force-reinstall", "--no-deps", "--no-build-isolation", folder);
}

async function pipInstall(...args: readonly string[]): Promise<void> {
  await build({
    file: python,
    args: ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...args],
    cwd: folder,
  });
}
