import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { buildOnce } from "./build-cache.ts";
import { getFolder, languageChecks, protos, type TestClient } from "./client.ts";
import { build } from "./process.ts";
import { buildEnvironment, findMissingPython, getPythonVersion } from "./python-environment.ts";

const folder = getFolder("python");
const requirements = `${folder}/requirements.txt`;
const stubs = `${folder}/build`;

/** Python with grpcio-tools, in a separate virtual environment. */
export const pythonClient: TestClient = {
  name: "python",
  checks: languageChecks,
  missing: findMissingPython,
  async build() {
    const python = await buildEnvironment(`${folder}/.venv`, requirements);
    const inputs = { paths: [requirements, protos], facts: [getPythonVersion() ?? "", folder] };
    await buildOnce(`${stubs}/stamp`, inputs, () => generateStubs(python));
    return { file: python, args: ["main.py"], cwd: folder, env: { PYTHONPATH: stubs } };
  },
};

async function generateStubs(python: string): Promise<void> {
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
