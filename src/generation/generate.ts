import { closeAtOnce } from "../core/item-iterator.ts";
import type { GenerateResult as GenerateResultMessage } from "../gen/outrigger/v1/generation_pb.ts";
import type { GenerateOptions } from "./generate-options.ts";
import { GenerateResult, StepResult } from "./loop/generate-result.ts";
import { type LoopItem, openToolLoop } from "./loop/tool-loop.ts";
import { toLoopOptions } from "./read-options.ts";
import { StreamResult } from "./stream-result.ts";

/**
 * Calls a model, executes the tools that it asks for, sends their results, and so on until it answers. Calls that fail
 * are retried.
 *
 * ```ts
 * const result = await generate({ model: "gpt-5.2", prompt: "What is the weather in Paris?", tools: [getWeather] });
 * console.log(result.text);
 * ```
 * @throws InvalidRequestError with all invalid options, RequestTimeoutError and AbortError if a time limit or the
 *   signal ends it, and the error of the provider's failure. After the first answer the error has the usage of all
 *   answers, and the complete steps in `steps` and `messages`.
 */
export async function generate(options: GenerateOptions): Promise<GenerateResult> {
  const loop = openLoop(options, false);
  for (;;) {
    const next = await loop.next();
    if (next.done === true) return new GenerateResult(next.value);
  }
}

/**
 * Like `generate`, but yields the events of the model as they arrive. Returns at once: the first request is sent when
 * the result is first read, and reading it throws all errors. Leaving the loop early cancels everything in progress.
 *
 * ```ts
 * const result = stream({ model: "gpt-5.2", prompt: "Write a haiku." });
 * for await (const text of result.textStream) process.stdout.write(text);
 * const { usage } = await result.response();
 * ```
 */
export function stream(options: GenerateOptions): StreamResult {
  return new StreamResult(() => openLoop(options, true));
}

type Loop = AsyncGenerator<LoopItem, GenerateResultMessage>;

function openLoop(options: GenerateOptions, isStreamed: boolean): Loop {
  const loop = openToolLoop(toLoopOptions(options, isStreamed));
  const { onStepFinish } = options;
  if (onStepFinish === undefined) return loop;
  // If closing the loop fails, the pending read throws the same error.
  const abort = () => void loop.return(undefined as never).catch(() => {});
  return closeAtOnce(reportSteps(loop, onStepFinish), abort);
}

async function* reportSteps(
  loop: Loop,
  onStepFinish: NonNullable<GenerateOptions["onStepFinish"]>,
): AsyncGenerator<LoopItem, GenerateResultMessage> {
  try {
    for (;;) {
      const next = await loop.next();
      if (next.done === true) return next.value;
      if (next.value.case === "stepFinish") await onStepFinish(new StepResult(next.value.result));
      yield next.value;
    }
  } finally {
    await loop.return(undefined as never);
  }
}
