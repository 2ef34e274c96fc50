import { buildOnce } from "./build-cache.ts";
import { getFolder, languageChecks, protos, root, type TestClient } from "./client.ts";
import { build, probe } from "./process.ts";

const folder = getFolder("go");
const binaries = `${folder}/build/bin`;

/** Go with protoc-gen-go and protoc-gen-go-grpc, at the versions that go.mod pins. */
export const go: TestClient = {
  name: "go",
  checks: languageChecks,
  missing: () => (probe("go", "version") === undefined ? "go" : undefined),
  async build() {
    const inputs = {
      paths: [
        protos,
        ...[
          "go.mod",
          "go.sum",
          "buf.gen.yaml",
          "main.go",
          "calls.go",
          "failures.go",
          "retries.go",
          "tls.go",
        ].map(inFolder),
      ],
      facts: [probe("go", "version") ?? ""],
    };
    await buildOnce(`${folder}/build/stamp`, inputs, async () => {
      await build({
        file: "go",
        args: ["install", "-buildvcs=false", "tool"],
        cwd: folder,
        env: { GOBIN: binaries },
      });
      await build({
        file: `${root}node_modules/.bin/buf`,
        args: ["generate", "--template", "test/clients/go/buf.gen.yaml"],
        cwd: root,
      });
      await build({
        file: "go",
        args: ["build", "-buildvcs=false", "-o", `${binaries}/outrigger-client`, "."],
        cwd: folder,
      });
    });
    return { file: `${binaries}/outrigger-client`, args: [], cwd: folder };
  },
};

function inFolder(file: string): string {
  return `${folder}/${file}`;
}
