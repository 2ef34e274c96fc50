import { buildOnce } from "../clients/runner/build-cache.ts";
import { build, probe } from "../clients/runner/process.ts";
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
