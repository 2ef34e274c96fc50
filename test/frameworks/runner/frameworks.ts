import { type Framework, frameworkChecks } from "./framework.ts";

/** All frameworks, in the order of the table. */
export const frameworks: readonly Framework[] = [
  { name: "openai-agents", folder: "openai-agents", language: "python", package: "openai-agents" },
  { name: "openai-agents-js", folder: "openai-agents-js", language: "node", package: "@openai/agents" },
  { name: "pydantic-ai", folder: "pydantic-ai", language: "python", package: "pydantic-ai-slim" },
  { name: "langchain", folder: "langchain", language: "python", package: "langchain-openai" },
  { name: "langchain-js", folder: "langchain-js", language: "node", package: "@langchain/openai" },
  { name: "ai-sdk-openai", folder: "ai-sdk", language: "node", package: "@ai-sdk/openai", args: ["openai"] },
  {
    name: "ai-sdk-open-responses",
    folder: "ai-sdk",
    language: "node",
    package: "@ai-sdk/open-responses",
    args: ["open-responses"],
  },
  {
    name: "llama-index",
    folder: "llama-index",
    language: "python",
    package: "llama-index-llms-openai-like",
    checks: [...frameworkChecks, "stored_second_turn"],
  },
  { name: "agno", folder: "agno", language: "python", package: "agno" },
  { name: "haystack", folder: "haystack", language: "python", package: "haystack-ai" },
  {
    name: "strands",
    folder: "strands",
    language: "python",
    package: "strands-agents",
    checks: [...frameworkChecks, "stateful_second_turn"],
  },
  {
    name: "instructor",
    folder: "instructor",
    language: "python",
    package: "instructor",
    checks: frameworkChecks.filter((check) => check !== "tools"),
  },
  {
    name: "dspy",
    folder: "dspy",
    language: "python",
    package: "dspy",
    checks: [...frameworkChecks, "predict"],
  },
  {
    name: "agent-framework",
    folder: "agent-framework",
    language: "python",
    package: "agent-framework-openai",
  },
  ...["opencode", "opencode-chat"].map(
    (name): Framework => ({
      name,
      folder: "opencode",
      language: "node",
      package: "opencode-linux-x64",
      platform: "linux-x64",
      args: [name === "opencode" ? "@ai-sdk/openai" : "@ai-sdk/openai-compatible"],
      checks: ["tools", "second_turn", "stream_failure"],
    }),
  ),
  {
    name: "copilot-cli",
    folder: "copilot-cli",
    language: "node",
    package: "@github/copilot",
    checks: ["tools", "second_turn"],
  },
  {
    name: "claude-code",
    folder: "claude-code",
    language: "node",
    package: "@anthropic-ai/claude-code-linux-x64",
    platform: "linux-x64",
    checks: ["tools", "second_turn", "stream_failure"],
  },
  {
    name: "gemini-cli",
    folder: "gemini-cli",
    language: "node",
    package: "@google/gemini-cli",
    checks: ["tools", "second_turn", "stream_failure"],
  },
];

/** The frameworks that a name of `--only` chooses: that one, or all of a family, such as `ai-sdk`. */
export function chooseFrameworks(name: string): readonly Framework[] {
  return frameworks.filter((each) => each.name === name || each.name.startsWith(`${name}-`));
}
