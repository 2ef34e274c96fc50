import { buildOnce } from "./build-cache.ts";
import { type ForeignClient, folderOf } from "./client.ts";
import { build, probe } from "./process.ts";

const folder = folderOf("grpcurl");
const binaries = `${folder}/build`;
const version = "v1.9.4";

/** grpcurl, which knows nothing of the contract but what reflection tells it. */
export const grpcurl: ForeignClient = {
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
