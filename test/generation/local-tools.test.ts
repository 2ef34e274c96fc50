/** The functions of a program as tools: their arguments, their results, repairs, and what goes wrong in them. */
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  type ActiveTool,
  AuthenticationError,
  Client,
  customTool,
  functionTool,
  type GenerateOptions,
  generate,
  type InvalidCall,
  InvalidRequestError,
  imagePart,
  type Message,
  stream,
  type ToolContext,
  textPart,
} from "outrigger";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type ContentPart, ToolCallSchema } from "../../src/gen/outrigger/v1/message_pb.ts";
import { LocalExecutor } from "../../src/generation/local-executor.ts";
import { type ScriptedCall, ScriptedModel } from "./support/scripted-model.ts";

/** Runs a generation in which the model makes some calls and then answers. */
async function run(calls: readonly ScriptedCall[], options: Partial<GenerateOptions>) {
  const model = new ScriptedModel([calls, "done"]);
  const client = new Client({ providers: { scripted: model } });
  const result = await generate({ model: "m", prompt: "hi", client, ...options });
  const results = result.steps[0]?.toolResults ?? [];
  return { model, result, results, texts: results.map(({ content }) => content.map(textIn).join("")) };
}

function textIn({ part }: ContentPart): string {
  return part.case === "text" ? part.value : `<${part.case}>`;
}

const place = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

/** A tool that returns its arguments. */
function echo(parameters?: object): ActiveTool {
  return functionTool({ name: "echo", parameters, execute: (args) => args });
}

function callEcho(args: string): ScriptedCall[] {
  return [{ name: "echo", args }];
}

describe("The errors of a tool whose client hides them", () => {
  const failing = (hideErrors?: boolean) =>
    functionTool({
      name: "echo",
      parameters: place,
      hideErrors,
      execute: () => Promise.reject(new Error("10.0.0.7 refused")),
    });

  async function told(tool: ActiveTool, hideToolErrors: boolean, args = '{"city":"Oslo"}') {
    const model = new ScriptedModel([callEcho(args), "done"]);
    const client = new Client({ providers: { scripted: model }, hideToolErrors });
    const { steps } = await generate({ model: "m", prompt: "hi", client, tools: [tool] });
    const [result] = steps[0]?.toolResults ?? [];
    return { failed: result?.failed, text: result?.content.map(textIn).join("") };
  }

  it("are a neutral text for the model, unless the tool says otherwise", async () => {
    const hidden = { failed: true, text: "the tool failed" };
    const shown = { failed: true, text: "10.0.0.7 refused" };
    expect(await told(failing(), true)).toEqual(hidden);
    expect(await told(failing(true), false)).toEqual(hidden);
    expect(await told(failing(false), true)).toEqual(shown);
    expect(await told(failing(), false)).toEqual(shown);
  });

  it("are hidden even if the function returns them", async () => {
    const tool = functionTool({ name: "echo", execute: () => new Error("10.0.0.7 refused") });
    expect(await told(tool, true)).toEqual({ failed: true, text: "the tool failed" });
  });

  it("do not hide the mistakes in the arguments", async () => {
    expect((await told(failing(), true, "{}")).text).toContain("city");
  });
});

describe("The arguments of a tool", () => {
  it.each([
    ["a JSON Schema", place],
    ["a Standard Schema", z.object({ city: z.string() })],
    ["an asynchronous Standard Schema", z.object({ city: z.string().refine(async () => true) })],
    ["no schema", undefined],
  ])("are parsed, and checked by %s", async (_name, parameters) => {
    const { texts, results } = await run(callEcho('{"city":"Lima"}'), { tools: [echo(parameters)] });
    expect([texts, results[0]?.failed]).toEqual([['{"city":"Lima"}'], false]);
  });

  const prefix = 'the arguments of the call to "echo" are';

  it.each([
    ["a JSON Schema", place, "{}", /not valid for the schema: .*city/],
    ["a Standard Schema", z.object({ city: z.string() }), '{"city":1}', /not valid for the schema: city: /],
    ["JSON", place, '{"city":', /not valid JSON/],
    ["an object", undefined, "[1]", /not a JSON object/],
  ])("that are not %s are answered with their mistakes", async (_name, parameters, args, problem) => {
    const { texts, results } = await run(callEcho(args), { tools: [echo(parameters)] });
    expect(results[0]?.failed).toBe(true);
    expect(texts[0]).toMatch(problem);
    expect(texts[0]?.startsWith(prefix)).toBe(true);
  });

  it("are an empty object if the model writes nothing", async () => {
    expect((await run(callEcho(""), { tools: [echo()] })).texts).toEqual(["{}"]);
  });

  it("are converted by the schema's library", async () => {
    const parameters = z.object({ city: z.string().toUpperCase(), days: z.int().default(3) });
    const { texts } = await run(callEcho('{"city":"Lima"}'), { tools: [echo(parameters)] });
    expect(texts).toEqual(['{"city":"LIMA","days":3}']);
  });

  it("of a custom tool are the text that the model wrote", async () => {
    const tool = customTool({ name: "echo", execute: (text) => `${typeof text} ${text}` });
    expect((await run([{ name: "echo", text: "print(1)" }], { tools: [tool] })).texts).toEqual([
      "string print(1)",
    ]);
  });

  it("have the types of the schema", () => {
    const parameters = z.object({ city: z.string() });
    functionTool({ name: "a", parameters, execute: ({ city }) => city.length });
    // @ts-expect-error There is no such argument.
    functionTool({ name: "a", parameters, execute: ({ town }) => town });
  });

  it("with an invalid schema are refused before anything is sent", async () => {
    const call = run([], { tools: [echo({ type: "object", properties: { a: { type: "list" } } })] });
    await expect(call).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(call).rejects.toThrow("tools[0].parameters");
  });
});

describe("The result of a tool", () => {
  it.each([
    ["a text", () => "sunny", "sunny"],
    ["a promise", async () => "sunny", "sunny"],
    ["an object", () => ({ degrees: 21 }), '{"degrees":21}'],
    ["a list", () => [1, 2], "[1,2]"],
    ["a number", () => 0, "0"],
    ["a bigint", () => ({ big: 12345678901234567890n }), '{"big":12345678901234567890}'],
    ["null", () => null, "null"],
    ["nothing", () => undefined, ""],
    ["a part", () => imagePart(new Uint8Array(1)), "<image>"],
    ["parts", () => [textPart("see"), imagePart(new Uint8Array(1))], "see<image>"],
  ])("can be %s", async (_name, execute, want) => {
    const tools = [functionTool({ name: "echo", execute })];
    const { texts, results } = await run(callEcho("{}"), { tools });
    expect([texts, results[0]?.failed]).toEqual([[want], false]);
  });

  const circular: { self?: unknown } = {};
  circular.self = circular;

  it.each([
    ["an Error that is returned", () => new Error("closed"), /^closed$/],
    ["an Error that is thrown", () => Promise.reject(new RangeError("closed")), /^closed$/],
    [
      "an Error that is thrown at once",
      () => {
        throw new Error("closed");
      },
      /^closed$/,
    ],
    ["a text that is thrown", () => Promise.reject("closed"), /^closed$/],
    ["a value that is thrown", () => Promise.reject({ secret: 1 }), /^the tool failed$/],
    ["a value that is no JSON", () => circular, /circular/],
    ["a long message", () => Promise.reject(new Error("x".repeat(10_000))), /^x{2048}…$/],
    ["half a character", () => Promise.reject(new Error("\ud83d")), /^\ufffd$/],
  ])("is an error for %s", async (_name, execute, want) => {
    const tools = [functionTool({ name: "echo", execute })];
    const { texts, results } = await run(callEcho("{}"), { tools });
    expect(results[0]?.failed).toBe(true);
    expect(texts[0]).toMatch(want);
  });

  it("is an error after the time limit of a tool, whose signal is aborted; other tools continue", async () => {
    const signals: AbortSignal[] = [];
    const slow = functionTool({
      name: "slow",
      execute: (_args, { signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    });
    const options = { tools: [slow, echo()], timeout: { perToolMs: 20 } };
    const { texts, results } = await run([{ name: "slow" }, { name: "echo" }], options);
    expect(results.map(({ failed }) => failed)).toEqual([true, false]);
    expect(texts[0]).toBe("the tool exceeded its time limit of 20 ms");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

it("An executor answers a call of a tool that it does not have with an error result", async () => {
  const executor = new LocalExecutor([echo()], { perToolMs: 0, repairToolCall: undefined });
  const call = create(ToolCallSchema, { id: "c1", name: "other" });
  const context = { step: 1, messages: [], signal: new AbortController().signal };
  const [outcome] = await executor.execute([call], context);
  expect(outcome?.result).toMatchObject({ toolCallId: "c1", failed: true });
  expect(outcome?.result.content.map(textIn)).toEqual(['there is no tool "other"']);
});

it("passes on the events of a stream even if each step is reported", async () => {
  const client = new Client({ providers: { scripted: new ScriptedModel([callEcho("{}"), "done"]) } });
  const steps: number[] = [];
  const onStepFinish = ({ toolResults }: { toolResults: readonly unknown[] }) =>
    void steps.push(toolResults.length);
  const kinds = async (options: Partial<GenerateOptions>) => {
    const streamed = stream({ model: "m", prompt: "hi", client, tools: [echo()], ...options });
    const found: (string | undefined)[] = [];
    for await (const { event } of streamed) found.push(event.case);
    return found;
  };
  const told = await kinds({ onStepFinish });
  expect(steps).toEqual([1, 0]);
  expect(told.filter((kind) => kind === "finish")).toHaveLength(2);
  expect(told).toContain("textDelta");
});

it("does not end a tool early if its time limit is beyond the range of timers", async () => {
  const tool = functionTool({ name: "echo", execute: () => sleep(20, "done") });
  const { texts } = await run(callEcho("{}"), { tools: [tool], timeout: { perToolMs: 2 ** 31 } });
  expect(texts).toEqual(["done"]);
});

describe("The context of a tool", () => {
  it("has the conversation with the call, the id of the call, and a signal", async () => {
    const contexts: (ToolContext & { readonly count: number })[] = [];
    const tool = functionTool({
      name: "echo",
      execute: (_args, context) => void contexts.push({ ...context, count: context.messages.length }),
    });
    const { result } = await run(callEcho("{}"), { tools: [tool], system: "Be brief." });
    expect(contexts).toHaveLength(1);
    expect(contexts[0]).toMatchObject({ toolCallId: result.steps[0]?.toolCalls[0]?.id, count: 3 });
    expect(contexts[0]?.messages[2]).toBe(result.steps[0]?.response.message satisfies Message | undefined);
    expect(contexts[0]?.signal.aborted).toBe(false);
  });

  it("has a signal that aborts when the generation fails later, for work that continues after the result", async () => {
    const signals: AbortSignal[] = [];
    const tool = functionTool({ name: "echo", execute: (_args, { signal }) => void signals.push(signal) });
    const client = new Client({
      providers: { scripted: new ScriptedModel([callEcho("{}"), new AuthenticationError("no key")]) },
    });
    const failure = generate({ model: "m", prompt: "hi", client, tools: [tool] });
    await expect(failure).rejects.toThrow("no key");
    expect(signals[0]?.reason).toMatchObject({ message: "no key" });
  });
});

describe("repairToolCall", () => {
  const tools = [echo(place)];
  const repairs: readonly (readonly [
    string,
    (invalid: InvalidCall) => ReturnType<NonNullable<GenerateOptions["repairToolCall"]>>,
  ])[] = [
    ["JSON text", () => '{"city":"Lima"}'],
    ["an object", async () => ({ city: "Lima" })],
    ["the call", ({ call }) => ({ ...call, input: { case: "argumentsJson", value: '{"city":"Lima"}' } })],
  ];

  it.each(repairs)("may return %s, with which the tool is executed", async (_name, repairToolCall) => {
    const { texts, result, model } = await run(callEcho("{}"), { tools, repairToolCall });
    expect(texts).toEqual(['{"city":"Lima"}']);
    const [repaired] = result.steps[0]?.repairedCalls ?? [];
    expect(repaired).toMatchObject({ id: "call_1_0", name: "echo", input: { value: '{"city":"Lima"}' } });
    // The model sees its call unchanged.
    expect(model.requests[1]?.messages[1]).toBe(result.steps[0]?.response.message);
  });

  it("gets the mistake, once", async () => {
    const seen: InvalidCall[] = [];
    const repairToolCall = (invalid: InvalidCall) => {
      seen.push({ ...invalid, messages: [...invalid.messages] });
      return "{}";
    };
    const { texts, result } = await run(callEcho('{"town":"Lima"}'), { tools, repairToolCall });
    expect(seen).toHaveLength(1);
    expect(seen[0]?.problem).toContain("city");
    expect(seen[0]?.messages).toHaveLength(2);
    expect(texts[0]).toContain("not valid for the schema");
    expect(result.steps[0]?.repairedCalls).toEqual([]);
  });

  it.each([
    ["cannot repair the call", () => undefined, "not valid for the schema"],
    ["fails", () => Promise.reject(new Error("no repairer")), "no repairer"],
  ])("leaves an error result if it %s", async (_name, repairToolCall, want) => {
    const { texts, results } = await run(callEcho("{}"), { tools, repairToolCall });
    expect(results[0]?.failed).toBe(true);
    expect(texts[0]).toContain(want);
  });

  it("is not asked about valid calls", async () => {
    const repairToolCall = () => expect.fail("was asked");
    expect((await run(callEcho('{"city":"Lima"}'), { tools, repairToolCall })).texts).toHaveLength(1);
  });
});
