import { create } from "@bufbuild/protobuf";
import { AbortError, textPart } from "outrigger";
import { describe, expect, it } from "vitest";
import { MemoryAccount } from "../../src/core/memory-account.ts";
import { type ToolCall, ToolCallSchema, ToolResultSchema } from "../../src/gen/outrigger/v1/message_pb.ts";
import { McpServerSchema, McpToolSchema } from "../../src/gen/outrigger/v1/run_pb.ts";
import { ConcurrencyLimiter } from "../../src/runs/limits.ts";
import type { OpenedServerTools } from "../../src/runs/server-tools.ts";
import { NO_SERVER_TOOLS, ServerToolExecutor } from "../../src/runs/server-tools.ts";

const never = new AbortController().signal;

/** An executor of the tools `safe` and `risky`, which notes what happens. */
function createExecutor(
  execute: (call: ToolCall) => Promise<unknown> = async () => undefined,
  places = 8,
  onStart = () => {},
) {
  const seen: unknown[] = [];
  const tools = ["safe", "risky"].map((name) =>
    create(McpToolSchema, { name, toolName: `tool_${name}`, serverLabel: "desk" }),
  );
  const opened = {
    find: (name: string) => tools.find((tool) => tool.name === name),
    needsApproval: (name: string) => name === "risky",
    execute: async (call: ToolCall, _signal: AbortSignal, timeoutMs?: number) => {
      seen.push(["execute", call.name, timeoutMs]);
      await execute(call);
      const failed = call.name === "risky";
      return create(ToolResultSchema, { toolCallId: call.id, content: [textPart("done")], failed });
    },
  };
  const limiter = new ConcurrencyLimiter(
    "max_tool_executions",
    places,
    "tool executions",
    new MemoryAccount(),
  );
  const executor = new ServerToolExecutor({
    tools: opened as unknown as OpenedServerTools,
    limiter,
    timeoutMs: 50,
    onStart: async (step, { value }) => {
      await Promise.resolve();
      seen.push(["start", step, value]);
      onStart();
    },
    onFinish: (step, { value }) => void seen.push(["finish", step, value]),
  });
  return { executor, seen, limiter };
}

const call = (name: string, fields = {}) => create(ToolCallSchema, { id: `call_${name}`, name, ...fields });
const context = { step: 3, signal: never } as Parameters<ServerToolExecutor["execute"]>[1];

describe("the executor of server tools", () => {
  it("applies to calls that need no approval", () => {
    const { executor } = createExecutor();
    expect(["safe", "risky", "unknown"].map((name) => executor.isActive(name))).toEqual([true, false, false]);
  });

  it("reports a start before the call, and its result after it", async () => {
    const { executor, seen, limiter } = createExecutor();
    const [outcome] = await executor.execute([call("safe")], context);
    expect(outcome).toMatchObject({ result: { toolCallId: "call_safe", failed: false } });
    expect(seen).toMatchObject([
      [
        "start",
        3,
        { call: { id: "call_safe" }, serverLabel: "desk", toolName: "tool_safe", approvalRequestId: "" },
      ],
      ["execute", "safe", 50],
      ["finish", 3, { result: { toolCallId: "call_safe" }, serverLabel: "desk", toolName: "tool_safe" }],
    ]);
    expect(limiter.free).toBe(8);
  });

  it("executes approved calls outside of a step, with the results in their order", async () => {
    const { executor, seen } = createExecutor();
    const results = await executor.executeApproved([call("risky"), call("safe"), call("unknown")], never);
    expect(results.map(({ toolCallId, failed }) => [toolCallId, failed])).toEqual([
      ["call_risky", true],
      ["call_safe", false],
      ["call_unknown", false],
    ]);
    expect(seen[0]).toMatchObject(["start", 0, { approvalRequestId: "call_risky", toolName: "tool_risky" }]);
    expect(seen[2]).toMatchObject(["start", 0, { serverLabel: "", toolName: "" }]);
  });

  it.each([
    [new Error("the disk is full"), "the disk is full"],
    [new Error(""), "the tool failed"],
    [new AbortError("the session ended"), "the tool failed"],
    ["a text", "the tool failed"],
  ])("gives the model an error result if a call fails: %s", async (thrown, text) => {
    const { executor, limiter } = createExecutor(() => Promise.reject(thrown));
    const [outcome] = await executor.execute([call("safe")], context);
    expect(outcome).toMatchObject({ result: { failed: true, content: [{ part: { value: text } }] } });
    expect(limiter.free).toBe(8);
  });

  it("calls no tool with arguments that are not valid", async () => {
    const { executor, seen } = createExecutor();
    const [outcome] = await executor.execute([call("safe", { argumentsInvalid: true })], context);
    expect(outcome).toMatchObject({
      result: {
        failed: true,
        content: [{ part: { value: "the arguments of the call are not valid JSON" } }],
      },
    });
    expect(seen).not.toContainEqual(["execute", "safe", 50]);
  });

  it("calls no tool if the signal is aborted while the start of the call is being written", async () => {
    const stop = new AbortController();
    const { executor, seen, limiter } = createExecutor(undefined, 8, () => stop.abort());
    const calling = executor.execute([call("safe")], { ...context, signal: stop.signal });
    await expect(calling).rejects.toMatchObject({ kindName: "ABORT" });
    expect(seen).toMatchObject([["start", 3, { toolName: "tool_safe" }]]);
    expect(limiter.free).toBe(8);
  });

  it("ends with the signal, before a call, during it, and while it waits for a place", async () => {
    const stop = new AbortController();
    const aborted = { ...context, signal: stop.signal };
    const { executor, limiter, seen } = createExecutor(() => new Promise(() => {}), 1);
    const running = executor.execute([call("safe")], aborted);
    const waiting = executor.execute([call("safe")], aborted);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    stop.abort();
    await expect(running).rejects.toMatchObject({ kindName: "ABORT" });
    await expect(waiting).rejects.toMatchObject({ kindName: "ABORT" });
    await expect(executor.execute([call("safe")], aborted)).rejects.toMatchObject({ kindName: "ABORT" });
    expect(limiter.free).toBe(1);
    expect(seen.filter((entry) => Array.isArray(entry) && entry[0] === "execute")).toHaveLength(1);
    expect(seen.filter((entry) => Array.isArray(entry) && entry[0] === "finish")).toEqual([]);
  });
});

describe("a sidecar without MCP servers", () => {
  it("accepts no server, and opens none", async () => {
    const refused = "mcp_servers: this sidecar does not allow MCP servers";
    expect(() => NO_SERVER_TOOLS.check([])).not.toThrow();
    expect(() => NO_SERVER_TOOLS.check([create(McpServerSchema)])).toThrow(refused);
    await expect(NO_SERVER_TOOLS.open([], { signal: never })).rejects.toThrow(refused);
  });
});
