/** Answers with `store: false`, whose reasoning is put back if the client returns only the call. */
import { create } from "@bufbuild/protobuf";
import type OpenAI from "openai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import { DEFAULT_KEEP_MS, RecentAnswers } from "../../../src/endpoints/answers/recent-answers.ts";
import { ResponseCache } from "../../../src/endpoints/answers/response-cache.ts";
import { type Message, MessageSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ListRunsRequestSchema } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import { ThreadMessageSchema } from "../../../src/gen/outrigger/v1/thread_pb.ts";
import type { RunEngine } from "../../../src/runs/run-engine.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";

const servers = useTestServers();

const tools = [
  { type: "function" as const, name: "get_weather", parameters: { type: "object" }, strict: false },
];
const question = { role: "user" as const, content: "Weather in Oslo?" };

type Output = OpenAI.Responses.Response["output"];

/** Asks for a call without storing anything, over HTTP or as a stream. */
async function callTool({ openai }: ApiServer, model: string, stream = false): Promise<Output> {
  const body = { model, tools, input: [question], store: false };
  if (!stream) return (await openai.responses.create(body)).output;
  const events = await openai.responses.create({ ...body, stream: true });
  for await (const event of events) if (event.type === "response.completed") return event.response.output;
  throw new Error("the stream has no response");
}

/** The items that a client returns which knows nothing of reasoning. */
function withoutReasoning(
  output: Output,
  change: { readonly name?: string; readonly arguments?: string } = {},
) {
  const calls = output.filter((item) => item.type === "function_call");
  return [
    question,
    ...calls.map(({ call_id, name, arguments: args }) => ({
      type: "function_call" as const,
      call_id,
      name,
      arguments: args,
      ...change,
    })),
    ...calls.map(({ call_id }) => ({ type: "function_call_output" as const, call_id, output: "Rain." })),
  ];
}

function getEncrypted(body: unknown): readonly string[] {
  return JSON.stringify(body).match(/"encrypted_content":"[^"]+"/g) ?? [];
}

describe("A call that is returned without its reasoning, with store: false", () => {
  it.each([
    ["whole", false],
    ["stream", true],
  ])("gets the reasoning back: %s", async (_, stream) => {
    const api = await startApi(servers);
    const model = "anthropic/sim-reasoning";
    const input = withoutReasoning(await callTool(api, model, stream));
    const second = await api.openai.responses.create({ model, tools, input, store: false });
    expect(second.output_text).toContain("Rain.");
    expect(JSON.stringify(api.simulator.requests.at(-1)?.body)).toMatch(
      /"type":"thinking".*"type":"tool_use"/,
    );
    expect((await api.engine.listRuns("", create(ListRunsRequestSchema))).runs).toEqual([]);
  });

  it.each(["openai", "anthropic", "gemini", "compatible"])(
    "is sent to %s as if the client had returned all items",
    async (provider) => {
      const api = await startApi(servers);
      const model = `${provider}/sim-reasoning`;
      const output = await callTool(api, model);
      const input = withoutReasoning(output);
      await api.openai.responses.create({ model, tools, input, store: false });
      const sent = api.simulator.requests.at(-1)?.body;
      const whole = [question, ...output, ...input.slice(-1)] as OpenAI.Responses.ResponseInput;
      await api.openai.responses.create({ model, tools, input: whole, store: false });
      const expected = api.simulator.requests.at(-1)?.body;
      // OpenAI gets as it is what its client returns itself.
      if (provider !== "openai") expect(sent).toEqual(expected);
      expect(getEncrypted(sent)).toEqual(getEncrypted(expected));
      expect(getEncrypted(sent)).toHaveLength(provider === "openai" ? 1 : 0);
    },
  );

  it("is refused by the provider if the sidecar is configured to keep nothing", async () => {
    const api = await startApi(servers, { keepUnstoredMs: 0 });
    const model = "anthropic/sim-reasoning";
    const input = withoutReasoning(await callTool(api, model));
    await expect(api.openai.responses.create({ model, tools, input, store: false })).rejects.toMatchObject({
      status: 400,
    });
  });

  it.each([
    ["another tool", { name: "get_time" }],
    ["other arguments", { arguments: '{"city":"Rome"}' }],
  ])("gets nothing if the id names a call of %s", async (_, change) => {
    const api = await startApi(servers);
    const model = "compatible/sim-reasoning";
    const input = withoutReasoning(await callTool(api, model), change);
    await api.openai.responses.create({ model, tools, input, store: false });
    expect(JSON.stringify(api.simulator.requests.at(-1)?.body)).not.toContain("reasoning_content");
  });

  it("does not need the store", async () => {
    const wrapEngine = (engine: RunEngine): RunEngine => {
      const fail = () => Promise.reject(new Error("the store was asked"));
      const threads = { ...engine.threads, getMessage: fail, findCall: fail, listMessages: fail };
      const createRun = engine.createRun.bind(engine);
      return Object.assign(Object.create(engine), {
        threads,
        createRun,
      });
    };
    const api = await startApi(servers, { wrapEngine });
    const model = "anthropic/sim-reasoning";
    const output = await callTool(api, model);
    const input = [
      question,
      ...output,
      ...withoutReasoning(output).slice(-1),
    ] as OpenAI.Responses.ResponseInput;
    const second = await api.openai.responses.create({ model, tools, input, store: false });
    expect(second.output_text).toContain("Rain.");
  });
});

describe("The recent answers", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const state = { provider: "anthropic", model: "m", dataJson: "{}" };

  function answer(callId: string, text = ""): Message {
    return create(MessageSchema, {
      content: [
        { part: { case: "reasoning", value: { text } }, providerState: state },
        { part: { case: "toolCall", value: { id: callId, name: "f" } } },
      ],
    });
  }

  function open({ keepMs = 1000, bytes = 10_000, isShared = false } = {}) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const account = new MemoryAccount({ limits: { maxKeptMemoryBytes: bytes }, isShared: () => isShared });
    const answers = new RecentAnswers(new ResponseCache(account.kept), { keepMs });
    const find = async (call: string, owner = "") => (await answers.createSource(owner).findCall(call))?.id;
    return { answers, find, pool: account.kept };
  }

  it("are not found after their time, even if they were not removed yet", async () => {
    let now = 0;
    const memory = new ResponseCache(new MemoryAccount().kept);
    const answers = new RecentAnswers(memory, { keepMs: DEFAULT_KEEP_MS, now: () => now });
    answers.add("", "msg_1", answer("call"));
    const source = answers.createSource("");
    now = 3_599_999;
    expect((await source.findCall("call"))?.id).toBe("msg_1");
    now += 3_600_000;
    expect(await source.findCall("call")).toBeUndefined();
    now -= 1;
    await expect(source.getMessage("msg_1")).rejects.toMatchObject({ kindName: "NOT_FOUND" });
    answers.close();
  });

  it("are those among the messages of a run, unless nothing is kept", async () => {
    const { answers, find } = open();
    answers.createListener("a")?.([
      create(ThreadMessageSchema, { id: "msg_0" }),
      create(ThreadMessageSchema, { id: "msg_1", message: answer("call") }),
    ]);
    expect(await find("call", "a")).toBe("msg_1");
    expect(open({ keepMs: 0 }).answers.createListener("a")).toBeUndefined();
  });

  it("are found by the id of their message and of their first call, for the same access key", async () => {
    const { answers, find } = open();
    answers.add("a", "msg_1", answer("call"));
    expect(await find("call", "a")).toBe("msg_1");
    expect(await find("call", "b")).toBeUndefined();
    expect((await answers.createSource("a").getMessage("msg_1")).message).toEqual(answer("call"));
    await expect(answers.createSource("b").getMessage("msg_1")).rejects.toThrow("does not exist");
  });

  it("are those with a call and state of the provider", async () => {
    const { answers, find, pool } = open();
    const text = { part: { case: "text" as const, value: "x" }, providerState: state };
    answers.add("", "msg_1", create(MessageSchema, { content: [text] }));
    const call = { part: { case: "toolCall" as const, value: { id: "call" } } };
    answers.add("", "msg_2", create(MessageSchema, { content: [call] }));
    expect(await find("call")).toBeUndefined();
    expect(pool.usedBytes).toBe(0);
  });

  it("get an id only if they are kept", async () => {
    const { answers, find } = open();
    const createId = vi.fn(() => "msg_1");
    answers.add("", createId, create(MessageSchema, { content: [] }));
    expect(createId).not.toHaveBeenCalled();
    answers.add("", createId, answer("call"));
    expect(await find("call")).toBe("msg_1");
  });

  it("are dropped some time after their last use, also if nobody asks", async () => {
    const { answers, find, pool } = open();
    answers.add("", "msg_1", answer("one"));
    vi.advanceTimersByTime(600);
    answers.add("", "msg_2", answer("two"));
    expect(await find("one")).toBe("msg_1");
    vi.advanceTimersByTime(999);
    expect(await find("one")).toBe("msg_1");
    const used = pool.usedBytes;
    vi.advanceTimersByTime(1);
    expect(pool.usedBytes).toBe(used / 2);
    expect(await find("two")).toBeUndefined();
    vi.advanceTimersByTime(1000);
    expect(pool.usedBytes).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("drop the least recently used answer if there is no memory for another", async () => {
    const { answers, find, pool } = open({ bytes: 3500 });
    for (const id of ["1", "2", "3"]) answers.add("", `msg_${id}`, answer(id));
    expect(await find("1")).toBe("msg_1");
    answers.add("", "msg_4", answer("4"));
    expect(await Promise.all(["1", "2", "3", "4"].map((id) => find(id)))).toEqual([
      "msg_1",
      undefined,
      "msg_3",
      "msg_4",
    ]);
    expect(pool.usedBytes).toBeLessThanOrEqual(3500);
  });

  it("of one access key do not evict those of other keys", async () => {
    const { answers, find } = open({ bytes: 4800, isShared: true });
    answers.add("a", "msg_0", answer("0"));
    for (const id of ["1", "2", "3", "4"]) answers.add("b", `msg_${id}`, answer(id));
    expect(await find("0", "a")).toBe("msg_0");
    expect(await find("1", "b")).toBeUndefined();
    expect(await find("4", "b")).toBe("msg_4");
  });

  it("do not keep an answer that is too large", async () => {
    const { answers, find } = open({ bytes: 64 * 1024 * 1024 });
    answers.add("", "msg_1", answer("large", "x".repeat(5 * 1024 * 1024)));
    expect(await find("large")).toBeUndefined();
  });

  it("keep the latest of two answers with the same id, and take the memory of one", async () => {
    const { answers, find, pool } = open();
    answers.add("", "msg_1", answer("call_0"));
    const used = pool.usedBytes;
    answers.add("", "msg_1", answer("call_1"));
    expect(pool.usedBytes).toBe(used);
    expect([await find("call_0"), await find("call_1")]).toEqual([undefined, "msg_1"]);
  });

  it("keep the latest of two answers whose calls have the same id", async () => {
    const { answers, find } = open();
    answers.add("", "msg_1", answer("call_0"));
    vi.advanceTimersByTime(500);
    answers.add("", "msg_2", answer("call_0"));
    expect(await find("call_0")).toBe("msg_2");
    vi.advanceTimersByTime(501);
    expect(await find("call_0")).toBe("msg_2");
  });
});
