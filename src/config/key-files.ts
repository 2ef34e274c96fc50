/** Keys in separate files. They may change while the sidecar runs: mounted secrets are rotated. */
import { basename } from "node:path";
import { describeKeyMistake, readsLikeKey } from "../client/check-key.ts";
import type { Log } from "../core/log.ts";
import { getSystemCode, readSmallFile } from "./small-file.ts";
import { type Parsed, WatchedFile } from "./watched-file.ts";

/** Largest file with a key, in bytes. Tokens of cloud providers have a few thousand bytes. */
const MAX_KEY_BYTES = 64 * 1024;

/** The key in a file. While the file is missing, empty or unreadable, the previous key stays in use. */
export class KeyFile extends WatchedFile<string> {
  readonly provider: string;

  /**
   * @param path Absolute.
   * @param key The key that was read at the start.
   */
  constructor(provider: string, path: string, key: string, log: Log) {
    super({
      path,
      maxBytes: MAX_KEY_BYTES,
      value: key,
      parse: (content) => parseKey(content, path),
      isSame: (before, now) => before === now,
      onChange: () => log.info({ provider, path }, "using the new key of the key file"),
      onProblem: (problem) =>
        log.warn({ provider, problem }, "cannot use the changed key file, keeping the previous key"),
    });
    this.provider = provider;
  }
}

/** Reads the key in a file once. */
export async function readKeyFile(path: string): Promise<Parsed<string>> {
  try {
    const content = await readSmallFile(path, MAX_KEY_BYTES);
    return content === undefined
      ? { problem: `${path} is over ${MAX_KEY_BYTES} bytes` }
      : parseKey(content, path);
  } catch (error) {
    if (readsLikeKey(basename(path)))
      return {
        problem: "expected the path of a file, found a text that reads like a key, which is not shown",
      };
    return { problem: `cannot read ${path} (${getSystemCode(error)})` };
  }
}

/** Returns the key in a file's content, without the line break that editors add. */
function parseKey(content: string, path: string): Parsed<string> {
  const key = content.replace(/[\r\n]+$/, "");
  if (key === "") return { problem: `expected one key in ${path}, found nothing` };
  const problem = describeKeyMistake(key);
  return problem === undefined ? { value: key } : { problem: `${problem} (${path})` };
}
