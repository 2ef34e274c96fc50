/**
 * Builds what ships: `dist/outrigger.cjs`, the whole sidecar in one file, with the licences of
 * what is in it. One CommonJS file starts in a third of the time of the unbundled modules.
 * The library (`dist/lib`) is built by `tsc -p tsconfig.lib.json`.
 */
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { bundleProgram } from "./bundle.ts";

const OUT = "dist/outrigger.cjs";

const { text, metafile } = await bundleProgram("src/cli/main.ts");
await mkdir("dist", { recursive: true });
await writeFile(OUT, text);
await chmod(OUT, 0o755);
await writeFile("dist/THIRD_PARTY_NOTICES.txt", await noticesOf(packagesIn(metafile)));

/** Folders of the packages whose files are in the bundle. */
function packagesIn({ inputs }: Metafile): string[] {
  const folders = Object.keys(inputs).flatMap(
    (file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [],
  );
  return [...new Set(folders)].sort();
}

async function noticesOf(folders: readonly string[]): Promise<string> {
  const notices = await Promise.all(folders.map(noticeOf));
  return `${notices.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

async function noticeOf(folder: string): Promise<string> {
  const {
    name,
    version: installed,
    license,
  } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? "" : await readFile(join(folder, file), "utf8");
  return `${name} ${installed} (${license})\n\n${text.trim()}`;
}
