import type { ToolCallIdRule } from "../../kit/adapter/tool-call-id-mapper.ts";

/** Ids of tool calls that the API accepts (provider documentation: "Create a message", `tool_use`, `id`). */
export const TOOL_CALL_ID_RULE: ToolCallIdRule = {
  pattern: /^[a-zA-Z0-9_-]+$/,
  prefix: "toolu_",
  length: 24,
};
