import { readFileSync, writeFileSync } from "node:fs";
import { type ClientPackage, packageFolder, root } from "./client-package.ts";

/** TypeScript: the versions of the package and of its dependencies, or compatible ones. Its stubs are the project's. */
export const typescript: ClientPackage = {
  name: "typescript",
  missing: () => undefined,
  async generate(version) {
    const folder = packageFolder("typescript");
    const project: ProjectManifest = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
    const known = { ...project.devDependencies, ...project.dependencies };
    const manifest: Manifest = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const names = Object.keys(manifest.dependencies);
    const dependencies = Object.fromEntries(names.map((name) => [name, `^${known[name]}`]));
    writeFileSync(
      `${folder}/package.json`,
      `${JSON.stringify({ ...manifest, version, dependencies }, null, 2)}\n`,
    );
    writeFileSync(`${folder}/src/version.ts`, versionFile(version));
  },
};

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
}

interface ProjectManifest extends Manifest {
  readonly devDependencies: Readonly<Record<string, string>>;
}

function versionFile(version: string): string {
  return `// Written by scripts/generate-clients.ts.

/** Version of this package, which the user agent of every call names. */
export const VERSION = ${JSON.stringify(version)};
`;
}
