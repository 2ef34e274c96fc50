import { atEachProvider } from "./openai-sdk.ts";
import { createPythonSdk } from "./python-environment.ts";

/** Anthropic's SDK for Python. */
export const anthropicPython = createPythonSdk(
  "anthropic-python",
  atEachProvider([
    "text",
    "max_tokens",
    "stream",
    "structured_output",
    "tools",
    "tools_stream",
    "tool_runner",
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
);
