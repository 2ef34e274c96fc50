import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = new URL("../recordings/", import.meta.url).pathname;

/** The fields of an entry of test/recordings/manifest.json that the tests read. */
export interface Recording {
  readonly file: string;
  readonly status: number;
  readonly origin: string;
  readonly shows: readonly string[];
}

const manifest: Recording[] = JSON.parse(readFileSync(join(ROOT, "manifest.json"), "utf8"));

/** The recorded answers of one wire format: streams (`.sse`) or whole answers (`.json`). */
export function getRecordings(folder: string, ending: ".sse" | ".json"): Recording[] {
  return manifest.filter(({ file }) => file.startsWith(`${folder}/`) && file.endsWith(ending));
}

/** The bytes of a recording. */
export function toBytes({ file }: Recording): Buffer {
  return readFileSync(join(ROOT, file));
}
