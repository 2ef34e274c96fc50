import { describe, expect, it, onTestFinished } from "vitest";
import { assistantMessage, textOf, toolCallsOf, userMessage } from "../../../src/core/message.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { LossPolicy, ToolChoice_Mode as Mode } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { AnthropicAdapter } from "../../../src/providers/anthropic-messages/adapter.ts";
import { completeAndStream, continued, requestFor } from "../../simulator/adapter-suite.ts";
import { useSimulator } from "../../simulator/support.ts";
import { build } from "./build-request.ts";

const shell = { tool: { case: "custom", value: { name: "shell", description: "Runs a script." } } } as const;

const calculator = {
  tool: {
    case: "custom",
    value: { name: "calculate", grammar: { syntax: 1, definition: "start: /[0-9+]+/" } },
  },
} as const;

const inputSchema = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

describe("a custom tool", () => {
  it("is sent as a function with one string argument, with a warning", async () => {
    const { body, warnings } = await build({ tools: [shell] });
    expect(body.tools).toEqual([{ name: "shell", description: "Runs a script.", input_schema: inputSchema }]);
    expect(warnings).toEqual(["adjusted_setting tools[0].custom"]);
  });

  it("loses its grammar, and the warning says so", async () => {
    const { body, messages } = await build({ tools: [shell, calculator] });
    expect(body.tools).toEqual([
      expect.objectContaining({ name: "shell" }),
      { name: "calculate", input_schema: inputSchema },
    ]);
    expect(messages[0]).not.toContain("grammar");
    expect(messages[1]).toContain("its grammar is not enforced");
  });

  it("can be the named tool of a tool choice", async () => {
    const toolChoice = { mode: Mode.NAMED, toolName: "shell" };
    const { body } = await build({ tools: [shell, calculator], toolChoice });
    expect(body.tool_choice).toEqual({ type: "tool", name: "shell" });
  });

  it("is refused under LOSS_POLICY_REFUSE", async () => {
    await expect(build({ tools: [shell], lossPolicy: LossPolicy.REFUSE })).rejects.toMatchObject({
      kind: ErrorKind.INVALID_REQUEST,
      message: expect.stringContaining("tools[0].custom") as string,
    });
  });

  it("has its earlier calls sent with their text as the argument", async () => {
    const call = { id: "a", name: "shell", input: { case: "text", value: "ls -l 🧭" } } as const;
    const { body } = await build({
      tools: [shell],
      messages: [
        userMessage("List the files."),
        assistantMessage([{ part: { case: "toolCall", value: call } }]),
        toolResult("a", "none"),
      ],
    });
    expect(body.messages).toMatchObject([
      {},
      { content: [{ type: "tool_use", id: "a", name: "shell", input: { input: "ls -l 🧭" } }] },
      { content: [{ type: "tool_result", tool_use_id: "a" }] },
    ]);
  });
});

describe("a call of a custom tool", () => {
  const simulator = useSimulator();

  it("comes back with JSON arguments, and is sent back with its result", async () => {
    const adapter = new AnthropicAdapter({ apiKey: "key-1", baseUrl: simulator().anthropicBaseUrl });
    onTestFinished(() => adapter.close());
    const request = requestFor("sim-tools", { tools: [shell] });
    for (const first of await completeAndStream(adapter, request)) {
      const [call] = toolCallsOf(first);
      expect(call).toMatchObject({
        name: "shell",
        argumentsInvalid: false,
        input: { case: "argumentsJson" },
      });
      expect(JSON.parse(call?.input.value ?? "")).toEqual({ input: expect.any(String) as string });
      expect(first.warnings.map(({ code, field }) => `${code} ${field}`)).toEqual([
        "adjusted_setting tools[0].custom",
      ]);
      expect(textOf(await adapter.complete(continued(request, first)))).toContain("rain");
    }
  });
});
