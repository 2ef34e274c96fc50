import { basename, resolve } from "node:path";
import { needsNoKey } from "../client/providers.ts";
import { isObject } from "../kit/json/json.ts";
import { readKeyFile } from "./key-files.ts";
import { type Locate, unwrapParsed } from "./problems.ts";

/** The keys of the providers in a file. */
export interface ProviderKeys {
  readonly keys: ReadonlyMap<string, string>;
  /** Absolute paths of the files that keys were read from. */
  readonly keyFiles: ReadonlyMap<string, string>;
  /** The source of each provider's key, for errors that callers see: without folders. */
  readonly keyOrigins: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
}

/**
 * Reads the key of every provider: from the configuration file itself or from the file that it names.
 * @param providers The `providers` of the file, which are not validated yet, so that all mistakes are reported
 *   together.
 * @param folder Base of relative paths.
 */
export async function readProviderKeys(
  providers: unknown,
  folder: string,
  locate: Locate,
): Promise<ProviderKeys> {
  const keys = new Map<string, string>();
  const keyFiles = new Map<string, string>();
  const keyOrigins = new Map<string, string>();
  const problems: string[] = [];
  for (const [name, entry] of Object.entries(isObject(providers) ? providers : {})) {
    if (!isObject(entry)) continue;
    const { api_key: key, api_key_file: path } = entry;
    const given = [key, path].filter((field) => field !== undefined && field !== null).length;
    // Self-hosted servers often need no key; programs have none.
    if (given === 0 && needsNoKey(entry.api)) continue;
    if (given !== 1) {
      problems.push(`${locate(["providers", name])}: ${given === 0 ? MISSING : DOUBLE}`);
    } else if (typeof key === "string") {
      keys.set(name, key);
      keyOrigins.set(name, `providers.${name}.api_key of the configuration file`);
    } else if (typeof path === "string") {
      const file = resolve(folder, path);
      keyFiles.set(name, file);
      keyOrigins.set(name, `providers.${name}.api_key_file: ${basename(file)}`);
      const where = locate(["providers", name, "api_key_file"]);
      const found = unwrapParsed(await readKeyFile(file), where, problems);
      if (found !== undefined) keys.set(name, found);
    }
  }
  return { keys, keyFiles, keyOrigins, problems };
}

const MISSING = "expected api_key or api_key_file, found neither";
const DOUBLE = "expected either api_key or api_key_file, found both";
