import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, type Outcome, run } from "../../clients/runner/process.ts";
import { type Framework, frameworksFolder } from "./framework.ts";

/** Longest time for the program of a framework, in milliseconds: longer than all of its own time limits. */
const PROGRAM_TIMEOUT = 420_000;

/** Runs the program of an installed framework to its end. */
export async function runProgram(
  framework: Framework,
  installation: string,
  env: Readonly<Record<string, string>>,
): Promise<Outcome> {
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
