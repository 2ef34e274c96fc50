/** Checks of the tool loop of GenerationService. */
import assert from "node:assert/strict";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { toolCallsOf } from "../../src/core/message.ts";
import { toolChoice, toolInputOf } from "../../src/core/tools.ts";
import {
  type GenerateResult,
  GenerateResult_StopReason as StopReason,
} from "../../src/gen/outrigger/v1/generation_pb.ts";
import {
  ContinueToolsRequestSchema,
  type ExecuteTool,
  type RunToolsStartSchema,
} from "../../src/gen/outrigger/v1/generation_service_pb.ts";
import { onExecute, ToolCaller, textResult } from "../server/services/generation/support/tool-caller.ts";
import {
  checkLeaving,
  checkUsage,
  getErrorOptions,
  LONG_TOKENS,
  type Target,
  weatherTool,
} from "./target.ts";

/** A loop of one round: each call that is announced is executed once, and its result is in the step. */
export async function checkRunTools(target: Target): Promise<void> {
  const caller = new ToolCaller(onExecute((_execute, id) => caller.answer(id, textResult("sunny"))));
  const { executes, rejected, result, error } = await caller.start(oneRound(target)).run(target.transport);
  assert.equal(error, undefined);
  assert.equal(rejected.length, 0, "an output was rejected");
  checkLoop(result, executes);
}

/** The same in one call for each step. */
export async function checkContinueTools(target: Target): Promise<void> {
  const start = oneRound(target);
  const first = await continued(target, { start });
  assert.equal(first.result?.stopReason, StopReason.TOOL_CALLS);
  const output = textResult("sunny");
  const outputs = first.executes.map(({ toolCall }) => ({ toolCallId: toolCall?.id ?? "", output }));
  const second = await continued(target, { start, previous: first.result, outputs });
  assert.equal(second.executes.length, 0, "a second round was announced");
  checkLoop(second.result, first.executes);
}

/** A caller that disconnects while the model writes a call. */
export function checkLeavingTools(target: Target): Promise<void> {
  const tell = { name: "tell", description: "Tells a story.", parametersJson: LONG_STORY };
  const options = withTool(target, "Tell a long story about a ship.", tell, LONG_TOKENS);
  return checkLeaving(target.server, async ({ signal, leave }) => {
    let left: Promise<void> | undefined;
    const caller = new ToolCaller(({ message }) => {
      if (message.case === "event" && message.value.event.case === "toolCallDelta") left ??= leave();
    });
    signal.addEventListener("abort", () => caller.disconnect());
    const { error } = await caller.start({ options }).run(target.transport);
    await left;
    assert.match(error?.message ?? "no error", /abort/i);
  });
}

/** Enforced by the server, whose grammars repeat a rule 2000 times at most. More tokens than `LONG_TOKENS / 2`. */
const LONG_STORY = JSON.stringify({
  type: "object",
  properties: { story: { type: "string", minLength: 1900 } },
  required: ["story"],
});

function oneRound(target: Target): MessageInitShape<typeof RunToolsStartSchema> {
  const options = withTool(target, "How is the weather in Oslo?", weatherTool, 100);
  return { options: { ...options, maxToolRounds: 1 } };
}

/** Options of a loop in which the model must call the tool in every step: so small a model would not do so unasked. */
function withTool(target: Target, prompt: string, tool: typeof weatherTool, maxTokens: number) {
  const tools = [{ tool: { case: "function" as const, value: tool } }];
  return getErrorOptions(target, prompt, { maxTokens, tools, toolChoice: toolChoice("required") });
}

/** @param executes The announced calls. */
function checkLoop(result: GenerateResult | undefined, executes: readonly ExecuteTool[]): void {
  const { steps, attempts, totalUsage, stopReason } = result ?? assert.fail("no result");
  // The model should call the tool again, but may decide not to.
  const expected: readonly StopReason[] = [StopReason.MAX_TOOL_ROUNDS, StopReason.COMPLETED];
  assert.ok(expected.includes(stopReason), `stop reason ${stopReason}`);
  assert.deepEqual([steps.length, attempts.length], [2, 2], "steps and attempts");
  const calls = toolCallsOf(steps[0]?.response);
  assert.notEqual(calls.length, 0, "the model called no tool");
  assert.deepEqual(
    executes.map(({ toolCall }) => toolCall),
    calls,
  );
  for (const call of calls) assert.equal(typeof JSON.parse(toolInputOf(call)).city, "string");
  assert.deepEqual(
    steps.map(({ toolResults }) => toolResults.map(({ toolCallId, failed }) => [toolCallId, failed])),
    [calls.map(({ id }) => [id, false]), []],
  );
  checkUsage(totalUsage);
}

/** One call of ContinueTools. */
async function continued(target: Target, request: MessageInitShape<typeof ContinueToolsRequestSchema>) {
  const executes: ExecuteTool[] = [];
  let result: GenerateResult | undefined;
  for await (const { message } of target.generation.continueTools(
    create(ContinueToolsRequestSchema, request),
  )) {
    if (message.case === "execute") executes.push(message.value);
    if (message.case === "result") result = message.value;
  }
  return { executes, result };
}
