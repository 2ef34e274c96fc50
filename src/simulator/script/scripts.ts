import type { ModelOptions } from "../model-options.ts";
import { writeAnswer } from "./answer-text.ts";
import { drawImage } from "./image.ts";
import { writeLongText } from "./long-text.ts";
import { thinkAbout } from "./reasoning.ts";
import type { Scene } from "./scene.ts";
import { callTools, mustCallTool, shouldCallTool } from "./tool-calls.ts";
import type { Part, TextPart } from "./turn.ts";
import { citationCount, citeSources, searchWeb } from "./web-search.ts";

/** Tokens that `sim-long` says unless the option `tokens` tells. */
const usualLength = 400;

/** One script: what a model that follows it says. */
interface Script {
  /** What it does, in one sentence. */
  readonly summary: string;
  /** Options that hold for it unless the model string sets them. */
  readonly defaults?: ModelOptions;
  readonly write: (scene: Scene) => readonly Part[];
}

/** Every script, by the name that follows `sim-` in a model string. */
export const scripts = {
  text: {
    summary: "Answers with a text that depends on the prompt, with non-ASCII characters and emoji.",
    write: (scene) => (mustCallTool(scene) ? callTools(scene) : answer(scene)),
  },
  echo: {
    summary: "Repeats the last words of the user, character by character.",
    write: (scene) => (mustCallTool(scene) ? callTools(scene) : [textPart(scene.prompt.question)]),
  },
  tools: {
    summary:
      "Calls the tools of the request with arguments made from their schemas; answers once it has the results.",
    write: (scene) => (shouldCallTool(scene) ? callWithPreamble(scene) : answer(scene)),
  },
  reasoning: {
    summary: "Thinks first, as much as the request's effort says; then does what `sim-tools` does.",
    write: (scene) => [
      ...thinkAbout(scene),
      ...(shouldCallTool(scene) ? callWithPreamble(scene) : answer(scene)),
    ],
  },
  long: {
    summary: "Says as many tokens as the option `tokens` tells, at the option `rate`.",
    defaults: { rate: 100 },
    write: (scene) => [textPart(writeLongText(scene.options.tokens ?? usualLength, scene.random))],
  },
  refusal: {
    summary: "Refuses to answer.",
    write: () => [{ kind: "refusal", text: "I’m sorry, but I can’t assist with that request. 🙏" }],
  },
} as const satisfies Readonly<Record<string, Script>>;

/** Name of a script. */
export type ScriptName = keyof typeof scripts;

/** Options that hold for a script unless the model string sets them. */
export function defaultsOf(name: ScriptName): ModelOptions {
  const script: Script = scripts[name];
  return script.defaults ?? {};
}

/** Whether there is a script of that name. */
export function isScriptName(name: string): name is ScriptName {
  return Object.hasOwn(scripts, name);
}

/** The answer: what hosted tools of the request did, then the text. */
function answer(scene: Scene): Part[] {
  const hosted = scene.prompt.toolChoice.mode === "none" ? [] : scene.prompt.hostedTools;
  const parts = hosted.map((tool) =>
    tool.kind === "web_search" ? searchWeb(scene) : drawImage(scene, tool.partialImages),
  );
  const searched = hosted.some((tool) => tool.kind === "web_search");
  const isProse = scene.prompt.answerFormat.type === "text";
  const { text, citations } = citeSources(writeAnswer(scene), isProse ? citationCount(scene, searched) : 0);
  return [...parts, { ...textPart(text), citations }];
}

function callWithPreamble(scene: Scene): Part[] {
  const calls = callTools(scene);
  if (scene.options.preamble !== true) return calls;
  return [{ ...textPart("Let me look that up — un instant. 🔎"), phase: "commentary" }, ...calls];
}

function textPart(text: string): TextPart {
  return { kind: "text", text, citations: [], phase: "final_answer", firstDelta: 0, cut: false };
}
