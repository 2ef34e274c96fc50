import { atEachProvider, openaiSdkChecks } from "./openai-sdk.ts";
import { createPythonSdk } from "./python-environment.ts";

/** OpenAI's SDK for Python. */
export const openaiPython = createPythonSdk("openai-python", [
  ...openaiSdkChecks,
  ...atEachProvider(["socket_lanes", "socket_prepares", "socket_forgets"]),
]);
