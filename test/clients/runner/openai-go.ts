import { getFolder, type TestClient } from "./client.ts";
import { openaiSdkChecks } from "./openai-sdk.ts";
import { build, probe } from "./process.ts";

const folder = getFolder("openai-go");
const binary = `${folder}/build/openai-go`;

/** OpenAI's SDK for Go. Go itself finds out which packages to rebuild. */
export const openaiGo: TestClient = {
  name: "openai-go",
  checks: openaiSdkChecks,
  missing: () => (probe("go", "version") === undefined ? "go" : undefined),
  async build() {
    await build({ file: "go", args: ["build", "-buildvcs=false", "-o", binary, "."], cwd: folder });
    return { file: binary, args: [], cwd: folder };
  },
};
