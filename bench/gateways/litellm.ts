import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Implementation } from "../implementations/implementation.ts";
import { RUN_FOLDER } from "../work-folder.ts";
import { install } from "./install.ts";

const VERSION = "1.106.2";

/** LiteLLM's proxy from PyPI: one worker, no database, no log, as its documentation advises for production. */
export async function litellm(): Promise<Implementation> {
  const folder = await install({
    name: `litellm-${VERSION}`,
    commands: (into) => [
      { file: "python3", args: ["-m", "venv", into] },
      { file: join(into, "bin/pip"), args: ["install", "--quiet", `litellm[proxy]==${VERSION}`] },
    ],
  });
  const config = join(RUN_FOLDER, "litellm.json");
  await writeFile(config, JSON.stringify(CONFIG));
  return {
    name: "litellm",
    bundle: folder,
    configuration:
      `litellm: LiteLLM ${VERSION} from PyPI, one worker, one model, no database, no callbacks, ` +
      "log level ERROR, LITELLM_MODE=PRODUCTION; called at /v1/responses with its master key",
    command: (address, upstream) => ({
      file: join(folder, "bin/litellm"),
      args: ["--config", config, "--num_workers", "1", ...addressFlags(address)],
      env: {
        PATH: process.env.PATH ?? "",
        LITELLM_MASTER_KEY: KEY,
        OPENAI_API_KEY: "none",
        OPENAI_BASE_URL: `http://${upstream}/v1`,
        LITELLM_LOG: "ERROR",
        LITELLM_MODE: "PRODUCTION",
        // Otherwise it reads its prices from the network when it starts.
        LITELLM_LOCAL_MODEL_COST_MAP: "True",
      },
    }),
    headers: () => [`authorization: Bearer ${KEY}`],
  };
}

/** It does not start without a key for its callers. */
const KEY = "sk-outrigger-benchmark-of-this-machine";

/** YAML is a superset of JSON. */
const CONFIG = {
  model_list: [{ model_name: "gpt-4.1-mini", litellm_params: { model: "openai/gpt-4.1-mini" } }],
  litellm_settings: { telemetry: false, set_verbose: false },
};

function addressFlags(address: string): string[] {
  const [host = "", port = ""] = address.split(":");
  return ["--host", host, "--port", port];
}
