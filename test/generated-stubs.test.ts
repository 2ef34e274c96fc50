/** The program in docs/calling.md for stubs that are generated for TypeScript, built and run as a reader does. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sidecar, startDemo } from "./clients/runner/sidecar.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

let folder: string;
let sidecar: Sidecar;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-stubs-"));
  sidecar = await startDemo();
}, 60_000);

afterAll(async () => {
  await sidecar.stop();
  await rm(folder, { recursive: true });
});

/** The section about stubs, from its part for TypeScript on. */
async function readSection(): Promise<string> {
  const page = await readFile(join(root, "docs/calling.md"), "utf8");
  return page.split("For TypeScript and JavaScript,")[1] ?? "";
}

function findBlock(section: string, language: string): string {
  return section.split(`\`\`\`${language}\n`)[1]?.split("```")[0] ?? "";
}

describe("the program for generated stubs in docs/calling.md", () => {
  it("runs with Node as it is, after the command that generates them", async () => {
    const section = await readSection();
    // The packages are already in this repository; the command would install them.
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    const commands = findBlock(section, "sh")
      .replace(/^npm install .*$/m, "")
      .replace("npx buf", "buf")
      .replaceAll("/path/to/outrigger", root.slice(0, -1));
    const PATH = [join(root, "node_modules/.bin"), process.env.PATH].join(delimiter);
    await run("sh", ["-ec", commands], { cwd: folder, env: { ...process.env, PATH } });
    const program = findBlock(section, "typescript").replace("localhost:6190", sidecar.address);
    await writeFile(join(folder, "main.js"), program);
    const { stdout } = await run(process.execPath, ["main.js"], { cwd: folder });
    expect(stdout).toContain("“Hello”");
  }, 60_000);
});
