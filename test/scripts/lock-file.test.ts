import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";

interface LockedPackage {
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
}

async function json<Content>(path: string): Promise<Content> {
  return JSON.parse(await readFile(new URL(`../../${path}`, import.meta.url), "utf8"));
}

describe("the lock file", () => {
  // Optional are the binaries of tools for other platforms; not every registry has them all.
  it("pins every package that each platform installs, and every binary of Node, by its hash", async () => {
    const { packages } = await json<{ packages: Record<string, LockedPackage> }>("package-lock.json");
    const installed = Object.entries(packages).filter(([path]) => path.startsWith("node_modules/"));
    expect(installed.length).toBeGreaterThan(100);
    const binaries = installed.filter(([path]) => /^node_modules\/node-(?:linux|win)-/.test(path));
    expect(binaries.length).toBeGreaterThan(0);
    const everywhere = installed.filter(([, { link, optional }]) => link !== true && optional !== true);
    const unpinned = [...everywhere, ...binaries].filter(([, { integrity }]) => integrity === undefined);
    expect(unpinned.map(([path]) => path)).toEqual([]);
  });

  it("has no package whose install script may run, since a script can fetch files that are not locked", async () => {
    const { packages } = await json<{ packages: Record<string, LockedPackage> }>("package-lock.json");
    const { allowScripts } = await json<{ allowScripts: Record<string, boolean> }>("package.json");
    const withScripts = Object.entries(packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, ""));
    for (const name of withScripts) expect([name, allowScripts[name]]).toEqual([name, false]);
    expect(Object.values(allowScripts)).not.toContain(true);
  });

  it("has the same version of Node for every platform", async () => {
    const { version, optionalDependencies } = await json<{
      version: string;
      optionalDependencies: Record<string, string>;
    }>("tools/node/package.json");
    expect(new Set(Object.values(optionalDependencies))).toEqual(new Set([version]));
  });
});
