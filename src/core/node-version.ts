/** Imported first, so that an older Node shows this message instead of an error inside a dependency. */

/** The oldest major version of Node that runs the library. */
const OLDEST_NODE = 24;

/** @throws Error for a version of Node that is too old. @param version As `process.versions.node`. */
export function checkNodeVersion(version: string): void {
  if (Number.parseInt(version, 10) >= OLDEST_NODE) return;
  throw new Error(`outrigger needs Node ${OLDEST_NODE} or newer, found ${version}`);
}

checkNodeVersion(process.versions.node);
