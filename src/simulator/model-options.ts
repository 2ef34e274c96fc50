import { chatQuirks } from "./openai-chat/quirks.ts";
import { fault, type OptionDefinition, pace, script } from "./option-definition.ts";
import { decimal, flag, integer, oneOf, seededSplit, word } from "./option-kinds.ts";

/** Longest wait that an option can ask for, in milliseconds: ten minutes. */
const longestWait = 600_000;

const mostEvents = 1_000_000;
const mostBytes = 64 * 1024 * 1024;

/** Largest delta that an option can ask for. An answer repeats it up to five times. */
const largestDelta = 16 * 1024 * 1024;

/** Every option that a model string may carry: the source of their types, their errors and their documentation. */
export const optionDefinitions = {
  calls: script(integer(1, 64), "Tool calls of one answer. Default 1."),
  rounds: script(integer(0, 1000), "Rounds of tool calls before the answer. Default 1."),
  preamble: script(flag, "Says a sentence before the tool calls."),
  parts: script(integer(1, 16), "Paragraphs of what the thinking shows. Default 2."),
  redacted: script(flag, "Hides what the thinking says: it only comes encrypted."),
  tokens: script(integer(1, 200_000), "Tokens of the text of `sim-long`. Default 400."),
  citations: script(integer(0, 20), "Cited sources of the text. Default 2 after a web search, else 0."),
  stop: script(oneOf(["length", "content_filter"]), "Breaks the answer off half way, for this reason."),
  rate: pace(
    decimal(0.1, 1_000_000),
    "Tokens a second; a whole answer waits as long as its tokens take. Default 100 for `sim-long`, else no limit.",
  ),
  delay_ms: pace(integer(0, longestWait), "Waits before the headers of the answer."),
  keepalive_ms: pace(
    integer(1, longestWait),
    "Sends a sign of life whenever the stream was silent for so long.",
  ),
  keepalive_style: pace(
    oneOf(["event", "comment"]),
    "Form of that sign of life: an event of the provider or a comment of SSE. Default `event`.",
  ),
  times: fault(
    integer(1, 1_000_000),
    "Only the first so many requests that name this very model string meet its faults; later ones do not.",
  ),
  status: fault(integer(400, 599), "Answers with this status and the provider's error body for it."),
  code: fault(word, "Code of that error, and the message and type that belong to it."),
  error_body: fault(
    oneOf(["json", "html", "empty"]),
    "Body of that error: the provider's, a proxy's page, or none. Default `json`.",
  ),
  retry_after: fault(decimal(0, 86_400), "`retry-after` header of that error, in seconds."),
  retry_after_ms: fault(integer(0, 86_400_000), "`retry-after-ms` header of that error."),
  drop: fault(flag, "Closes the socket without an answer."),
  stall_after: fault(
    integer(0, mostEvents),
    "Goes silent after so many events and keeps the socket open; a whole answer after half of its body.",
  ),
  cut_events: fault(
    integer(0, mostEvents),
    "Destroys the socket after so many events; that of a whole answer after half of its body.",
  ),
  cut_bytes: fault(
    integer(0, mostBytes),
    "Destroys the socket after so many bytes of the body, of a stream or of a whole answer.",
  ),
  error_after: fault(
    integer(0, mostEvents),
    "Reports a failure in the stream after so many events, and ends it; a whole answer says that it failed.",
  ),
  error_style: fault(
    oneOf(["event", "failed", "nested"]),
    "Form of that failure, of those that the provider has. Default `event`.",
  ),
  error_code: fault(
    word,
    "Code of that failure, and the words that belong to it. Default: what the provider says of its own faults.",
  ),
  malformed_after: fault(
    integer(0, mostEvents),
    "The event after so many is broken JSON, and the stream goes on; a whole answer is broken JSON.",
  ),
  end_without_terminal: fault(
    flag,
    "Ends the stream in good order, but without its last event; a whole answer in its middle.",
  ),
  repeat_start: fault(flag, "The event that opens a stream comes twice, where the provider has one."),
  repeat_ids: fault(flag, "All tool calls have the same call id."),
  no_ids: fault(flag, "Tool calls have no call id, or an empty one where the provider's field is required."),
  frame_bytes: fault(integer(1, largestDelta), "The first delta of the answer is at least so large."),
  half_surrogates: fault(flag, "Deltas part the two surrogates of an emoji, as `\\ud83d` and `\\ude00`."),
  trickle_ms: fault(integer(1, longestWait), "Writes a few bytes at a time, and waits so long between them."),
  trickle_bytes: fault(integer(1, 65_536), "How many bytes those are. Default 5."),
  chunk: fault(seededSplit, "Splits the body into writes of seeded sizes, inside characters too."),
  ...chatQuirks,
} as const satisfies Readonly<Record<string, OptionDefinition<unknown>>>;

/** Name of an option. */
export type OptionName = keyof typeof optionDefinitions;

/** The options of a model string. What it does not name is unset. */
export type ModelOptions = {
  readonly [Name in OptionName]?: (typeof optionDefinitions)[Name] extends OptionDefinition<infer Value>
    ? Value
    : never;
};

/** The options without those that make something go wrong. */
export function withoutFaults(options: ModelOptions): ModelOptions {
  const kept = Object.entries(options).filter(
    ([name]) => optionDefinitions[name as OptionName].group !== "fault",
  );
  return Object.fromEntries(kept);
}
