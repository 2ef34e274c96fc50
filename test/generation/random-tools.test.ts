/** Whatever tools do, no call is lost, answered twice or executed twice. */
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { Client, functionTool, type GenerateOptions, generate, type StepResult, stream } from "outrigger";
import { describe, expect, it, vi } from "vitest";
import { Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../src/gen/outrigger/v1/request_pb.ts";
import { type ScriptedCall, ScriptedModel } from "./support/scripted-model.ts";

/** The behaviour of a tool. It is the name of the tool, so that a script of calls is a script of behaviours. */
const BEHAVIOURS = {
  answers: async () => "fine",
  answers_at_once: () => ({ degrees: 21 }),
  answers_late: () => new Promise((resolve) => setTimeout(resolve, 4, "late")),
  answers_in_the_next_turn: () => new Promise((resolve) => setImmediate(resolve, "soon")),
  fails: async () => Promise.reject(new Error("closed")),
  throws: () => {
    throw new TypeError("no such place");
  },
  never_answers: () => new Promise(() => {}),
  answers_after_its_time: () => new Promise((resolve) => setTimeout(resolve, 100, "too late")),
  returns_a_cycle: () => {
    const value: { self?: unknown } = {};
    value.self = value;
    return value;
  },
} as const satisfies Readonly<Record<string, () => unknown>>;

type Behaviour = keyof typeof BEHAVIOURS;

const NAMES = Object.keys(BEHAVIOURS) as Behaviour[];

/** Tools whose calls end without an error result. */
const GOOD: ReadonlySet<string> = new Set<Behaviour>([
  "answers",
  "answers_at_once",
  "answers_late",
  "answers_in_the_next_turn",
]);

/** Longer than tools that answer in time take. */
const PER_TOOL_MS = 80;

/** A call of a tool, of one that does not exist, or with arguments that do not parse. */
const call: fc.Arbitrary<ScriptedCall> = fc.record({
  name: fc.constantFrom(...NAMES, "unknown"),
  args: fc.constantFrom("{}", "{}", '{"cut":'),
});

const rounds = fc.array(fc.array(call, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 });

const ways = [
  ["generate()", generate],
  ["stream()", (options: GenerateOptions) => stream(options).result()],
] as const;

/** Timers pass at once, in their order, so that neither a busy machine nor a long time limit changes anything. */
async function withoutWaiting<Value>(work: () => Promise<Value>): Promise<Value> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let isDone = false;
  const done = work().finally(() => {
    isDone = true;
  });
  try {
    while (!isDone) {
      await nextTurn();
      if (!isDone) await vi.advanceTimersByTimeAsync(1);
    }
    return await done;
  } finally {
    vi.useRealTimers();
  }
}

describe.each(ways)("Tools of random behaviour in %s", (_way, run) => {
  it("are each executed once, and answered once in the order of the calls", async () => {
    await fc.assert(
      fc.asyncProperty(rounds, async (script) => {
        const executed: string[] = [];
        const tools = NAMES.map((name) =>
          functionTool({
            name,
            execute(_args, { toolCallId }) {
              executed.push(toolCallId);
              return BEHAVIOURS[name]();
            },
          }),
        );
        const model = new ScriptedModel([...script, "done"]);
        const client = new Client({ providers: { scripted: model } });
        const timeout = { perToolMs: PER_TOOL_MS };
        const options = { model: "m", prompt: "hi", client, tools, timeout, maxToolRounds: 9 };
        const { steps, text } = await withoutWaiting(() => run(options));
        expect(text).toBe("done");
        expect(steps).toHaveLength(script.length + 1);
        for (const [index, step] of steps.entries()) verifyStep(step, script[index] ?? []);
        const runnable = steps.flatMap(({ toolCalls }) => toolCalls.filter(isRunnable).map(({ id }) => id));
        expect(executed.toSorted()).toEqual(runnable.toSorted());
        verifyConversation(model.requests.at(-1));
      }),
      { numRuns: 40 },
    );
  }, 60_000);
});

function isRunnable({ name, argumentsInvalid }: StepResult["toolCalls"][number]): boolean {
  return name !== "unknown" && !argumentsInvalid;
}

function verifyStep({ toolCalls, toolResults }: StepResult, calls: readonly ScriptedCall[]): void {
  expect(toolCalls.map(({ name }) => name)).toEqual(calls.map(({ name }) => name));
  expect(toolResults.map(({ toolCallId }) => toolCallId)).toEqual(toolCalls.map(({ id }) => id));
  const failed = calls.map(({ name, args }) => !GOOD.has(name) || args !== "{}");
  expect(toolResults.map(({ failed }) => failed)).toEqual(failed);
}

/** Every call has exactly one result, after it. */
function verifyConversation(request: Request | undefined): void {
  const open = new Set<string>();
  for (const { role, content } of request?.messages ?? [])
    for (const { part } of content) {
      if (part.case === "toolCall") expect(open.has(part.value.id)).toBe(false);
      if (part.case === "toolCall") open.add(part.value.id);
      if (part.case === "toolResult")
        expect([role, open.delete(part.value.toolCallId)]).toEqual([Role.TOOL, true]);
    }
  expect([...open]).toEqual([]);
}
