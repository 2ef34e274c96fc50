import { buildOnce } from "./build-cache.ts";
import { getFolder, type TestClient } from "./client.ts";
import { atEachProvider } from "./openai-sdk.ts";
import { build, probe } from "./process.ts";

const folder = getFolder("anthropic-python");
const requirements = `${folder}/requirements.txt`;
const python = `${folder}/.venv/bin/python`;

/** Anthropic's SDK for Python, in a separate virtual environment. */
export const anthropicPython: TestClient = {
  name: "anthropic-python",
  checks: atEachProvider([
    "text",
    "max_tokens",
    "stream",
    "structured_output",
    "tools",
    "tools_stream",
    "parallel_tools",
    "forced_tool",
    "image",
    "thinking",
    "count_tokens",
    "models",
    "bad_request",
    "not_found",
    "rate_limit",
    "server_error",
    "retries",
    "cut_stream",
  ]),
  missing: () => (version() === undefined ? "python3 (3.10 or newer, with venv)" : undefined),
  async build() {
    const inputs = { paths: [requirements], facts: [version() ?? "", folder] };
    await buildOnce(`${folder}/.venv/stamp`, inputs, async () => {
      await build({ file: "python3", args: ["-m", "venv", "--clear", ".venv"], cwd: folder });
      await build({
        file: python,
        args: ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements],
        cwd: folder,
      });
    });
    return { file: python, args: ["main.py"], cwd: folder };
  },
};

function version(): string | undefined {
  const code =
    "import ensurepip, sys, venv; assert sys.version_info >= (3, 10); print(sys.executable, sys.version)";
  return probe("python3", "-c", code);
}
