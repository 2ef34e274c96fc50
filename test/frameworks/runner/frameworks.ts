import { type Framework, frameworkChecks } from "./framework.ts";

/** The variants of a framework that speak further APIs, by the argument of its program and the end of their names. */
function createVariants(framework: Framework, packages: Readonly<Record<string, string>>): Framework[] {
  return Object.entries(packages).map(([api, name]) => ({
    ...framework,
    name: `${framework.name}-${api}`,
    package: name,
    args: [api],
  }));
}

const openaiAgents: Framework = {
  name: "openai-agents",
  folder: "openai-agents",
  language: "python",
  package: "openai-agents",
};

const openaiAgentsJs: Framework = {
  name: "openai-agents-js",
  folder: "openai-agents-js",
  language: "node",
  package: "@openai/agents",
};

const pydanticAi: Framework = {
  name: "pydantic-ai",
  folder: "pydantic-ai",
  language: "python",
  package: "pydantic-ai-slim",
};

const langchain: Framework = {
  name: "langchain",
  folder: "langchain",
  language: "python",
  package: "langchain-openai",
};

const langchainJs: Framework = {
  name: "langchain-js",
  folder: "langchain-js",
  language: "node",
  package: "@langchain/openai",
};

const llamaIndex: Framework = {
  name: "llama-index",
  folder: "llama-index",
  language: "python",
  package: "llama-index-llms-openai-like",
};

const instructor: Framework = {
  name: "instructor",
  folder: "instructor",
  language: "python",
  package: "instructor",
  checks: frameworkChecks.filter((check) => check !== "tools"),
};

const dspy: Framework = {
  name: "dspy",
  folder: "dspy",
  language: "python",
  package: "dspy",
  checks: [...frameworkChecks, "predict"],
};

const aiSdk: Framework = { name: "ai-sdk", folder: "ai-sdk", language: "node", package: "ai" };

const qwenCode: Framework = {
  name: "qwen-code",
  folder: "qwen-code",
  language: "node",
  package: "@qwen-code/qwen-code",
  checks: ["tools", "second_turn", "stream_failure"],
};

const litellm: Framework = { name: "litellm", folder: "litellm", language: "python", package: "litellm" };

const mirascope: Framework = {
  name: "mirascope",
  folder: "mirascope",
  language: "python",
  package: "mirascope",
};

const tanstackAi: Framework = {
  name: "tanstack-ai",
  folder: "tanstack-ai",
  language: "node",
  package: "@tanstack/ai",
  checks: frameworkChecks.filter((check) => check !== "second_turn"),
};

const pi: Framework = {
  name: "pi",
  folder: "pi",
  language: "node",
  package: "@mariozechner/pi-coding-agent",
  checks: ["tools", "second_turn"],
};

/** All frameworks, in the order of the table. */
export const frameworks: readonly Framework[] = [
  openaiAgents,
  ...createVariants(openaiAgents, { chat: "openai-agents" }),
  openaiAgentsJs,
  ...createVariants(openaiAgentsJs, { chat: "@openai/agents" }).map((variant) => ({
    ...variant,
    limitations: [
      {
        api: "compatible" as const,
        checks: ["second_turn"],
        error: "Unknown parameter: 'messages[4].content[0].role'",
        reason: "it returns a field that servers which check requests as OpenAI does refuse",
      },
    ],
  })),
  pydanticAi,
  ...createVariants(pydanticAi, {
    chat: "pydantic-ai-slim",
    anthropic: "pydantic-ai-slim",
    google: "pydantic-ai-slim",
  }),
  langchain,
  ...createVariants(langchain, {
    chat: "langchain-openai",
    anthropic: "langchain-anthropic",
    google: "langchain-google-genai",
  }),
  langchainJs,
  ...createVariants(langchainJs, { chat: "@langchain/openai" }),
  ...createVariants(aiSdk, {
    openai: "@ai-sdk/openai",
    "open-responses": "@ai-sdk/open-responses",
    chat: "@ai-sdk/openai",
    anthropic: "@ai-sdk/anthropic",
    google: "@ai-sdk/google",
  }),
  { ...llamaIndex, checks: [...frameworkChecks, "stored_second_turn"] },
  ...createVariants(llamaIndex, { chat: "llama-index-llms-openai-like" }),
  { name: "agno", folder: "agno", language: "python", package: "agno" },
  { name: "haystack", folder: "haystack", language: "python", package: "haystack-ai" },
  {
    name: "strands",
    folder: "strands",
    language: "python",
    package: "strands-agents",
    checks: [...frameworkChecks, "stateful_second_turn"],
  },
  instructor,
  ...createVariants(instructor, { chat: "instructor" }),
  dspy,
  ...createVariants(dspy, { chat: "dspy" }),
  ...createVariants(litellm, { chat: "litellm", anthropic: "litellm" }),
  {
    name: "agent-framework",
    folder: "agent-framework",
    language: "python",
    package: "agent-framework-openai",
  },
  { name: "google-adk", folder: "google-adk", language: "python", package: "google-adk" },
  mirascope,
  ...createVariants(mirascope, { anthropic: "mirascope" }),
  tanstackAi,
  ...createVariants(tanstackAi, {
    chat: "@tanstack/ai-openai",
    anthropic: "@tanstack/ai-anthropic",
    google: "@tanstack/ai-gemini",
  }),
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
  qwenCode,
  ...createVariants(qwenCode, { chat: "@qwen-code/qwen-code" }),
  pi,
  ...createVariants(pi, { chat: pi.package, anthropic: pi.package, google: pi.package }),
];

/** The frameworks that a word of `--only` chooses: a name, or the beginning of some, such as `ai-sdk-*`. */
export function chooseFrameworks(word: string): readonly Framework[] {
  return word.endsWith("*")
    ? frameworks.filter(({ name }) => name.startsWith(word.slice(0, -1)))
    : frameworks.filter(({ name }) => name === word);
}
