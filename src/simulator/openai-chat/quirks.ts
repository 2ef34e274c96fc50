import { quirk } from "../option-definition.ts";
import { flag, oneOf, word } from "../option-kinds.ts";

/**
 * How servers that speak the Chat Completions API differ from OpenAI's: each seen at one of them at least. They are
 * options of the model string like all others, and no other wire format heeds them.
 */
export const chatQuirks = {
  reasoning_field: quirk(
    oneOf(["reasoning_content", "reasoning", "details", "chunks", "think_tags", "none"]),
    "Where thinking shows: in this field; in `reasoning_details` with signatures; in parts of `content`; in its text; or, as at OpenAI, not at all. Default `reasoning_content`.",
  ),
  require_reasoning: quirk(
    flag,
    "Refuses a request in which the thinking of an assistant message did not come back, as DeepSeek does.",
  ),
  thought_signatures: quirk(
    flag,
    "The first tool call carries a signature in `extra_content`, as at Gemini, and must come back with it.",
  ),
  lenient: quirk(
    flag,
    "Takes parameters that OpenAI does not know, lets those by which other servers steer thinking do so, and takes ids of any length.",
  ),
  usage_style: quirk(
    oneOf(["last", "bare", "finish", "every", "x_groq", "none"]),
    "Where a stream has its usage: in a last chunk, if the request asks for it; in one without `choices`; in the one with the finish reason; in every chunk, as far as it is; as Groq has it; nowhere. Default `last`.",
  ),
  usage_fields: quirk(
    oneOf(["openai", "openrouter", "deepseek", "moonshot", "xai"]),
    "Whose fields the usage has. At xAI, thinking does not count as written. Default `openai`.",
  ),
  id_style: quirk(
    oneOf(["first", "same", "blank", "missing"]),
    "Which pieces of a streamed tool call have its id: the first; all; the first, and an empty one the others; none, nor has a whole answer. Default `first`.",
  ),
  name_style: quirk(
    oneOf(["first", "same", "split", "late"]),
    "Which pieces of a streamed tool call have its name: the first; all; half of it each of the first two; the second alone. Default `first`.",
  ),
  no_index: quirk(flag, "Pieces of tool calls have no `index`."),
  whole_calls: quirk(flag, "A streamed tool call comes in one piece."),
  object_arguments: quirk(
    flag,
    "Arguments are a JSON object and no text, so a streamed call comes in one piece.",
  ),
  null_fields: quirk(flag, "Deltas have all fields, and null in those that say nothing."),
  finish_reason: quirk(word, "Word that stands as `finish_reason`, whatever the reason."),
  no_finish: quirk(flag, "No chunk has a finish reason."),
  trailing_chunk: quirk(flag, "A further chunk follows the one with the finish reason."),
  no_done: quirk(flag, "No `[DONE]` ends a stream."),
  comments: quirk(flag, "A comment of SSE, `: OPENROUTER PROCESSING`, stands before each chunk."),
  plain_json: quirk(flag, "A request for a stream is answered in one piece."),
  error_shape: quirk(
    oneOf(["openai", "numeric", "top_level", "text", "message", "detail"]),
    "Form of errors, in streams too: OpenAI's; with a status as code (llama.cpp, OpenRouter); without an envelope (vLLM); as texts (xAI); as a `message`; as a list (FastAPI). Default `openai`.",
  ),
} as const;
