import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http2";
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  AbortError,
  assistantMessage,
  attemptsOf,
  Client,
  FinishReason_Reason,
  functionTool,
  generate,
  InvalidRequestError,
  type SDKError,
  ServerError,
  textOf,
  textPart,
  toSdkFailure,
  userMessage,
} from "outrigger-client";
import {
  ErrorKind,
  FailedGenerationSchema,
  GenerationService,
  InferenceErrorSchema,
  type RunToolsRequest,
  RunToolsRequestSchema,
} from "outrigger-client/proto";
import type { RunToolsResponseSchema } from "../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { OutputQueue } from "../src/output-queue.ts";

type ResponseInit = MessageInitShape<typeof RunToolsResponseSchema>;

/** Checks of generations that fail after a step was complete. */
export const failedGenerationChecks: readonly (readonly [name: string, check: () => Promise<void>])[] = [
  ["failed_generation", failedGeneration],
  ["failed_loop", failedLoop],
  ["aborted_loop", abortedLoop],
];

/** A loop over the stubs, whose condition fails after the second step. */
async function failedGeneration(): Promise<void> {
  await using client = new Client();
  const requests = new OutputQueue<RunToolsRequest>();
  const parametersJson = '{"type":"object"}';
  const options = {
    request: {
      model: "sim-tools:rounds=3",
      tools: [{ tool: { case: "function", value: { name: "get_weather", parametersJson } } } as const],
    },
    prompt: "How is the weather in Oslo?",
    maxToolRounds: 9,
    stopWhen: "steps.size() == 2 && steps[9].response.id == ''",
  };
  requests.push(create(RunToolsRequestSchema, { message: { case: "start", value: { options } } }));
  const stubs = createClient(GenerationService, client.transport);
  const error = await failureOfLoop(async () => {
    for await (const { message } of stubs.runTools(requests))
      if (message.case === "execute") requests.push(answerTo(message.value.toolCall?.id ?? ""));
  });
  assert(error instanceof InvalidRequestError);
  assert(error.steps.length > 0);
  assert.equal(attemptsOf(error).length, 2);
}

function answerTo(toolCallId: string): RunToolsRequest {
  const result = { toolCallId, content: [textPart("rain")] };
  const output = { toolCallId, output: { case: "result", value: result } } as const;
  return create(RunToolsRequestSchema, { message: { case: "output", value: output } });
}

async function failureOfLoop(run: () => Promise<void>): Promise<SDKError> {
  try {
    await run();
  } catch (thrown) {
    return toSdkFailure(thrown, undefined);
  }
  throw new Error("the loop did not fail");
}

/** The error has all steps that arrived, though the status has one of them only. */
async function failedLoop(): Promise<void> {
  const finishReason = { reason: FinishReason_Reason.STOP };
  const steps = ["one", "two"].map((text) => ({
    response: { message: assistantMessage(text), finishReason },
  }));
  async function* play(): AsyncGenerator<ResponseInit> {
    for (const [index, result] of steps.entries())
      yield { sequence: index, step: index + 1, message: { case: "stepFinish", value: { result } } };
    throw new ConnectError("the provider failed", Code.Unavailable, undefined, [
      detail(InferenceErrorSchema, { kind: ErrorKind.SERVER, usage: { totalTokens: 30 } }),
      detail(FailedGenerationSchema, { steps: steps.slice(0, 1), stepCount: 2, attempts: [{ step: 3 }] }),
    ]);
  }
  const tools = [functionTool({ name: "get_weather", execute: () => "rain" })];
  await withLoops(play, (client) =>
    assert.rejects(generate({ client, model: "m", prompt: "hi", tools }), (error) => {
      assert(error instanceof ServerError);
      assert.deepEqual(error.messages.map(textOf), ["one", "two"]);
      assert.equal(error.usage?.totalTokens, 30);
      assert.deepEqual(
        attemptsOf(error).map(({ step }) => step),
        [3],
      );
      return true;
    }),
  );
}

/** The program aborts within the tool of the second step. */
async function abortedLoop(): Promise<void> {
  await using client = new Client();
  const controller = new AbortController();
  let calls = 0;
  const tool = functionTool({
    name: "get_weather",
    execute() {
      calls += 1;
      if (calls === 2) controller.abort();
      return "rain";
    },
  });
  const aborted = generate({
    client,
    model: "sim-tools:rounds=3",
    messages: [userMessage("How is the weather in Oslo?")],
    tools: [tool],
    maxToolRounds: 9,
    signal: controller.signal,
  });
  await assert.rejects(aborted, (error) => {
    assert(error instanceof AbortError);
    const [step, ...others] = error.steps;
    assert.equal(others.length, 0);
    assert.equal(error.usage?.totalTokens, step?.response.usage?.totalTokens);
    return true;
  });
}

/** Calls a server whose tool loops are played by a function. */
async function withLoops(
  play: () => AsyncIterable<ResponseInit>,
  use: (client: Client) => Promise<void>,
): Promise<void> {
  const server = createServer(
    connectNodeAdapter({ routes: ({ rpc }) => void rpc(GenerationService.method.runTools, play) }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const bound = server.address();
  assert(typeof bound === "object" && bound !== null);
  await using client = new Client({ address: `127.0.0.1:${bound.port}` });
  try {
    await use(client);
  } finally {
    server.close();
  }
}

function detail<Desc extends DescMessage>(desc: Desc, value: MessageInitShape<Desc>) {
  return { desc, value };
}
