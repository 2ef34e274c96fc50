/** The ids of the API, which name runs, threads and messages of the engine in OpenAI's form. */

const ID_HEX = /^[0-9a-f]{32}$/;
const ITEM_ID = /^[a-z]{2,8}_([0-9a-f]{36})([0-9a-f]{3})$/;

/** Prefixes of item ids, by the type of the item. Other types have `item`. */
const ITEM_PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  function_call_output: "fco",
  custom_tool_call: "ctc",
  custom_tool_call_output: "ctco",
  mcp_list_tools: "mcpl",
  mcp_call: "mcp",
  mcp_approval_request: "mcpr",
  mcp_approval_response: "mcpa",
  image_generation_call: "ig",
  web_search_call: "ws",
  file_search_call: "fs",
  code_interpreter_call: "ci",
  computer_call: "cu",
  local_shell_call: "lsh",
  shell_call: "sh",
  apply_patch_call: "apc",
  compaction: "cmp",
  tool_search_call: "tsc",
  tool_search_output: "tso",
};

/** Highest number of a part that an item id can hold. */
const MAX_PART = 0xfff;

/** Returns the response id of a run. */
export function toResponseId(runId: string): string {
  return `resp_${toHex(runId)}`;
}

/** Returns the run of a response. Undefined if this API did not issue the id. */
export function toRunId(responseId: string): string | undefined {
  return replacePrefix(responseId, "resp_", "run_");
}

/** Returns the conversation id of a thread. */
export function toConversationId(threadId: string): string {
  return `conv_${toHex(threadId)}`;
}

/** Returns the thread of a conversation. Undefined if this API did not issue the id. */
export function toThreadId(conversationId: string): string | undefined {
  return replacePrefix(conversationId, "conv_", "thread_");
}

/**
 * Creates the id of an item, which contains its message and the index of its first part.
 * @param messageId Id of the message: `msg_` and 36 hexadecimal digits.
 */
export function toItemId(type: string, messageId: string, part: number): string {
  const prefix = Object.hasOwn(ITEM_PREFIXES, type) ? ITEM_PREFIXES[type] : "item";
  return `${prefix}_${toHex(messageId)}${Math.min(part, MAX_PART).toString(16).padStart(3, "0")}`;
}

/** The location of a stored item. */
export interface ItemLocation {
  readonly messageId: string;
  /** Index of the item's first part in the message. */
  readonly part: number;
}

/** Reads the id of an item. Undefined if this API did not issue it. */
export function parseItemId(itemId: string): ItemLocation | undefined {
  const [, message, part] = ITEM_ID.exec(itemId) ?? [];
  if (message === undefined || part === undefined) return undefined;
  return { messageId: `msg_${message}`, part: Number.parseInt(part, 16) };
}

function replacePrefix(id: string, prefix: string, other: string): string | undefined {
  const hex = id.slice(prefix.length);
  return id.startsWith(prefix) && ID_HEX.test(hex) ? other + hex : undefined;
}

function toHex(id: string): string {
  return id.slice(id.indexOf("_") + 1);
}
