import { buildOnce } from "../clients/runner/build-cache.ts";
import { build, probe, run } from "../clients/runner/process.ts";
import { binaries, folder } from "./suite.ts";

/** Returns the toolchain that is missing on this machine, or undefined if none is. */
export function missingToolchain(): string | undefined {
  return probe("go", "version") === undefined ? "go" : undefined;
}

/** Builds the suites at the versions that go/go.mod pins, unless they are up to date. Throws if the build fails. */
export async function buildTools(): Promise<void> {
  const cwd = `${folder}go`;
  const inputs = { paths: [`${cwd}/go.mod`, `${cwd}/go.sum`], facts: [probe("go", "version") ?? ""] };
  await buildOnce(`${folder}build/stamp`, inputs, () =>
    build({ file: "go", args: ["install", "-buildvcs=false", "tool"], cwd, env: { GOBIN: binaries } }),
  );
}

/**
 * Downloads a Go module and returns its folder.
 * @param module Its path, with `@` and a version if no `go.mod` pins it.
 * @param cwd Folder of the `go.mod`.
 */
export async function downloadModule(module: string, cwd: string): Promise<string> {
  const args = ["mod", "download", "-json", module];
  const { code, stdout, stderr } = await run({ file: "go", args, cwd }, DOWNLOAD_TIMEOUT_MS);
  if (code !== 0) throw new Error(`go ${args.join(" ")}: ${stdout}${stderr}`);
  const { Dir: folder }: { Dir: string } = JSON.parse(stdout);
  return folder;
}

const DOWNLOAD_TIMEOUT_MS = 300_000;
