import { fileURLToPath } from "node:url";

/** A package under clients/, with which programs in one language call the sidecar. */
export interface ClientPackage {
  /** The name of its folder. */
  readonly name: string;
  /** Returns the toolchain that is missing on this machine; undefined if there is none. */
  missing(): string | undefined;
  /** Writes the package's generated code and its version. Throws if a generator fails. */
  generate(version: string): Promise<void>;
}

/** The root of the repository. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** The folder of a package. */
export function packageFolder(name: string): string {
  return `${root}clients/${name}`;
}
