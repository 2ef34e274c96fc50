import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { buildOnce } from "./build-cache.ts";
import { getFolder, languageChecks, protos, type TestClient } from "./client.ts";
import { build, probe } from "./process.ts";

const folder = getFolder("python");
const requirements = `${folder}/requirements.txt`;
const python = `${folder}/.venv/bin/python`;
const stubs = `${folder}/build`;

/** Python with grpcio-tools, in a separate virtual environment. */
export const pythonClient: TestClient = {
  name: "python",
  checks: languageChecks,
  missing: () => (version() === undefined ? "python3 (3.10 or newer, with venv)" : undefined),
  async build() {
    const environment = { paths: [requirements], facts: [version() ?? "", folder] };
    await buildOnce(`${folder}/.venv/stamp`, environment, installRequirements);
    await buildOnce(`${stubs}/stamp`, { ...environment, paths: [requirements, protos] }, generateStubs);
    return { file: python, args: ["main.py"], cwd: folder, env: { PYTHONPATH: stubs } };
  },
};

function version(): string | undefined {
  const code =
    "import ensurepip, sys, venv; assert sys.version_info >= (3, 10); print(sys.executable, sys.version)";
  return probe("python3", "-c", code);
}

async function installRequirements(): Promise<void> {
  await build({ file: "python3", args: ["-m", "venv", "--clear", ".venv"], cwd: folder });
  await build({
    file: python,
    args: ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements],
    cwd: folder,
  });
}

async function generateStubs(): Promise<void> {
  rmSync(stubs, { recursive: true, force: true });
  mkdirSync(stubs);
  await build({
    file: python,
    args: [
      "-m",
      "grpc_tools.protoc",
      `--proto_path=${protos}`,
      `--python_out=${stubs}`,
      `--pyi_out=${stubs}`,
      `--grpc_python_out=${stubs}`,
      ...readdirSync(`${protos}/outrigger/v1`).map((file) => `outrigger/v1/${file}`),
    ],
    cwd: folder,
  });
}
