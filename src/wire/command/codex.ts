/** The output of `codex exec --json`, one JSON object in each line (read from version 0.169). */

/** A line. */
export interface CodexEvent {
  /** `thread.started`, `turn.started`, `item.started`, `item.updated`, `item.completed`, `turn.completed` and so on. */
  readonly type: string;
  /** In `thread.started`. */
  readonly thread_id: string;
  /** In events of items. */
  readonly item: CodexItem;
  /** In `turn.completed`. */
  readonly usage: CodexUsage;
  /** In `turn.failed`. */
  readonly error: { readonly message: string };
  /** In `error`, which may be followed by another attempt. */
  readonly message: string;
}

/** A message or an activity of the agent. */
export interface CodexItem {
  readonly id: string;
  /**
   * `agent_message`, `reasoning`, `command_execution`, `file_change`, `mcp_tool_call`, `web_search`, `todo_list`,
   * `error`.
   */
  readonly type: string;
  /** In messages and reasoning. */
  readonly text: string;
  /** In errors. */
  readonly message: string;
}

/** Tokens of a turn over all calls of the model. Input includes cached tokens, output includes reasoning. */
export interface CodexUsage {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_input_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_output_tokens: number;
}
