import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isSelfHosted } from "../client/providers.ts";
import { isObject } from "../kit/json/json.ts";
import type { Locate } from "./problems.ts";

/** The keys of the providers in a file. */
export interface ProviderKeys {
  readonly keys: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
}

/**
 * Reads the key of every provider: from the configuration file itself or from the file that it names.
 * @param providers The `providers` of the file, not checked yet, so that all mistakes are reported together.
 * @param folder Base of relative paths.
 */
export async function readProviderKeys(
  providers: unknown,
  folder: string,
  locate: Locate,
): Promise<ProviderKeys> {
  const keys = new Map<string, string>();
  const problems: string[] = [];
  for (const [name, entry] of Object.entries(isObject(providers) ? providers : {})) {
    if (!isObject(entry)) continue;
    const { api_key: key, api_key_file: path } = entry;
    const given = [key, path].filter((field) => field !== undefined && field !== null).length;
    // Self-hosted servers often need no key.
    if (given === 0 && isSelfHosted(entry.api)) continue;
    if (given !== 1) {
      problems.push(`${locate(["providers", name])}: ${given === 0 ? MISSING : DOUBLE}`);
    } else if (typeof key === "string") {
      keys.set(name, key);
    } else if (typeof path === "string") {
      const read = await readSecret(resolve(folder, path));
      if ("secret" in read) keys.set(name, read.secret);
      else problems.push(`${locate(["providers", name, "api_key_file"])}: ${read.problem}`);
    }
  }
  return { keys, problems };
}

const MISSING = "expected api_key or api_key_file, found neither";
const DOUBLE = "expected either api_key or api_key_file, found both";

/** Reads a secret from a file, without the line break that editors put at its end. */
async function readSecret(path: string): Promise<{ secret: string } | { problem: string }> {
  try {
    const secret = (await readFile(path, "utf8")).replace(/[\r\n]+$/, "");
    return /^[!-~]+$/.test(secret)
      ? { secret }
      : { problem: `expected one key in ${path}, found ${secretLess(secret)}` };
  } catch (error) {
    return { problem: `cannot read ${path} (${codeOf(error)})` };
  }
}

function secretLess(secret: string): string {
  return secret === "" ? "nothing" : "spaces, line breaks or other characters that a key does not have";
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
