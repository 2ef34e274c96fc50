import { buildOnce } from "./build-cache.ts";
import { folderOf, type TestClient } from "./client.ts";
import { build, probe } from "./process.ts";

const folder = folderOf("grpcurl");
const binaries = `${folder}/build`;
const version = "v1.9.4";

/** grpcurl, which learns the contract from reflection. */
export const grpcurl: TestClient = {
  name: "grpcurl",
  checks: ["list", "describe", "health", "complete", "stream", "error_details"],
  missing: () => (probe("go", "version") === undefined ? "go" : undefined),
  async build() {
    await buildOnce(`${binaries}/stamp`, { paths: [], facts: [version] }, () =>
      build({
        file: "go",
        args: ["install", "-buildvcs=false", `github.com/fullstorydev/grpcurl/cmd/grpcurl@${version}`],
        cwd: folder,
        env: { GOBIN: binaries },
      }),
    );
    return { file: "sh", args: ["calls.sh"], cwd: folder, env: { GRPCURL: `${binaries}/grpcurl` } };
  },
};
