/** The checks that a program with an official OpenAI SDK makes at each provider, through `/v1`. */
const checks = [
  "text",
  "settings",
  "stream",
  "done_marker",
  "structured_output",
  "reasoning",
  "image",
  "incomplete",
  "input_tokens",
  "embeddings",
  "models",
  "tools_previous_response",
  "tools_conversation",
  "tools_stateless",
  "tools_stream",
  "background",
  "cancel",
  "resume",
  "resume_live",
  "branch",
  "instructions",
  "input_items",
  "delete",
  "compact",
  "conversations",
  "conversation_items",
  "bad_request",
  "not_found",
  "rate_limit",
  "retry",
  "server_error",
  "cut_stream",
];

/** The checks of every program with an official OpenAI SDK: each at every provider of the demo, by its wire API. */
export const openaiSdkChecks = atEachProvider(checks);

/** Checks at every provider of the demo. */
export function atEachProvider(names: readonly string[]): readonly string[] {
  return ["openai", "anthropic", "gemini", "compatible"].flatMap((provider) =>
    names.map((name) => `${provider}/${name}`),
  );
}
