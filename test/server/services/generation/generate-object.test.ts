import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { invalidField } from "../../../../src/core/errors.ts";
import { ErrorKind, InferenceErrorSchema } from "../../../../src/gen/outrigger/v1/error_pb.ts";
import {
  GenerationService,
  ObjectFormat_Strategy as Strategy,
  type StreamObjectResponse,
} from "../../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { ResponseFormat_Type, ToolChoice_Mode } from "../../../../src/gen/outrigger/v1/request_pb.ts";
import { functionTool } from "../../../../src/index.ts";
import { TRANSPORTS } from "../../support/clients.ts";
import { useTestServers } from "../../support/test-server.ts";
import { getViolations, lastLine, startGenerationServer } from "./support/generation-server.ts";

const servers = useTestServers();
const schemaJson = JSON.stringify({
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
});
const options = { request: { model: "m" }, prompt: "Who?" };
const object = { schemaJson, name: "person" };
const ANN = '{"name":"Ann","age":30}';

async function collect(stream: AsyncIterable<StreamObjectResponse>) {
  const messages: StreamObjectResponse[] = [];
  let error: ConnectError | undefined;
  try {
    for await (const message of stream) messages.push(message);
  } catch (thrown) {
    error = ConnectError.from(thrown);
  }
  return { messages, error, kinds: messages.map(({ message }) => message.case) };
}

function objectsIn(messages: readonly StreamObjectResponse[]): unknown[] {
  return messages.flatMap(({ message }) =>
    message.case === "partialObject" ? [JSON.parse(message.value.objectJson)] : [],
  );
}

describe.each(Object.entries(TRANSPORTS))("over %s", (_name, transportTo) => {
  it("GenerateObject gives the object", async () => {
    const server = await startGenerationServer(servers, [ANN]);
    const client = createClient(GenerationService, transportTo(server.url));
    const { result } = await client.generateObject({ options, object });
    expect(result).toMatchObject({ outputJson: ANN, steps: [{}], totalUsage: { totalTokens: 15 } });
    expect(server.model.requests[0]?.responseFormat).toMatchObject({
      type: ResponseFormat_Type.JSON_SCHEMA,
      name: "person",
      strict: true,
    });
  });

  it("StreamObject gives the object as it grows, and the whole result", async () => {
    const server = await startGenerationServer(servers, [ANN]);
    const client = createClient(GenerationService, transportTo(server.url));
    const { messages, error, kinds } = await collect(client.streamObject({ options, object }));
    expect(error).toBeUndefined();
    expect(messages.map(({ sequence }) => sequence)).toEqual(messages.map((_message, index) => index));
    expect(objectsIn(messages).at(-1)).toEqual({ name: "Ann", age: 30 });
    expect(kinds.slice(-2)).toEqual(["stepFinish", "result"]);
    expect(kinds).not.toContain("event");
  });

  it("an answer that does not match ends the call with its text and the mistake", async () => {
    const server = await startGenerationServer(servers, ['{"name":"Ann"}']);
    const client = createClient(GenerationService, transportTo(server.url));
    const failed = await client.generateObject({ options, object }).catch(ConnectError.from);
    if (!(failed instanceof ConnectError)) throw new Error("the answer was accepted");
    expect(failed.code).toBe(Code.Aborted);
    expect(failed.findDetails(InferenceErrorSchema)).toMatchObject([
      {
        kind: ErrorKind.NO_OBJECT_GENERATED,
        noObject: { text: '{"name":"Ann"}', violations: [expect.stringContaining("age")] },
        usage: { totalTokens: 15 },
      },
    ]);
    const { error, kinds } = await collect(client.streamObject({ options, object }));
    expect(kinds.at(-1)).toBe("error");
    expect(error?.code).toBe(Code.Aborted);
    expect(JSON.stringify(server.log)).not.toContain("Ann");
  });
});

it("StreamObject has the model's events if the caller asks for them", async () => {
  const server = await startGenerationServer(servers, [ANN]);
  const client = createClient(GenerationService, server.transport);
  const { kinds } = await collect(client.streamObject({ options, object, includeEvents: true }));
  expect(kinds).toContain("event");
  expect(lastLine(server)).toMatchObject({ rpc: expect.stringContaining("StreamObject"), code: "OK" });
});

it("the caller chooses how the model is made to write the object", async () => {
  const server = await startGenerationServer(servers, [[{ name: "person", args: ANN }], ANN]);
  const client = createClient(GenerationService, server.transport);
  const byTool = await client.generateObject({ options, object: { ...object, strategy: Strategy.TOOL } });
  expect(byTool.result?.outputJson).toBe(ANN);
  expect(server.model.requests[0]?.toolChoice).toMatchObject({
    mode: ToolChoice_Mode.NAMED,
    toolName: "person",
  });
  const byPrompt = await client.generateObject({ options, object: { ...object, strategy: Strategy.PROMPT } });
  expect(byPrompt.result?.outputJson).toBe(ANN);
  expect(server.model.requests[1]).not.toHaveProperty("responseFormat");
});

describe("a request that is wrong", () => {
  const tool = functionTool({ name: "f" });
  const cases: [string, object, string][] = [
    ["no object", { options }, "object"],
    ["no schema", { options, object: { name: "person" } }, "object.schema_json"],
    ["a schema that is none", { options, object: { schemaJson: '{"type":5}' } }, "object.schema_json"],
    ["an unknown strategy", { options, object: { ...object, strategy: 99 } }, "object.strategy"],
    ["a name that is none", { options, object: { ...object, name: "a b" } }, "object.name"],
    [
      "a tool of the caller",
      { options: { ...options, request: { model: "m", tools: [tool] } }, object },
      "options.request.tools[0]",
    ],
    [
      "a response format",
      { options: { ...options, request: { model: "m", responseFormat: {} } }, object },
      "options.request.response_format",
    ],
    ["no model", { options: { ...options, request: {} }, object }, "options.request.model"],
  ];
  it.each(cases)("with %s names the field, and nothing is sent", async (_name, request, field) => {
    const server = await startGenerationServer(servers, [ANN]);
    const client = createClient(GenerationService, server.transport);
    const thrown = await client.generateObject(request).catch((error: unknown) => error);
    expect(ConnectError.from(thrown).code).toBe(Code.InvalidArgument);
    expect(getViolations(thrown)[0]?.slice(0, field.length)).toBe(field);
    expect(server.model.requests).toHaveLength(0);
  });
});

it.each([
  [Strategy.NATIVE, "response_format.schema_json"],
  [Strategy.TOOL, "tools[0].function.parameters_json"],
])(
  "a schema that the provider cannot take is named as the object's, with strategy %i",
  async (strategy, field) => {
    const server = await startGenerationServer(servers, [invalidField(`${field}#/type`, "expected another")]);
    const client = createClient(GenerationService, server.transport);
    const thrown = await client
      .generateObject({ options, object: { ...object, strategy } })
      .catch((error: unknown) => error);
    expect(getViolations(thrown)).toEqual(["object.schema_json#/type"]);
  },
);
