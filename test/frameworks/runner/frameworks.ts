import type { Framework } from "./framework.ts";

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
];

/** The frameworks that a name of `--only` chooses: that one, or all of a family, such as `ai-sdk`. */
export function chooseFrameworks(name: string): readonly Framework[] {
  return frameworks.filter((each) => each.name === name || each.name.startsWith(`${name}-`));
}
