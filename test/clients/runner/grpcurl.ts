import { buildOnce } from "./build-cache.ts";
import { getFolder, protos, root, type TestClient } from "./client.ts";
import { build, probe } from "./process.ts";

const folder = getFolder("grpcurl");
const binaries = `${folder}/build`;
const version = "v1.9.4";
/** Built like `dist/outrigger.binpb`. */
const descriptorSet = `${binaries}/outrigger.binpb`;

/** grpcurl, which learns the contract from reflection, or from the descriptor set. */
export const grpcurl: TestClient = {
  name: "grpcurl",
  checks: ["list", "describe", "health", "complete", "stream", "error_details", "descriptor_set", "tls"],
  missing: () => (probe("go", "version") === undefined ? "go" : undefined),
  async build() {
    await buildOnce(`${binaries}/stamp`, { paths: [protos], facts: [version] }, async () => {
      await build({
        file: "go",
        args: ["install", "-buildvcs=false", `github.com/fullstorydev/grpcurl/cmd/grpcurl@${version}`],
        cwd: folder,
        env: { GOBIN: binaries },
      });
      await build({
        file: `${root}node_modules/.bin/buf`,
        args: ["build", "--path", "proto/outrigger", "-o", descriptorSet],
        cwd: root,
      });
    });
    const env = { GRPCURL: `${binaries}/grpcurl`, DESCRIPTOR_SET: descriptorSet };
    return { file: "sh", args: ["calls.sh"], cwd: folder, env };
  },
};
