/** The whole program in one file, without what a sidecar never runs. */
import { basename } from "node:path";
import { type BuildOptions, build, type Metafile, type OutputFile } from "esbuild";
import { slim } from "./slim.ts";

/** A program in one file. */
export interface Bundle {
  /** CommonJS for Node 24. ASCII. */
  readonly text: string;
  /** What went into it. */
  readonly metafile: Metafile;
}

/**
 * Bundles a program, in two passes. The first leaves out what nobody imports, and cuts the
 * program at its dynamic imports. The second joins the pieces into one file, in which each
 * still runs only when it is imported. In a single pass esbuild keeps all of every module that
 * a dynamic import leads to, and behind the commands of `outrigger` that is every module.
 * @param entryPoint Path of its first module.
 */
export async function bundleProgram(entryPoint: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    ...COMMON,
    entryPoints: [entryPoint],
    outdir: "pieces",
    format: "esm",
    splitting: true,
    metafile: true,
    plugins: [slim],
    // undici's own word for a bundle without its experimental second HTTP parser.
    define: { esbuildDetection: "true" },
  });
  const text = await joinPieces(`${basename(entryPoint, ".ts")}.js`, outputFiles);
  assertAscii(text);
  return { text, metafile };
}

const COMMON = {
  bundle: true,
  write: false,
  platform: "node",
  target: "node24",
  legalComments: "none",
  logLevel: "warning",
} as const satisfies BuildOptions;

/**
 * @param first Name of the piece that the program starts with.
 * @param pieces ES modules that import each other by name.
 */
async function joinPieces(first: string, pieces: readonly OutputFile[]): Promise<string> {
  const texts = new Map(pieces.map(({ path, text }) => [basename(path), text]));
  const { outputFiles } = await build({
    ...COMMON,
    entryPoints: [first],
    format: "cjs",
    minify: true,
    plugins: [
      {
        name: "pieces",
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /\.js$/ }, ({ path }) => ({ path: basename(path), namespace: "pieces" }));
          onLoad({ filter: /./, namespace: "pieces" }, ({ path }) => ({ contents: texts.get(path) ?? "" }));
        },
      },
    ],
  });
  return outputFiles.map(({ text }) => text).join("");
}

/** V8 keeps a program for as long as it runs: at two bytes a character if one of them is beyond Latin-1. */
function assertAscii(text: string): void {
  const [found] = /.{0,40}[^\0-\x7f].{0,20}/.exec(text) ?? [];
  if (found === undefined) return;
  throw new Error(
    `the bundle is not ASCII: write ${JSON.stringify(found)} with escapes (esbuild does it in strings)`,
  );
}
