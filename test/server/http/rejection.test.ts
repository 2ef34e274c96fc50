import * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { grpcClient } from "../support/clients.ts";
import { exchange, frame, inferencePath } from "../support/raw-http2.ts";
import { textResponse } from "../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

function startAnswering(): Promise<TestServer> {
  return servers.start({ complete: async (call) => textResponse(call, "x") });
}

async function post(server: TestServer, path: string, contentType: string) {
  const init = { method: "POST", headers: { "content-type": contentType }, body: "{}" };
  const response = await fetch(`${server.url}${path}`, init);
  const body = (await response.json()) as { code?: string; message?: string };
  return { status: response.status, headers: response.headers, ...body };
}

async function rejectedBy(server: TestServer, path: string, method: string, contentType?: string) {
  const init = contentType === undefined ? {} : { headers: { "content-type": contentType }, body: "{}" };
  const response = await fetch(`${server.url}${path}`, { method, ...init });
  const { status, headers } = response;
  return { status, headers, type: headers.get("content-type"), text: await response.text() };
}

describe("a path without a route", () => {
  it.each(["/", "/v2/nothing", inferencePath("Missing"), "/outrigger.v9.InferenceService/Complete", "//x"])(
    "%s is 404, names it, and says what is served",
    async (path) => {
      const server = await startAnswering();
      const answer = await post(server, path, "application/json");
      expect(answer).toMatchObject({ status: 404, code: "unimplemented" });
      expect(answer.message).toContain(`"${path}"`);
      for (const served of ["/outrigger.v1.InferenceService/Complete", "/v1/responses", "health and metrics"])
        expect(answer.message).toContain(served);
      expect(server.log.at(-1)).toMatchObject({ rpc: "unknown", code: "UNIMPLEMENTED" });
    },
  );

  it("is UNIMPLEMENTED to gRPC, and names it", async () => {
    const server = await startAnswering();
    const client = grpcClient(server.authority);
    servers.onEnd(() => client.close());
    const error = await new Promise<grpc.ServiceError | null>((resolve) => {
      client.makeUnaryRequest(
        inferencePath("Missing"),
        () => Buffer.alloc(0),
        (bytes) => bytes,
        {},
        resolve,
      );
    });
    expect(error?.code).toBe(grpc.status.UNIMPLEMENTED);
    expect(error?.details).toContain(inferencePath("Missing"));
  });

  it("is UNIMPLEMENTED to gRPC-Web, which reads it in the headers", async () => {
    const server = await startAnswering();
    const type = { "content-type": "application/grpc-web+proto" };
    const { headers } = await exchange(server.url, inferencePath("Missing"), type, frame(Buffer.alloc(0)));
    expect(headers).toMatchObject({ ":status": 200, ...type, "grpc-status": "12" });
    expect(decodeURIComponent(String(headers["grpc-message"]))).toContain("Missing");
  });

  it("is not quoted whole, and not as a header could not hold it", async () => {
    const server = await startAnswering();
    const path = `/${"a".repeat(5000)}`;
    const { trailers } = await exchange(server.url, path, {}, frame(Buffer.alloc(0)));
    expect(String(trailers["grpc-message"]).length).toBeLessThan(1000);
  });
});

// Plain text, because Connect's clients take a JSON body for an error of the RPC itself.
describe("an RPC", () => {
  it("accepts POST", async () => {
    const server = await startAnswering();
    const answer = await rejectedBy(server, inferencePath("Complete"), "GET");
    expect(answer).toMatchObject({ status: 405, type: "text/plain; charset=utf-8" });
    expect(answer.text).toBe("outrigger.v1.InferenceService/Complete takes POST\n");
    expect(answer.headers.get("allow")).toBe("POST");
    expect(server.log.at(-1)).toMatchObject({ code: "UNIMPLEMENTED" });
  });

  it("takes the content types of its protocols, and names them", async () => {
    const server = await startAnswering();
    const unary = await rejectedBy(server, inferencePath("Complete"), "POST", "text/plain");
    expect(unary).toMatchObject({ status: 415, type: "text/plain; charset=utf-8" });
    expect(unary.text).toContain("application/json, application/proto, application/grpc, ");
    expect(unary.text).toContain(unary.headers.get("accept-post"));
    const streaming = await rejectedBy(server, inferencePath("Stream"), "POST", "application/json");
    expect(streaming.status).toBe(415);
    expect(streaming.text).toContain("application/connect+json");
    expect(server.log.at(-1)).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("with requests and answers at once needs HTTP/2", async () => {
    const server = await startAnswering();
    const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    const answer = await rejectedBy(server, path, "POST", "application/connect+json");
    expect(answer).toMatchObject({ status: 505, type: "text/plain; charset=utf-8" });
    expect(answer.text).toContain("HTTP/2");
  });
});

describe("every answer", () => {
  it("has a request id, the client's if it is valid", async () => {
    const server = await startAnswering();
    const ids = ["trace:1/a_b.c", "no spaces", "x".repeat(129), "a;b"];
    const answered: (string | null)[] = [];
    for (const id of ids) {
      const headers = { "x-request-id": id };
      const response = await fetch(`${server.url}/nothing`, { method: "POST", headers });
      answered.push(response.headers.get("x-request-id"));
    }
    const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(answered).toEqual(["trace:1/a_b.c", uuid, uuid, uuid]);
  });
});
