import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import {
  ServerReflection as ReflectionV1,
  type ServerReflectionResponse as ResponseV1,
} from "../../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import {
  ServerReflection as ReflectionV1Alpha,
  type ServerReflectionResponse as ResponseV1Alpha,
} from "../../../src/gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { textResponse } from "../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

/** A request in the form that both versions share. */
type Query =
  | {
      case: "listServices" | "fileByFilename" | "fileContainingSymbol" | "allExtensionNumbersOfType";
      value: string;
    }
  | { case: "fileContainingExtension"; value: { containingType: string; extensionNumber: number } }
  | { case: undefined };

type Answer = (ResponseV1 | ResponseV1Alpha)["messageResponse"];

const SERVICES = [
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
  "outrigger.v1.CatalogService",
  "outrigger.v1.EmbeddingService",
  "outrigger.v1.GenerationService",
  "outrigger.v1.InferenceService",
];

/** Sends several requests in either version on one stream. */
async function ask(
  server: TestServer,
  queries: readonly Query[],
  version: "v1" | "v1alpha" = "v1",
): Promise<Answer[]> {
  const transport = createGrpcTransport({ baseUrl: server.url });
  const requests = (async function* () {
    for (const messageRequest of queries) yield { host: "h", messageRequest };
  })();
  const service = version === "v1" ? ReflectionV1 : ReflectionV1Alpha;
  const answers: Answer[] = [];
  for await (const response of createClient(service, transport).serverReflectionInfo(requests)) {
    expect(response.originalRequest?.host).toBe("h");
    answers.push(response.messageResponse);
  }
  return answers;
}

function getFiles(answer: Answer | undefined): FileDescriptorProto[] {
  if (answer?.case !== "fileDescriptorResponse") throw new Error(`expected files, got ${answer?.case}`);
  return answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

describe.each(["v1", "v1alpha"] as const)("reflection %s", (version) => {
  it("lists the services", async () => {
    const server = await servers.start();
    const [answer] = await ask(server, [{ case: "listServices", value: "" }], version);
    if (answer?.case !== "listServicesResponse") throw new Error("expected a list");
    expect(answer.value.service.map(({ name }) => name)).toEqual(SERVICES);
  });

  it("gives a file with all that it imports", async () => {
    const server = await servers.start();
    const [answer] = await ask(
      server,
      [{ case: "fileByFilename", value: "outrigger/v1/inference_service.proto" }],
      version,
    );
    const files = getFiles(answer);
    expect(files[0]?.name).toBe("outrigger/v1/inference_service.proto");
    const known = new Set(files.map(({ name }) => name));
    for (const { dependency } of files) for (const name of dependency) expect(known).toContain(name);
  });

  it.each([
    ["a service", "outrigger.v1.InferenceService", "outrigger/v1/inference_service.proto"],
    ["a method", "outrigger.v1.InferenceService.Stream", "outrigger/v1/inference_service.proto"],
    ["a message", "outrigger.v1.Request", "outrigger/v1/request.proto"],
    ["a field", "outrigger.v1.Request.model", "outrigger/v1/request.proto"],
    ["a oneof", "outrigger.v1.StreamEvent.event", "outrigger/v1/stream_event.proto"],
    ["a nested enum", "outrigger.v1.ToolChoice.Mode", "outrigger/v1/request.proto"],
    ["a value of a nested enum", "outrigger.v1.ToolChoice.MODE_AUTO", "outrigger/v1/request.proto"],
    ["a value of an enum", "outrigger.v1.ERROR_KIND_SERVER", "outrigger/v1/error.proto"],
    ["the detail of an error", "google.rpc.RetryInfo", "google/rpc/error_details.proto"],
    ["an imported message", "google.protobuf.Duration", "google/protobuf/duration.proto"],
  ])("finds %s", async (_what, symbol, file) => {
    const server = await servers.start();
    const [answer] = await ask(server, [{ case: "fileContainingSymbol", value: symbol }], version);
    expect(getFiles(answer)[0]?.name).toBe(file);
  });

  it("answers errors in band and continues", async () => {
    const server = await servers.start();
    const extension = { containingType: "outrigger.v1.Request", extensionNumber: 5 };
    const answers = await ask(
      server,
      [
        { case: "fileByFilename", value: "no/such.proto" },
        { case: "fileContainingSymbol", value: "no.such.Symbol" },
        { case: "fileContainingExtension", value: extension },
        { case: "allExtensionNumbersOfType", value: "no.such.Type" },
        { case: undefined },
        { case: "allExtensionNumbersOfType", value: "outrigger.v1.Request" },
      ],
      version,
    );
    const codes = answers.map((answer) =>
      answer.case === "errorResponse" ? answer.value.errorCode : answer.case,
    );
    expect(codes).toEqual([5, 5, 5, 5, 3, "allExtensionNumbersResponse"]);
    expect(answers[2]?.value).toMatchObject({
      errorMessage: "not found: extension 5 of outrigger.v1.Request",
    });
  });

  it("sends a file twice only if it is requested twice", async () => {
    const server = await servers.start();
    const symbols = ["outrigger.v1.InferenceService", "outrigger.v1.Request", "outrigger.v1.Request"];
    const queries = symbols.map((value) => ({ case: "fileContainingSymbol", value }) as const);
    const sizes = (await ask(server, queries, version)).map((answer) => getFiles(answer).length);
    expect(sizes[0]).toBeGreaterThan(5);
    expect(sizes.slice(1)).toEqual([1, 1]);
  });
});

describe("reflection", () => {
  it("does not exist if it is switched off", async () => {
    const server = await servers.start({}, { reflection: false });
    await expect(ask(server, [{ case: "listServices", value: "" }])).rejects.toMatchObject({ code: 12 });
  });
});

describe("buf curl", () => {
  const buf = async (...args: string[]) => {
    const flags = ["curl", "--http2-prior-knowledge", "--protocol", "grpc"];
    return (await promisify(execFile)("node_modules/.bin/buf", [...flags, ...args])).stdout;
  };

  it.each(["grpc-v1", "grpc-v1alpha"])("lists the methods by %s", async (protocol) => {
    const server = await servers.start();
    const methods = await buf("--reflect-protocol", protocol, "--list-methods", server.url);
    expect(methods).toContain("outrigger.v1.InferenceService/Stream\n");
  });

  it("calls a method that it learned of", async () => {
    const server = await servers.start({ complete: async (call) => textResponse(call, "hello") });
    const answer = JSON.parse(
      await buf("-d", '{"model":"m-1"}', `${server.url}/outrigger.v1.InferenceService/Complete`),
    );
    expect(answer).toMatchObject({ model: "m-1", message: { content: [{ text: "hello" }] } });
  });
});
