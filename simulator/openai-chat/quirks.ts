import { quirk } from "../option-definition.ts";
import { choice, flag, word } from "../option-kinds.ts";

/**
 * Differences between OpenAI and other servers that speak the Chat Completions API, each observed at one or more
 * servers. They are options of the model string like all others; other wire formats ignore them.
 */
export const chatQuirks = {
  reasoning_field: quirk(
    choice(["reasoning_content", "reasoning", "details", "chunks", "think_tags", "none"]),
    "Place of the reasoning: in this field; in `reasoning_details` with signatures; in parts of `content`; in its text; or, as at OpenAI, not at all. Default `reasoning_content`.",
  ),
  require_reasoning: quirk(
    flag,
    "Refuses a request in which an assistant message comes back without its reasoning, as DeepSeek does.",
  ),
  thought_signatures: quirk(
    flag,
    "The first tool call has a signature in `extra_content`, as at Gemini, and must be sent back with it.",
  ),
  lenient: quirk(
    flag,
    "Accepts parameters that OpenAI does not know, applies parameters of other servers that control reasoning, and accepts ids of any length and JSON mode without the word `json`.",
  ),
  usage_style: quirk(
    choice(["last", "bare", "finish", "every", "x_groq", "none"]),
    "Which chunk of a stream has its usage: a last one, if the request asks for it; one without `choices`; the one with the finish reason; every chunk, up to there; as at Groq; none. Default `last`.",
  ),
  usage_fields: quirk(
    choice(["openai", "openrouter", "deepseek", "moonshot", "xai"]),
    "The server whose usage fields are sent. At xAI, reasoning does not count as written. Default `openai`.",
  ),
  id_style: quirk(
    choice(["first", "same", "blank", "missing"]),
    "Which pieces of a streamed tool call have its id: the first; all; the first, and an empty id in the others; none, and none in a whole answer either. Default `first`.",
  ),
  name_style: quirk(
    choice(["first", "same", "split", "late"]),
    "Which pieces of a streamed tool call have its name: the first; all; half in each of the first two; the second alone. Default `first`.",
  ),
  no_index: quirk(flag, "Pieces of tool calls have no `index`."),
  whole_calls: quirk(flag, "A streamed tool call is sent in one piece."),
  object_arguments: quirk(
    flag,
    "Arguments are a JSON object instead of a text, so a streamed call is sent in one piece.",
  ),
  null_fields: quirk(flag, "Deltas have all fields, with null in those that are not used."),
  finish_reason: quirk(word, "Value of `finish_reason`, whatever the reason."),
  no_finish: quirk(flag, "No chunk has a finish reason."),
  trailing_chunk: quirk(flag, "A further chunk follows the one with the finish reason."),
  no_done: quirk(flag, "No `[DONE]` ends a stream."),
  comments: quirk(flag, "An SSE comment, `: OPENROUTER PROCESSING`, precedes each chunk."),
  plain_json: quirk(flag, "A request for a stream is answered with one JSON body."),
  error_shape: quirk(
    choice(["openai", "numeric", "top_level", "text", "message", "detail"]),
    "Form of errors, in streams too: OpenAI's; with a status as code (llama.cpp, OpenRouter); without an envelope (vLLM); as texts (xAI); as a `message`; as a list (FastAPI). Default `openai`.",
  ),
} as const;
