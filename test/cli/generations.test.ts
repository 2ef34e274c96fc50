/** Generations and runs of a whole sidecar, with the simulator behind it. */
import { createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { functionTool, textOf, userMessage } from "outrigger";
import {
  GenerationService,
  RunService,
  RunStatus,
  GenerateResult_StopReason as StopReason,
} from "outrigger/proto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { compileStopCondition } from "../../src/generation/contract/stop-condition/compile.ts";
import { STEPS, STOP_CONDITIONS } from "../generation/support/stop-conditions.ts";
import { killLeftovers, spawnOutrigger } from "./support/spawn-outrigger.ts";

const TOOL = functionTool({
  name: "work",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
});

let transport: Transport;

beforeAll(async () => {
  const demo = spawnOutrigger(["demo", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
  const [, address] = await demo.printed(/calls +(\S+)[\s\S]*Ctrl-C/);
  transport = createGrpcTransport({ baseUrl: `http://${address}` });
});
afterAll(killLeftovers);

/** The reason why a loop that continues after the steps of the table ends. */
async function continueUnder(stopWhen: string): Promise<StopReason | undefined> {
  const generations = createClient(GenerationService, transport);
  const request = { model: "sim-text", tools: [TOOL] };
  const messages = generations.continueTools({
    start: { options: { request, prompt: "Work.", maxToolRounds: 5, stopWhen } },
    previous: { stopReason: StopReason.TOOL_CALLS, steps: [...STEPS] },
  });
  for await (const { message } of messages) if (message.case === "result") return message.value.stopReason;
  return undefined;
}

it.each(STOP_CONDITIONS)("a sidecar stops after %s: %s", async (condition, isMet) => {
  expect(await continueUnder(condition)).toBe(isMet ? StopReason.STOP_WHEN : StopReason.COMPLETED);
});

it("a bundled sidecar refuses an invalid stop condition with the same message as the sources", async () => {
  const condition = "steps[0].response.id.matches('a(')";
  const failure = await compileStopCondition(condition, "start.options.stop_when").catch(String);
  const refusal = await continueUnder(condition).catch(String);
  const [, reason = ""] = /(stop_when: .*)/.exec(String(failure)) ?? [];
  expect(reason).toContain("expected a pattern in the syntax of RE2");
  expect(refusal).toContain(reason);
});

it("a sidecar runs a tool loop, and gives objects that match a schema", async () => {
  const generations = createClient(GenerationService, transport);
  const { promise: called, resolve: call } = Promise.withResolvers<string>();
  const request = { model: "sim-tools", tools: [TOOL], messages: [userMessage("How is Oslo?")] };
  async function* callerSide() {
    yield { message: { case: "start" as const, value: { options: { request, maxToolRounds: 2 } } } };
    const value = {
      toolCallId: await called,
      output: {
        case: "result" as const,
        value: { content: [{ part: { case: "text" as const, value: "fine" } }] },
      },
    };
    yield { message: { case: "output" as const, value } };
  }
  const cases = new Set<string | undefined>();
  for await (const { message } of generations.runTools(callerSide())) {
    cases.add(message.case);
    if (message.case === "execute") call(message.value.toolCall?.id ?? "");
    if (message.case === "result") expect(message.value.stopReason).toBe(StopReason.COMPLETED);
  }
  expect([...cases]).toEqual(["event", "execute", "stepFinish", "result"]);

  const schemaJson = JSON.stringify({
    type: "object",
    properties: { size: { type: "integer", minimum: 3 } },
    required: ["size"],
    additionalProperties: false,
  });
  const { result } = await generations.generateObject({
    options: { request: { model: "sim-text" }, prompt: "How large?" },
    object: { schemaJson },
  });
  expect(JSON.parse(result?.outputJson ?? "").size).toBeGreaterThanOrEqual(3);
});

it("a sidecar keeps runs, streams them and continues them", async () => {
  const runs = createClient(RunService, transport);
  const { id } = await runs.createRun({
    options: { request: { model: "sim-echo" }, prompt: "One" },
    background: true,
  });
  const events: (string | undefined)[] = [];
  for await (const { event } of runs.streamRun({ runId: id })) events.push(event.case);
  expect(events.at(-1)).toBe("run");
  const run = await runs.getRun({ runId: id });
  expect(run.status).toBe(RunStatus.COMPLETED);
  const next = await runs.createRun({
    options: { request: { model: "sim-echo" }, prompt: "Two" },
    previousRunId: id,
  });
  expect(textOf(next.steps[0]?.response)).toBe("Two");
  expect((await runs.listRuns({})).runs.map((each) => each.id)).toEqual([next.id, id]);
});
