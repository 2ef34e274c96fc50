import { buildOnce } from "./build-cache.ts";
import { getFolder, type TestClient } from "./client.ts";
import { build, probe } from "./process.ts";

/** Describes the Python that makes virtual environments; undefined if there is none. */
export function getPythonVersion(): string | undefined {
  const code =
    "import ensurepip, sys, venv; assert sys.version_info >= (3, 10); print(sys.executable, sys.version)";
  return probe("python3", "-c", code);
}

/** The tool that a client without Python misses. */
export function findMissingPython(): string | undefined {
  return getPythonVersion() === undefined ? "python3 (3.10 or newer, with venv)" : undefined;
}

/** Creates a virtual environment with the packages of a file, unless it is up to date. Returns its Python. */
export async function buildEnvironment(environment: string, requirements: string): Promise<string> {
  const inputs = { paths: [requirements], facts: [getPythonVersion() ?? "", environment] };
  await buildOnce(`${environment}/stamp`, inputs, async () => {
    await build({ file: "python3", args: ["-m", "venv", "--clear", environment], cwd: "/" });
    await pipInstall(environment, "-r", requirements);
  });
  return getPython(environment);
}

/** Installs packages into a virtual environment. */
export async function pipInstall(environment: string, ...args: readonly string[]): Promise<void> {
  await build({
    file: getPython(environment),
    args: ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...args],
    cwd: environment,
  });
}

/** A program with a provider's SDK for Python, in a separate virtual environment. */
export function createPythonSdk(name: string, checks: readonly string[]): TestClient {
  const folder = getFolder(name);
  return {
    name,
    checks,
    missing: findMissingPython,
    async build() {
      const file = await buildEnvironment(`${folder}/.venv`, `${folder}/requirements.txt`);
      return { file, args: ["main.py"], cwd: folder, env: { PYTHONPATH: getFolder("python-sdks") } };
    },
  };
}

function getPython(environment: string): string {
  return `${environment}/bin/python`;
}
