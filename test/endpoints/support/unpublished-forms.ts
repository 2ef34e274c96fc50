/** Recordings with items that have fields that OpenAI does not publish, or with an invalid URL. */
export const unpublishedForms: readonly string[] = [
  "openai-responses/programmatic-tool-calling.1.sse",
  "openai-responses/programmatic-tool-calling.2.sse",
  "openai-responses/programmatic-tool-calling.3.sse",
  "openai-responses/shell-tool.1-answer1.sse",
  "openai-responses/xai-image-generation-tool.1.sse",
  "openai-responses/xai-web-search-tool.1.sse",
  "openai-responses/programmatic-tool-calling.1.json",
  "openai-responses/programmatic-tool-calling.3.json",
  "openai-responses/shell-tool.1.json",
  "openai-responses/xai-code-execution-tool.1.json",
  "openai-responses/xai-image-generation-tool.1.json",
  "openai-responses/xai-web-search-tool.1.json",
  "gemini/stream-with-tools-search-grounding-1.sse",
];
