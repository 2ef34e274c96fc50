import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";

type Versions = Readonly<Record<string, string>>;

const project: { readonly dependencies: Versions; readonly devDependencies: Versions } =
  await readJson("package.json");
const checks: { readonly peerDependencies: Versions } = await readJson("tools/checks/package.json");

/** Matches the names in imports and exports, also dynamic ones. Types alone are not loaded. */
const LOADED = /^(?:import|export) (?!type\b)[^;]*?from "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm;

async function readJson<Content>(path: string): Promise<Content> {
  return JSON.parse(await readFile(path, "utf8"));
}

/** The packages that the sources in a folder load when they run. */
async function getLoadedPackages(folder: string): Promise<Set<string>> {
  const loaded = new Set<string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith(".ts")) continue;
    const text = await readFile(`${entry.parentPath}/${entry.name}`, "utf8");
    for (const [, from, alone, dynamic] of text.matchAll(LOADED)) {
      const name = from ?? alone ?? dynamic ?? "";
      if (!/^(?:\.|node:)/.test(name)) loaded.add(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
    }
  }
  return loaded;
}

/** Packages for tests that the exporter of traces over gRPC needs as well. */
const SHARED = ["@grpc/grpc-js", "@grpc/proto-loader", "@types/node"];

describe("npm ci --omit=peer", () => {
  it("installs every package that the program loads", async () => {
    const loaded = [...(await getLoadedPackages("src")), ...(await getLoadedPackages("simulator"))];
    const installed = { ...project.dependencies, ...project.devDependencies };
    expect(loaded).toEqual(expect.arrayContaining(["@bufbuild/protobuf", "undici", "pino", "pg"]));
    expect(loaded.filter((name) => !(name in installed))).toEqual([]);
  });

  it("omits packages that the lock file has only for tests", async () => {
    type Locked = { readonly peer?: boolean; readonly link?: boolean };
    const { packages }: { packages: Readonly<Record<string, Locked>> } = await readJson("package-lock.json");
    const names = Object.keys(checks.peerDependencies).filter(
      (name) => !packages[`node_modules/${name}`]?.link,
    );
    expect(names.filter((name) => packages[`node_modules/${name}`]?.peer !== true)).toEqual(SHARED);
  });
});

describe("The client for TypeScript", () => {
  it("takes the project's versions of its dependencies, and newer ones that are compatible", async () => {
    const { dependencies }: { dependencies: Versions } = await readJson("clients/typescript/package.json");
    const versions = { ...project.dependencies, ...project.devDependencies };
    const expected = Object.keys(dependencies).map((name) => [name, `^${versions[name]}`]);
    expect(Object.entries(dependencies)).toEqual(expected);
  });
});
