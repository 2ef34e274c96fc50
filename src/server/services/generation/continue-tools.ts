import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { invalidField } from "../../../core/errors.ts";
import type { Attempt } from "../../../gen/outrigger/v1/attempt_pb.ts";
import {
  type GenerateResult,
  GenerateResultSchema,
  type StepResult,
  GenerateResult_StopReason as StopReason,
} from "../../../gen/outrigger/v1/generation_pb.ts";
import type {
  ContinueToolsRequest,
  ExecuteToolSchema,
} from "../../../gen/outrigger/v1/generation_service_pb.ts";
import type { ToolResult } from "../../../gen/outrigger/v1/message_pb.ts";
import { failedResult } from "../../../generation/loop/failed-result.ts";
import { currentCall, getOpenCalls, withProgress } from "../../../generation/loop/open-calls.ts";
import { NO_TOOLS } from "../../../generation/loop/step-tools.ts";
import { runToolLoop } from "../../../generation/loop/tool-loop.ts";
import type { GenerationCall } from "./generation-call.ts";
import { readPreviousSteps } from "./previous-steps.ts";
import type { RunToolsMessage } from "./run-tools.ts";
import { StreamMessages } from "./stream-messages.ts";
import { readStart, type ToolsStart } from "./tools-start.ts";

type Batch = readonly RunToolsMessage[];
type Execute = MessageInitShape<typeof ExecuteToolSchema>;

/** Serves ContinueTools. */
export async function* continueTools(
  call: GenerationCall,
  request: ContinueToolsRequest,
): AsyncGenerator<Batch> {
  const messages = new StreamMessages();
  try {
    yield* new Continuation(call, messages).run(request);
  } catch (thrown) {
    const failure = call.toFailure(thrown);
    const last = messages.ofFailure(failure);
    if (last.length > 0) yield last;
    throw failure.status;
  } finally {
    call.end();
  }
}

/** The state of a loop before a call of the model. */
interface Progress {
  readonly steps: readonly StepResult[];
  readonly attempts: readonly Attempt[];
}

/** One call of ContinueTools: it runs until the caller has to execute a tool, or the loop ends. */
class Continuation {
  readonly #call: GenerationCall;
  readonly #messages: StreamMessages;

  constructor(call: GenerationCall, messages: StreamMessages) {
    this.#call = call;
    this.#messages = messages;
  }

  async *run({ start: fields, previous, outputs }: ContinueToolsRequest): AsyncGenerator<Batch, void> {
    if (fields === undefined) throw invalidField("start", "is missing, expected the start of the loop");
    const start = await readStart(this.#call, fields);
    const { toolArguments } = start;
    const { maxSteps } = this.#call.bounds;
    const steps = readPreviousSteps(previous, outputs, { toolArguments, maxSteps });
    const result = { ...(previous ?? create(GenerateResultSchema)), steps: [...steps] };
    // Repaired calls are executed before the model is called again.
    const isWaiting = steps.slice(-1).some((step) => getOpenCalls(step).length > 0);
    let progress = isWaiting ? yield* this.#conclude(start, result) : result;
    while (progress !== undefined) progress = yield* this.#runLoop(start, !fields.omitEvents, progress);
  }

  /** Runs the loop until a step has calls. Returns its progress if all these calls have been answered here. */
  async *#runLoop(
    start: ToolsStart,
    isStreamed: boolean,
    { steps: previousSteps, attempts: previousAttempts }: Progress,
  ): AsyncGenerator<Batch, Progress | undefined> {
    const loop = runToolLoop({
      ...this.#call.loopOptions(start.generation),
      executor: NO_TOOLS,
      isStreamed,
      previousSteps,
      previousAttempts,
    });
    try {
      let item = await loop.next();
      for (; item.done !== true; item = await loop.next()) {
        if (item.value.case === "stepFinish") {
          this.#call.keep(item.value.result);
          // A step with open calls ends the loop.
          if (getOpenCalls(item.value.result).length > 0) continue;
        }
        yield this.#messages.ofItem(item.value);
      }
      return yield* this.#conclude(start, item.value);
    } finally {
      await loop.return(create(GenerateResultSchema));
    }
  }

  /**
   * Ends the call with a result, after the open calls of its last step. Returns the progress of the loop if all of
   * these calls are answered here, so that the model can be called again.
   */
  async *#conclude(start: ToolsStart, result: GenerateResult): AsyncGenerator<Batch, Progress | undefined> {
    const { steps, attempts, stopReason } = result;
    const last = steps.at(-1);
    if (last === undefined || getOpenCalls(last).length === 0) {
      yield [this.#messages.ofResult(result)];
      return undefined;
    }
    const isEnd = stopReason !== StopReason.TOOL_CALLS || start.generation.maxToolRounds === 0;
    const { executes, results } = isEnd ? NO_REACTION : getReaction(last, start);
    const done = withProgress(last, { results, repairedCalls: [] });
    const reached = { steps: [...steps.slice(0, -1), done], attempts };
    const isAnswered = getOpenCalls(done).length === 0;
    const createMessage = (message: NonNullable<RunToolsMessage["message"]>) =>
      this.#messages.at(steps.length, message);
    yield [
      ...executes.map((value) => createMessage({ case: "execute", value })),
      createMessage({ case: "stepFinish", value: { result: done } }),
      ...(isAnswered ? [] : [this.#messages.ofResult({ ...result, steps: reached.steps })]),
    ];
    return isAnswered ? reached : undefined;
  }
}

/** The reaction to the open calls of a step. */
interface Reaction {
  readonly executes: readonly Execute[];
  /** The results of calls that cannot be executed. */
  readonly results: readonly ToolResult[];
}

const NO_REACTION: Reaction = { executes: [], results: [] };

function getReaction(step: StepResult, { active, toolArguments, repairCalls }: ToolsStart): Reaction {
  const executes: Execute[] = [];
  const results: ToolResult[] = [];
  for (const call of getOpenCalls(step)) {
    if (!active.has(call.name)) continue;
    const toolCall = currentCall(call, step);
    const problem = toolArguments.toProblem(toolCall);
    if (problem === undefined || repairCalls) executes.push({ toolCall, problem: problem ?? "" });
    else results.push(failedResult(call, problem));
  }
  return { executes, results };
}
