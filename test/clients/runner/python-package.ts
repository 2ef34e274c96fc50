import { readdirSync } from "node:fs";
import { buildOnce } from "./build-cache.ts";
import { root, type TestClient } from "./client.ts";
import { buildEnvironment, findMissingPython, getPythonVersion, pipInstall } from "./python-environment.ts";

const folder = `${root}clients/python`;
const environment = `${folder}/build/test`;
const requirements = `${folder}/requirements/test.txt`;
const packaged = ["pyproject.toml", "README.md", "LICENSE", "src"].map((path) => `${folder}/${path}`);

/** The package in clients/python, installed as its users install it, and its tests, one check for each module. */
export const pythonPackage: TestClient = {
  name: "python-package",
  checks: readdirSync(`${folder}/tests`).flatMap((file) => /^test_(\w+)\.py$/.exec(file)?.[1] ?? []),
  missing: findMissingPython,
  async build() {
    const python = await buildEnvironment(environment, requirements);
    const inputs = { paths: [requirements, ...packaged], facts: [getPythonVersion() ?? "", folder] };
    await buildOnce(`${environment}/package`, inputs, () =>
      pipInstall(environment, "--force-reinstall", "--no-deps", "--no-build-isolation", folder),
    );
    return { file: python, args: ["-m", "tests"], cwd: folder };
  },
};
