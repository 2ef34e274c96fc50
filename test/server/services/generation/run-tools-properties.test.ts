/** Properties of RunTools over random callers: slow, failing, out of order, silent, verbose, and disconnected. */
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { GenerateResult_StopReason as StopReason } from "../../../../src/gen/outrigger/v1/generation_pb.ts";
import {
  RejectedOutput_Reason as Reason,
  type RejectedOutput,
} from "../../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { Role } from "../../../../src/gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../../../src/gen/outrigger/v1/request_pb.ts";
import { functionTool } from "../../../../src/index.ts";
import type { Turn } from "../../../generation/support/scripted-model.ts";
import { useTestServers } from "../../support/test-server.ts";
import { type GenerationServer, startGenerationServer } from "./support/generation-server.ts";
import { onExecute, type RunOutcome, ToolCaller, textResult } from "./support/tool-caller.ts";

const servers = useTestServers();

const TOOLS = [functionTool({ name: "t", parameters: { type: "object", required: ["x"] } })];

/** The behaviour of a caller for one call. */
interface CallPlan {
  readonly isValid: boolean;
  readonly reaction: "answer" | "error" | "refuse" | "never" | "twice";
  readonly delayMs: number;
  /** Whether the repair of an invalid call is invalid too. */
  readonly isBadRepair: boolean;
  /** Whether an output for an id that nobody knows comes first. */
  readonly isNoisy: boolean;
}

interface Plan {
  readonly steps: readonly (readonly CallPlan[])[];
  /** After how many executes the caller ends its side, or disconnects. */
  readonly halfCloseAfter: number | undefined;
  readonly disconnectAfter: number | undefined;
  readonly omitEvents: boolean;
}

const callPlan: fc.Arbitrary<CallPlan> = fc.record({
  isValid: fc.boolean(),
  reaction: fc.oneof(
    { weight: 11, arbitrary: fc.constantFrom("answer", "error", "refuse", "twice") },
    { weight: 1, arbitrary: fc.constant("never") },
  ),
  delayMs: fc.constantFrom(0, 0, 1, 5),
  isBadRepair: fc.boolean(),
  isNoisy: fc.boolean(),
});

const arbitraryPlan: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(fc.array(callPlan, { minLength: 1, maxLength: 4 }), { maxLength: 3 }),
  halfCloseAfter: fc.option(fc.nat(5), { nil: undefined, freq: 3 }),
  disconnectAfter: fc.option(fc.nat(5), { nil: undefined, freq: 4 }),
  omitEvents: fc.boolean(),
});

/** Long enough for an answer on a busy machine, and waited for by each call that is never answered. */
const PER_TOOL_MS = 1000;

/** The calls of each step, by the name of the model, which names the plan. */
const plans = new Map<string, Plan>();

/** A model that makes the calls of its plan, and then answers. */
function toTurn({ model, messages }: Request): Turn {
  const step = messages.filter(({ role }) => role === Role.ASSISTANT).length;
  const calls = plans.get(model)?.steps[step];
  if (calls === undefined) return "done";
  return calls.map(({ isValid }, index) => ({
    name: "t",
    id: toId(step, index),
    args: isValid ? '{"x":1}' : "{}",
  }));
}

function toId(step: number, index: number): string {
  return `c${step}_${index}`;
}

function findCall({ steps }: Plan, id: string): CallPlan | undefined {
  const [step = "", index = ""] = id.slice(1).split("_");
  return steps[Number(step)]?.[Number(index)];
}

async function react(caller: ToolCaller, id: string, problem: string, call: CallPlan): Promise<void> {
  if (call.isNoisy) caller.answer(`nobody-${id}`, textResult("?"));
  if (call.delayMs > 0) await sleep(call.delayMs);
  if (problem !== "") {
    const value = call.isBadRepair ? "{}" : '{"x":2}';
    caller.answer(id, { case: "repairedCall", value: { input: { case: "argumentsJson", value } } });
    return;
  }
  if (call.reaction === "error") caller.answer(id, { case: "failure", value: { message: "broken" } });
  if (call.reaction === "refuse") caller.answer(id, { case: "refusal", value: { reason: "no" } });
  if (call.reaction === "answer" || call.reaction === "twice") caller.answer(id, textResult(`of ${id}`));
  if (call.reaction === "twice") caller.answer(id, textResult("again"));
}

let runs = 0;

async function runPlan(server: GenerationServer, plan: Plan): Promise<RunOutcome> {
  const model = `plan-${runs++}`;
  plans.set(model, plan);
  let executes = 0;
  const caller: ToolCaller = new ToolCaller(
    onExecute(({ problem }, id) => {
      const call = findCall(plan, id);
      if (call !== undefined) void react(caller, id, problem, call);
      if (executes++ === plan.halfCloseAfter) caller.end();
      if (executes - 1 === plan.disconnectAfter) caller.disconnect();
    }),
  );
  const timeouts = { perTool: { nanos: PER_TOOL_MS * 1e6 } };
  caller.start({
    options: { request: { model, tools: TOOLS }, prompt: "hi", maxToolRounds: 9, timeouts },
    repairCalls: true,
    omitEvents: plan.omitEvents,
  });
  const outcome = await caller.run(server.transport);
  plans.delete(model);
  return outcome;
}

/** Whether the tool's text must reach the model, provided that the caller stays to the end. */
function givesText({ isValid, isBadRepair, reaction }: CallPlan): boolean {
  return (isValid || !isBadRepair) && (reaction === "answer" || reaction === "twice");
}

function isLate(id: string) {
  return ({ toolCallId, reason }: RejectedOutput): boolean => toolCallId === id && reason === Reason.TOO_LATE;
}

function checkOutcome(plan: Plan, { executes, result, error, rejected }: RunOutcome): void {
  const announced = executes.map(({ toolCall, problem }) => `${toolCall?.id} ${problem === ""}`);
  expect(new Set(announced).size, "a call is announced once for repair and once for execution").toBe(
    announced.length,
  );
  if (error !== undefined) {
    expect(
      plan.disconnectAfter,
      `only a caller that disconnects gets an error, found ${error.message}`,
    ).toBeDefined();
    return;
  }
  expect(result).toMatchObject({ stopReason: StopReason.COMPLETED });
  expect(result?.steps).toHaveLength(plan.steps.length + 1);
  for (const [step, calls] of plan.steps.entries()) {
    const results = result?.steps[step]?.toolResults ?? [];
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(
      calls.map((_call, index) => toId(step, index)),
    );
    if (plan.halfCloseAfter !== undefined) continue;
    for (const [index, call] of calls.entries()) {
      const { failed, content } = results[index] ?? {};
      // On a machine that is busy for that long the answer came after the time limit, and was refused.
      if (givesText(call) && failed && rejected.some(isLate(toId(step, index)))) continue;
      expect(failed).toBe(!givesText(call));
      if (givesText(call)) expect(content?.[0]?.part.value).toBe(`of ${toId(step, index)}`);
    }
  }
  if (plan.halfCloseAfter !== undefined) return;
  const noisy = plan.steps.flat().filter(({ isNoisy }) => isNoisy);
  expect(rejected.length).toBeGreaterThanOrEqual(noisy.length === 0 ? 0 : 1);
}

it("gives each call one result, executes none twice and ends, whatever its callers send", async () => {
  const server = await startGenerationServer(servers, [toTurn]);
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryPlan, { minLength: 2, maxLength: 6 }), async (all) => {
      const outcomes = await Promise.all(all.map((plan) => runPlan(server, plan)));
      for (const [index, plan] of all.entries()) {
        const outcome = outcomes[index];
        if (outcome !== undefined) checkOutcome(plan, outcome);
      }
      await expect.poll(() => server.model.open).toBe(0);
    }),
    { numRuns: 25 },
  );
  const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
  expect(metrics).toContain("\noutrigger_inflight 0\n");
}, 120_000);
