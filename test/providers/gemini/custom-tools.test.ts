import { describe, expect, it, onTestFinished } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { textOf, toolCallsOf } from "../../../src/core/message.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { LossPolicy, ToolChoice_Mode as Mode } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason as Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { Grammar_Syntax } from "../../../src/gen/outrigger/v1/tool_pb.ts";
import { GeminiAdapter } from "../../../src/providers/gemini/adapter.ts";
import { completeAndStream, continued, requestFor } from "../../simulator/adapter-suite.ts";
import { useSimulator } from "../../simulator/support.ts";
import { getCodes, translate } from "./support.ts";

const plain = { tool: { case: "custom", value: { name: "run_sql", description: "Runs SQL." } } } as const;
const grammar = { syntax: Grammar_Syntax.REGEX, definition: "SELECT .+" };
const constrained = { tool: { case: "custom", value: { ...plain.tool.value, grammar } } } as const;

/** The function that replaces a custom tool. */
const declaration = {
  name: "run_sql",
  description: "Runs SQL.",
  parametersJsonSchema: {
    type: "object",
    properties: { input: { type: "string" } },
    required: ["input"],
    additionalProperties: false,
  },
};

const named = { mode: Mode.NAMED, toolName: "run_sql" };

describe("custom tools (P4)", () => {
  const simulator = useSimulator();

  it.each([
    ["without a grammar", plain, 'the tool is a function with the argument "input"'],
    ["with a grammar", constrained, 'with the argument "input"; its grammar is not enforced'],
  ])("are declared as functions with one text argument: %s", async (_, tool, message) => {
    const { body, warnings } = await translate({ tools: [tool] });
    expect(body.tools).toEqual([{ functionDeclarations: [declaration] }]);
    expect(getCodes(warnings)).toEqual(["adjusted_setting tools[0].custom"]);
    expect(warnings[0]?.message).toContain(message);
  });

  it.each([plain, constrained])("are refused under LOSS_POLICY_REFUSE", async (tool) => {
    const refused = translate({ tools: [tool], lossPolicy: LossPolicy.REFUSE });
    await expect(refused).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(refused).rejects.toThrow("tools[0].custom: the provider has no custom tools");
  });

  it("can be named by the tool choice", async () => {
    const { body } = await translate({ tools: [plain], toolChoice: named });
    expect(body.toolConfig).toEqual({
      functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["run_sql"] },
    });
  });

  it("are called with arguments, and the API takes their results", async () => {
    const adapter = new GeminiAdapter({ apiKey: "key-1", baseUrl: simulator().geminiBaseUrl });
    onTestFinished(() => adapter.close());
    const request = requestFor("sim-tools", { tools: [constrained], toolChoice: named });
    for (const response of await completeAndStream(adapter, request)) {
      expect(response.finishReason?.reason).toBe(Reason.TOOL_CALLS);
      const [call] = toolCallsOf(response);
      expect(call).toMatchObject({ name: "run_sql", input: { case: "argumentsJson" } });
      expect(JSON.parse(call?.input.value ?? "")).toEqual({ input: expect.any(String) });
      const next = continued({ ...request, toolChoice: undefined }, response, "3 rows");
      expect(textOf(await adapter.complete(next))).toContain("3 rows");
    }
  });

  it("of another provider's history have their text in the argument", async () => {
    const toolCall = { id: "c1", name: "run_sql", input: { case: "text", value: "SELECT 1" } } as const;
    const { body, warnings } = await translate({
      tools: [plain],
      messages: [
        { role: Role.USER, content: [{ part: { case: "text", value: "hi" } }] },
        { role: Role.ASSISTANT, content: [{ part: { case: "toolCall", value: toolCall } }] },
        { role: Role.TOOL, toolCallId: "c1", content: [{ part: { case: "text", value: "1" } }] },
      ],
    });
    expect(body.contents[1]?.parts[0]).toMatchObject({
      functionCall: { name: "run_sql", args: { input: "SELECT 1" } },
    });
    expect(getCodes(warnings)).toContain("converted_content messages[1].content[0].tool_call.arguments_json");
  });
});
