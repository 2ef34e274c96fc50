import { chatQuirks } from "./openai-chat/quirks.ts";
import { fault, type OptionDefinition, pace, script } from "./option-definition.ts";
import { choice, decimal, flag, integer, seededSplit, word } from "./option-kinds.ts";

/** Longest wait that an option can ask for, in milliseconds: ten minutes. */
const longestWait = 600_000;

const mostEvents = 1_000_000;
const mostBytes = 64 * 1024 * 1024;

/** Largest delta that an option can ask for. An answer repeats it up to five times. */
const largestDelta = 16 * 1024 * 1024;

/** Every option of a model string: the source of their types, errors and documentation. */
export const optionDefinitions = {
  calls: script(integer(1, 64), "Tool calls of one answer. Default 1."),
  rounds: script(integer(0, 1000), "Rounds of tool calls before the answer. Default 1."),
  preamble: script(flag, "Writes a sentence before the tool calls."),
  parts: script(integer(1, 16), "Paragraphs of visible reasoning. Default 2."),
  redacted: script(flag, "Hides the reasoning: it is only sent encrypted."),
  tokens: script(integer(1, 200_000), "Length of the text of `sim-long`, in tokens. Default 400."),
  citations: script(
    integer(0, 20),
    "Number of sources that the text cites. Default 2 after a web search, else 0.",
  ),
  stop: script(choice(["length", "content_filter"]), "Stops the answer halfway, with this finish reason."),
  rate: pace(
    decimal(0.1, 1_000_000),
    "Tokens per second; a whole answer is delayed by the time its tokens take. Default 100 for `sim-long`, else no limit.",
  ),
  delay_ms: pace(integer(0, longestWait), "Delay before the headers of the answer."),
  keepalive_ms: pace(
    integer(1, longestWait),
    "Sends a keep-alive whenever the stream was silent for this long.",
  ),
  keepalive_style: pace(
    choice(["event", "comment"]),
    "Form of that keep-alive: an event of the provider or an SSE comment. Default `event`.",
  ),
  times: fault(
    integer(1, 1_000_000),
    "Only this many requests with this exact model string have its faults; later ones do not.",
  ),
  status: fault(integer(400, 599), "Responds with this status and the provider's error body for it."),
  code: fault(word, "Code of that error; the message and type follow from it."),
  error_body: fault(
    choice(["json", "html", "empty"]),
    "Body of that error: the provider's JSON, a proxy's HTML page, or none. Default `json`.",
  ),
  retry_after: fault(decimal(0, 86_400), "`retry-after` header of that error, in seconds."),
  retry_after_ms: fault(integer(0, 86_400_000), "`retry-after-ms` header of that error."),
  drop: fault(flag, "Closes the socket without a response."),
  stall_after: fault(
    integer(0, mostEvents),
    "Stops sending after this many events and keeps the socket open; a whole answer stops after half of its body.",
  ),
  cut_events: fault(
    integer(0, mostEvents),
    "Destroys the socket after this many events; for a whole answer, after half of its body.",
  ),
  cut_bytes: fault(
    integer(0, mostBytes),
    "Destroys the socket after this many bytes of the body, whether streamed or whole.",
  ),
  error_after: fault(
    integer(0, mostEvents),
    "Reports a failure in the stream after this many events, and ends it; a whole answer reports that it failed.",
  ),
  error_style: fault(
    choice(["event", "failed", "nested"]),
    "Form of that failure, if the provider has several. Default `event`.",
  ),
  error_code: fault(
    word,
    "Code of that failure; the message follows from it. Default: the provider's code for an internal error.",
  ),
  malformed_after: fault(
    integer(0, mostEvents),
    "After this many events, the next one is invalid JSON and the stream continues; a whole answer is invalid JSON.",
  ),
  end_without_terminal: fault(
    flag,
    "Ends the stream cleanly, but without its last event; a whole answer ends in the middle.",
  ),
  repeat_start: fault(flag, "Sends the event that opens a stream twice, if the provider has one."),
  repeat_ids: fault(flag, "All tool calls have the same call id."),
  no_ids: fault(flag, "Tool calls have no id, or an empty one if the provider's field is required."),
  frame_bytes: fault(integer(1, largestDelta), "Minimum size of the first delta of the answer, in bytes."),
  half_surrogates: fault(
    flag,
    "Splits the two surrogates of an emoji across deltas, as `\\ud83d` and `\\ude00`.",
  ),
  trickle_ms: fault(
    integer(1, longestWait),
    "Writes a few bytes at a time, and waits this long between writes.",
  ),
  trickle_bytes: fault(integer(1, 65_536), "Size of those writes, in bytes. Default 5."),
  chunk: fault(
    seededSplit,
    "Splits the body into writes of random sizes from this seed, even within characters.",
  ),
  ...chatQuirks,
} as const satisfies Readonly<Record<string, OptionDefinition<unknown>>>;

/** Name of an option. */
export type OptionName = keyof typeof optionDefinitions;

/** The options of a model string; unset if the string does not name them. */
export type ModelOptions = {
  readonly [Name in OptionName]?: (typeof optionDefinitions)[Name] extends OptionDefinition<infer Value>
    ? Value
    : never;
};

/** Returns the options without faults. */
export function withoutFaults(options: ModelOptions): ModelOptions {
  const kept = Object.entries(options).filter(
    ([name]) => optionDefinitions[name as OptionName].group !== "fault",
  );
  return Object.fromEntries(kept);
}
