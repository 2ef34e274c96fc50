import { atEachProvider } from "./openai-sdk.ts";
import { createPythonSdk } from "./python-environment.ts";

/** Google's SDK for Python. */
export const genaiPython = createPythonSdk(
  "genai-python",
  atEachProvider([
    "text",
    "stream",
    "structured_output",
    "tools",
    "tools_stream",
    "automatic_calls",
    "image",
    "count_tokens",
    "embeddings",
    "models",
    "bad_request",
    "rate_limit",
    "server_error",
    "cut_stream",
  ]),
);
