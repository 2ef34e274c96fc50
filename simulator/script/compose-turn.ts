import type { ModelChoice } from "../model-choice.ts";
import type { ModelOptions } from "../model-options.ts";
import { countPartTokens, limitParts } from "./limit-parts.ts";
import { countPromptTokens, type Prompt } from "./prompt.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { createScriptInput } from "./script-input.ts";
import { scripts } from "./scripts.ts";
import { stopAtSequences } from "./stop-sequences.ts";
import type { Part, Turn } from "./turn.ts";

/** Runs the chosen script for a prompt, within the prompt's token limit. */
export function composeTurn(prompt: Prompt, choice: ModelChoice, cache: PromptCache): Turn {
  const { options } = choice;
  const written = scripts[choice.script].write(createScriptInput(prompt, options));
  const { parts, stop, stopSequence } = truncate(written, prompt, options.stop);
  const reasoning = parts.filter((part) => part.kind === "reasoning");
  return {
    parts: padFirstDelta(parts, options.frame_bytes ?? 0),
    stop,
    stopSequence,
    usage: {
      inputTokens: countPromptTokens(prompt),
      ...cache.use(choice.script, prompt),
      outputTokens: sumTokens(parts),
      reasoningTokens: sumTokens(reasoning),
    },
    callIds: getCallIds(options),
    halfSurrogates: options.half_surrogates === true,
    repeatsStart: options.repeat_start === true,
  };
}

/** Ends an answer at a stop sequence, at the prompt's token limit, or halfway if the model string says so. */
function truncate(
  written: readonly Part[],
  { stopSequences, maxOutputTokens: limit = Infinity }: Prompt,
  reason: ModelOptions["stop"],
): Pick<Turn, "parts" | "stop" | "stopSequence"> {
  const { parts, stopSequence } = stopAtSequences(written, stopSequences);
  const half = reason === undefined ? Infinity : Math.ceil(sumTokens(parts) / 2);
  const allowed = Math.min(limit, half);
  if (sumTokens(parts) <= allowed) return { parts, stop: "end", stopSequence };
  return {
    parts: limitParts(parts, allowed),
    stop: half < limit ? (reason ?? "length") : "length",
    stopSequence: undefined,
  };
}

/**
 * Pads the first delta of the first text or tool call to the requested size, with words or with JSON white space. The
 * padding counts no tokens, so that no limit applies to it.
 */
function padFirstDelta(parts: readonly Part[], size: number): readonly Part[] {
  if (size === 0) return parts;
  const index = parts.findIndex((part) => part.kind === "text" || part.kind === "tool_call");
  return parts.map((part, place) => (place === index ? pad(part, size) : part));
}

function pad(part: Part, size: number): Part {
  if (part.kind === "tool_call") return { ...part, input: padText(part.input, size), firstDelta: size };
  if (part.kind !== "text") return part;
  const text = padText(part.text, size);
  const shift = text.length - part.text.length;
  const citations = part.citations.map((each) => ({
    ...each,
    start: each.start + shift,
    end: each.end + shift,
  }));
  return { ...part, text, citations, firstDelta: size };
}

function padText(text: string, size: number): string {
  const isJson = text.startsWith("{") || text.startsWith("[");
  return isJson
    ? `${text[0]}${" ".repeat(size)}${text.slice(1)}`
    : "wide ".repeat(Math.ceil(size / 5)) + text;
}

function getCallIds(options: ModelOptions): Turn["callIds"] {
  if (options.no_ids === true) return "empty";
  return options.repeat_ids === true ? "repeated" : "unique";
}

function sumTokens(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + countPartTokens(part), 0);
}
