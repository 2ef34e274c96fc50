import { mkdirSync, writeFileSync } from "node:fs";
import { providerChecks } from "../codex/provider.ts";
import { buildOnce } from "./build-cache.ts";
import { getFolder, type TestClient } from "./client.ts";
import { build, probe } from "./process.ts";

const folder = getFolder("codex");
const cache = `${folder}/build`;

/** The version of npm's `@openai/codex`. Its binary has 400 MB, so it is no dependency of the project. */
const version = "0.171.0";

/** The ways in which Codex reaches the model: the simulator itself, and the sidecar with each of its wire APIs. */
const ways = ["simulator", "openai", "anthropic", "gemini", "compatible"];

/** OpenAI's command-line agent. Its program starts a separate sidecar and simulator, whose requests it inspects. */
export const codex: TestClient = {
  name: "codex",
  checks: [...ways.flatMap((way) => [`${way}/task`, `${way}/tools`, `${way}/namespace`]), ...providerChecks],
  missing: () => (isPublished() ? undefined : `@openai/codex ${version} (npm)`),
  async build() {
    await buildOnce(
      `${cache}/stamp`,
      { paths: [], facts: [version, process.platform, process.arch] },
      async () => {
        mkdirSync(cache, { recursive: true });
        writeFileSync(`${cache}/package.json`, "{}");
        const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save"];
        await build({ file: "npm", args: ["install", ...flags, `@openai/codex@${version}`], cwd: cache });
      },
    );
    return {
      file: process.execPath,
      args: ["main.ts", `${cache}/node_modules/.bin/codex`, ...ways],
      cwd: folder,
    };
  },
};

/** Whether the registry has it. npm prints warnings alongside the version. */
function isPublished(): boolean {
  return probe("npm", "view", `@openai/codex@${version}`, "version")?.split("\n").includes(version) === true;
}
