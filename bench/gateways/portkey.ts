import { join } from "node:path";
import type { Implementation } from "../implementations/implementation.ts";
import { install } from "./install.ts";

const VERSION = "1.15.2";

/**
 * Portkey's gateway from npm, without its console. With a later @hono/node-server than the one held here every stream
 * is a 500.
 */
export async function portkey(): Promise<Implementation> {
  const server = { "@hono/node-server": "1.14.1" };
  const manifest = {
    private: true,
    dependencies: { "@portkey-ai/gateway": VERSION, ...server },
    overrides: server,
  };
  const folder = await install({
    name: `portkey-${VERSION}`,
    files: { "package.json": JSON.stringify(manifest) },
    commands: (into) => [
      { file: "npm", args: ["install", "--prefix", into, "--ignore-scripts", "--no-audit", "--no-fund"] },
    ],
  });
  const program = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  return {
    name: "portkey",
    bundle: program,
    configuration:
      `portkey: @portkey-ai/gateway ${VERSION} from npm with @hono/node-server ${server["@hono/node-server"]}, ` +
      "on the Node of this project, without console, cache and retries; called at /v1/responses",
    command: (address) => ({
      file: process.execPath,
      args: [program, "--headless", `--port=${address.split(":")[1]}`],
      env: { NODE_ENV: "production", TRUSTED_CUSTOM_HOSTS: "127.0.0.1" },
    }),
    // Each call tells the gateway its destination.
    headers: (upstream) => [
      "authorization: Bearer none",
      "x-portkey-provider: openai",
      `x-portkey-custom-host: http://${upstream}/v1`,
    ],
  };
}
