import type { ModelOptions } from "../model-options.ts";
import { writeAnswer } from "./answer-text.ts";
import { drawImage } from "./image.ts";
import { writeLongText } from "./long-text.ts";
import { writeReasoning } from "./reasoning.ts";
import type { ScriptInput } from "./script-input.ts";
import { callTools, mustCallTool, shouldCallTool, writtenCalls } from "./tool-calls.ts";
import type { Part, TextPart } from "./turn.ts";
import { citationCount, citeSources, searchWeb } from "./web-search.ts";

/** Length of the text of `sim-long`, in tokens, unless the option `tokens` is set. */
const defaultTokens = 400;

/** A script, which determines what a simulated model says. */
interface Script {
  /** The effect of the script, in one sentence. */
  readonly summary: string;
  /** Options that apply to it unless the model string sets them. */
  readonly defaults?: ModelOptions;
  readonly write: (input: ScriptInput) => readonly Part[];
}

/** Every script, by the name that follows `sim-` in a model string. */
export const scripts = {
  text: {
    summary: "Answers with a text that depends on the prompt and has non-ASCII characters and emoji.",
    write: (input) => (mustCallTool(input) ? callTools(input) : answer(input)),
  },
  echo: {
    summary: "Repeats the text of the last user message, character by character.",
    write: (input) => (mustCallTool(input) ? callTools(input) : [textPart(input.prompt.question)]),
  },
  tools: {
    summary:
      "Calls the request's tools with arguments generated from their schemas; answers once it has the results.",
    write: (input) => (shouldCallTool(input) ? callWithPreamble(input) : answer(input)),
  },
  call: {
    summary:
      "Makes the calls that the last user message writes, one per line as `name input`; answers once it has the results.",
    write: (input) => {
      const calls = writtenCalls(input);
      if (calls.length > 0) return calls;
      return mustCallTool(input) ? callTools(input) : answer(input);
    },
  },
  reasoning: {
    summary: "Reasons first, as much as the request's effort asks for; then does what `sim-tools` does.",
    write: (input) => [
      ...writeReasoning(input),
      ...(shouldCallTool(input) ? callWithPreamble(input) : answer(input)),
    ],
  },
  long: {
    summary: "Writes as many tokens as the option `tokens` says, at the speed of the option `rate`.",
    defaults: { rate: 100 },
    write: (input) => [textPart(writeLongText(input.options.tokens ?? defaultTokens, input.random))],
  },
  refusal: {
    summary: "Refuses to answer.",
    write: () => [{ kind: "refusal", text: "I’m sorry, but I can’t assist with that request. 🙏" }],
  },
} as const satisfies Readonly<Record<string, Script>>;

/** Name of a script. */
export type ScriptName = keyof typeof scripts;

/** Returns the options that apply to a script unless the model string sets them. */
export function getDefaults(name: ScriptName): ModelOptions {
  const script: Script = scripts[name];
  return script.defaults ?? {};
}

/** Reports whether there is a script with that name. */
export function isScriptName(name: string): name is ScriptName {
  return Object.hasOwn(scripts, name);
}

/** Creates the answer: the results of the request's hosted tools, then the text. */
function answer(input: ScriptInput): Part[] {
  const hosted = input.prompt.toolChoice.mode === "none" ? [] : input.prompt.hostedTools;
  const parts = hosted.map((tool) =>
    tool.kind === "web_search" ? searchWeb(input) : drawImage(input, tool.partialImages),
  );
  const searched = hosted.some((tool) => tool.kind === "web_search");
  const isProse = input.prompt.answerFormat.type === "text";
  const { text, citations } = citeSources(writeAnswer(input), isProse ? citationCount(input, searched) : 0);
  return [...parts, { ...textPart(text), citations }];
}

function callWithPreamble(input: ScriptInput): Part[] {
  const calls = callTools(input);
  if (input.options.preamble !== true) return calls;
  return [{ ...textPart("Let me look that up — un instant. 🔎"), phase: "commentary" }, ...calls];
}

function textPart(text: string): TextPart {
  return { kind: "text", text, citations: [], phase: "final_answer", firstDelta: 0, cut: false };
}
