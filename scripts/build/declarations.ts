/**
 * Prepares the library's declarations for users who have only its dependencies. Some modules use types
 * of other packages, such as the providers' SDKs, and a declaration that imports such a package does
 * not compile without it.
 *
 *   node scripts/build/declarations.ts
 *
 * Removes the declarations in dist/lib that no entry point of the package leads to. Fails, with the chain of
 * imports, if one that remains imports a package that is not a dependency.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Matches a comment, or a string, which the first group holds: strings may contain text that looks like a comment. */
const COMMENT_OR_STRING =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)/g;

/** `import … from "x"`, `export … from "x"`, `import "x"`, `import("x")`, `import … = require("x")`. */
const IMPORT = /\b(?:from|import|require)\s*\(?\s*["']([^"']+)["']/g;

/**
 * Follows the imports of declarations.
 * @param entryPoints Paths of the declarations to begin with.
 * @param dependencies Names of the packages that may be imported.
 * @param read Gives the text of a declaration, undefined if there is none under this path.
 * @returns The paths of all declarations that are reached.
 * @throws Error that names each import that cannot be followed, with the chain of imports that leads to it.
 */
export function followDeclarations(
  entryPoints: readonly string[],
  dependencies: readonly string[],
  read: (path: string) => string | undefined,
): Set<string> {
  /** Chains of imports by the path of the declaration they lead to. */
  const chains = new Map(entryPoints.map((path) => [path, path]));
  const problems: string[] = [];
  // A loop over a map also visits what it adds.
  for (const [path, chain] of chains) {
    const text = read(path);
    if (text === undefined) problems.push(`${chain}: there is no such file`);
    for (const specifier of importsIn(text ?? "")) {
      const next = `${chain} -> ${specifier}`;
      const target = join(dirname(path), declarationName(specifier));
      if (specifier.startsWith(".")) chains.set(target, chains.get(target) ?? next);
      else if (!isAvailable(specifier, dependencies)) problems.push(`${next}: not one of the dependencies`);
    }
  }
  if (problems.length === 0) return new Set(chains.keys());
  throw new Error(`the library's declarations do not compile for its users:\n${problems.join("\n")}`);
}

function importsIn(text: string): string[] {
  const code = text.replace(COMMENT_OR_STRING, "$1");
  return [...code.matchAll(IMPORT)].flatMap(([, specifier]) => specifier ?? []);
}

/** `./x.d.ts` for `./x.ts`, which tsc writes into declarations, and for `./x.js`. */
function declarationName(specifier: string): string {
  return specifier.replace(/(?:\.d)?\.[jt]s$/, ".d.ts");
}

function isAvailable(specifier: string, dependencies: readonly string[]): boolean {
  if (specifier.startsWith("node:")) return true;
  return dependencies.some((name) => specifier === name || specifier.startsWith(`${name}/`));
}

/** Paths of the declarations that the `exports` of a package name. */
function getTypes(exports: Record<string, string | { types?: string }>): string[] {
  const targets = Object.values(exports).filter((target) => typeof target !== "string");
  return targets.flatMap(({ types }) => (types === undefined ? [] : normalize(types)));
}

function main(): void {
  const { exports, dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  const folder = "dist/lib";
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".d.ts"))
    .map((name) => join(folder, name));
  const read = (path: string) => (files.includes(path) ? readFileSync(path, "utf8") : undefined);
  const reached = followDeclarations(getTypes(exports), Object.keys(dependencies), read);
  for (const file of files) if (!reached.has(file)) rmSync(file);
}

if (import.meta.main) main();
