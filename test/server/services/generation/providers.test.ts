/** Loops over real sockets to every provider, with the simulator at their other end. */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../../../simulator/index.ts";
import { Client } from "../../../../src/client/client.ts";
import {
  type GenerateResult,
  GenerateResult_StopReason as StopReason,
} from "../../../../src/gen/outrigger/v1/generation_pb.ts";
import {
  GenerationService,
  type RunToolsResponse,
} from "../../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { functionTool, textOf } from "../../../../src/index.ts";
import { columns } from "../../../providers/support/columns.ts";
import { useTestServers } from "../../support/test-server.ts";
import { onExecute, ToolCaller, textResult } from "./support/tool-caller.ts";

const servers = useTestServers();
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

const TOOLS = [
  functionTool({
    name: "get_weather",
    description: "The weather in a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  }),
];

describe.each(columns)("with $title", ({ connect }) => {
  async function start() {
    simulator.clearRequests();
    const adapter = connect(simulator.url, { apiKey: "any" });
    const client = new Client({ providers: { [adapter.name]: adapter }, fieldPaths: "contract" });
    const server = await servers.start({}, { inference: client });
    servers.onEnd(() => client.close());
    return createGrpcTransport({ baseUrl: server.url });
  }
  const getErrorOptions = (model: string) => ({
    request: { model, tools: TOOLS },
    prompt: "What is the weather in Paris, Oslo and Rome?",
    maxToolRounds: 5,
  });

  it("RunTools runs three parallel calls, and the model answers from their results", async () => {
    const transport = await start();
    const caller: ToolCaller = new ToolCaller(
      onExecute((_execute, id) => caller.answer(id, textResult("18 degrees"))),
    );
    const { executes, result, error } = await caller
      .start({ options: getErrorOptions("sim-tools:calls=3") })
      .run(transport);
    expect(error).toBeUndefined();
    expect(executes).toHaveLength(3);
    expect(result).toMatchObject({
      stopReason: StopReason.COMPLETED,
      steps: [{ toolResults: [{}, {}, {}] }, {}],
    });
    expect(textOf(result?.response)).not.toBe("");
    expect(simulator.requests).toHaveLength(2);
  });

  it("ContinueTools does the same in two calls", async () => {
    const client = createClient(GenerationService, await start());
    const options = { start: { options: getErrorOptions("sim-tools:calls=3") } };
    const step = async (request: Parameters<typeof client.continueTools>[0]) => {
      const messages: RunToolsResponse["message"][] = [];
      for await (const { message } of client.continueTools(request)) messages.push(message);
      const result = messages.flatMap((message): GenerateResult[] =>
        message.case === "result" ? [message.value] : [],
      )[0];
      return {
        executes: messages.flatMap((message) => (message.case === "execute" ? [message.value] : [])),
        result,
      };
    };
    const first = await step(options);
    const outputs = first.executes.map(({ toolCall }) => ({
      toolCallId: toolCall?.id ?? "",
      output: textResult("18 degrees"),
    }));
    if (first.result === undefined) throw new Error("the first call gave no result");
    const { result } = await step({ ...options, previous: first.result, outputs });
    expect(outputs).toHaveLength(3);
    expect(result).toMatchObject({ stopReason: StopReason.COMPLETED });
    expect(simulator.requests).toHaveLength(2);
  });

  it.each([
    ["before the model answers", "sim-long:delay_ms=60000", undefined],
    ["while the model writes text", "sim-long:tokens=5000,rate=50", "textDelta"],
    ["while the model writes a tool call", "sim-tools:rate=3", "toolCallDelta"],
  ])(
    "a caller that disconnects %s closes the provider's connection at once",
    async (_phase, model, event) => {
      const transport = await start();
      const caller: ToolCaller = new ToolCaller(({ message }) => {
        if (message.case === "event" && message.value.event.case === event) caller.disconnect();
      });
      const ended = caller.start({ options: getErrorOptions(model) }).run(transport);
      await simulator.waitForRequest();
      if (event === undefined) caller.disconnect();
      expect(await simulator.waitForClose()).toMatchObject({ aborted: true });
      expect((await ended).result).toBeUndefined();
      expect(simulator.requests).toHaveLength(1);
    },
  );
});
