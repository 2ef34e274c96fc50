/**
 * Builds what ships: `dist/outrigger.cjs`, the whole sidecar in one file, with the licences of
 * what is in it. One CommonJS file starts in a third of the time of the unbundled modules.
 * The library (`dist/lib`) is built by `tsc -p tsconfig.lib.json`.
 */
import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";

const OUT = "dist/outrigger.cjs";

const { version } = JSON.parse(await readFile("package.json", "utf8"));

/**
 * Leaves out what a sidecar never runs, since every module that is loaded costs memory in each
 * pod: undici's fetch, WebSocket, caches and mocks, and zod's error texts in forty languages.
 */
const slim: Plugin = {
  name: "slim",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, () => ({ path: "undici", namespace: "slim" }));
    onLoad({ filter: /^undici$/, namespace: "slim" }, () => ({
      resolveDir: "node_modules/undici/lib",
      contents: `
        exports.Client = require("./dispatcher/client.js");
        exports.Pool = require("./dispatcher/pool.js");
        exports.EnvHttpProxyAgent = require("./dispatcher/env-http-proxy-agent.js");
        exports.errors = require("./core/errors.js");`,
    }));
    onResolve({ filter: /\/locales\/index\.js$/ }, ({ importer }) =>
      importer.includes("node_modules/zod/") ? { path: "locales", namespace: "slim" } : undefined,
    );
    onLoad({ filter: /^locales$/, namespace: "slim" }, () => ({
      resolveDir: "node_modules/zod/v4/locales",
      contents: `export { default as en } from "./en.js";`,
    }));
  },
};

const { metafile } = await build({
  entryPoints: ["src/cli/main.ts"],
  outfile: OUT,
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node24",
  minify: true,
  metafile: true,
  plugins: [slim],
  legalComments: "none",
  define: { "process.env.OUTRIGGER_VERSION": JSON.stringify(version) },
  logLevel: "warning",
});
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
