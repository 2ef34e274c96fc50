import { getFolder, type TestClient } from "./client.ts";
import { openaiSdkChecks } from "./openai-sdk.ts";

const folder = getFolder("openai-js");

/** OpenAI's SDK for JavaScript. It is a development dependency, so there is nothing to build. */
export const openaiJs: TestClient = {
  name: "openai-js",
  checks: openaiSdkChecks,
  missing: () => undefined,
  build: async () => ({ file: process.execPath, args: ["main.js"], cwd: folder }),
};
