import type { Wordings } from "../openai/failure.ts";

/** Error messages of the Chat Completions API that differ from OpenAI's other APIs. */
export const chatWordings: Wordings = {
  context_length_exceeded: {
    type: "invalid_request_error",
    message:
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 128001 tokens. Please reduce the length of the messages.",
    param: "messages",
  },
};
