/** Paths of fields in the contract -> the parameters of OpenAI's API that they were read from. */

/** The contract's field, and the parameter whose place it takes. The first one that fits decides. */
const PARAMS: readonly (readonly [field: RegExp, param: string])[] = [
  [/^messages\b/, "input"],
  [/^approvals\b/, "input"],
  [/^(system|prompt)$/, "instructions"],
  [/^previous_run_id$/, "previous_response_id"],
  [/^thread_id$/, "conversation"],
  [/^mcp_servers\b/, "tools"],
  [/^tool_choice\.parallel$/, "parallel_tool_calls"],
  [/^tool_choice\.(mode|tool_name)$/, "tool_choice"],
  [/^max_tokens$/, "max_output_tokens"],
  [/^limits\.max_tool_calls$/, "max_tool_calls"],
  [/^response_format\.schema_json\b/, "text.format.schema"],
  [/^response_format\b/, "text.format"],
  [/^reasoning_effort$/, "reasoning.effort"],
  [/^run_id$/, "response_id"],
  [/^provider$/, "model"],
];

/** The path of the contract's field without the messages that hold it. */
const WITHIN = /^(options\.)?(request\.)?/;

/** The parameter that a field of the contract was read from. What has the same name in both, or none there, stays. */
export function paramOf(field: string): string {
  const path = field.replace(WITHIN, "");
  for (const [pattern, param] of PARAMS) if (pattern.test(path)) return path.replace(pattern, param);
  return path;
}
