import { copyFileSync, readFileSync } from "node:fs";
import { type ClientPackage, packageFolder, root } from "./clients/client-package.ts";
import { go } from "./clients/go.ts";
import { java } from "./clients/java.ts";
import { python } from "./clients/python.ts";
import { typescript } from "./clients/typescript.ts";

/*
 * Writes the generated code, the version and the licence of the packages under clients/.
 *
 *   node scripts/generate-clients.ts [name...]
 *
 * Names choose packages; the default is all. The version comes from package.json. A package whose
 * toolchain is not installed is skipped. The exit code is 2 if a name is unknown.
 */

const packages: readonly ClientPackage[] = [go, java, python, typescript];

async function generate(client: ClientPackage, version: string): Promise<void> {
  const missing = client.missing();
  if (missing !== undefined) {
    print(`${client.name}: skipped: ${missing} not found`);
    return;
  }
  await client.generate(version);
  copyFileSync(`${root}LICENSE`, `${packageFolder(client.name)}/LICENSE`);
  print(`${client.name}: generated, version ${version}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !packages.some((client) => client.name === name));
  if (unknown !== undefined) {
    print(`No package is named "${unknown}"; there are ${packages.map((client) => client.name).join(", ")}.`);
    return 2;
  }
  const { version }: { version: string } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  for (const client of packages) {
    if (names.length === 0 || names.includes(client.name)) await generate(client, version);
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
