import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, type Outcome, run } from "../../clients/runner/process.ts";
import { type Framework, frameworksFolder } from "./framework.ts";

/** Longest time for the program of a framework, in milliseconds: longer than all limits that the program sets. */
const PROGRAM_TIMEOUT = 1_800_000;

/** Telemetry, and downloads when a package is loaded. */
const SWITCHED_OFF = {
  AGNO_TELEMETRY: "false",
  HAYSTACK_TELEMETRY_ENABLED: "False",
  LITELLM_LOCAL_MODEL_COST_MAP: "True",
};

/** Runs the program of an installed framework to its end. */
export async function runProgram(
  framework: Framework,
  installation: string,
  settings: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const env = { ...SWITCHED_OFF, ...settings };
  if (framework.language === "python")
    return await run(createPythonCommand(framework, installation, env), PROGRAM_TIMEOUT);
  const folder = copyNodeProgram(framework, installation);
  try {
    const args = ["main.js", ...(framework.args ?? [])];
    const cwd = join(folder, framework.folder);
    return await run({ file: process.execPath, args, cwd, env }, PROGRAM_TIMEOUT);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function createPythonCommand(
  { folder, args = [] }: Framework,
  installation: string,
  env: Command["env"],
): Command {
  return {
    file: `${installation}/bin/python`,
    args: ["main.py", ...args],
    cwd: `${frameworksFolder}${folder}`,
    env: { ...env, PYTHONPATH: `${frameworksFolder}support`, PYTHONUNBUFFERED: "1" },
  };
}

/** Copies a program next to its packages, since Node looks for packages in the folders above a program only. */
function copyNodeProgram({ folder }: Framework, installation: string): string {
  const target = mkdtempSync(join(tmpdir(), "outrigger-framework-"));
  for (const each of [folder, "support"])
    cpSync(`${frameworksFolder}${each}`, join(target, each), { recursive: true });
  symlinkSync(join(installation, "node_modules"), join(target, "node_modules"));
  return target;
}
