import manifest from "../../package.json" with { type: "json" };

/** Version of the program. */
export const version: string = manifest.version;

/**
 * Explains why the program cannot run on this version of Node; undefined if it can. An older version starts the bundle
 * and then fails in each call, because JSON source text access or a module is missing.
 * @param found Version of the running Node, for instance `24.21.0`.
 */
export function nodeProblem(found: string): string | undefined {
  const needed = manifest.engines.node.replace(">=", "");
  if (Number.parseInt(found, 10) >= Number.parseInt(needed, 10)) return undefined;
  return `Node.js ${needed} or newer is needed, found ${found}`;
}
