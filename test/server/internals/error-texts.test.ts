/** Provokes each error text that src/server/internals/error-texts.ts reads, in the packages that make them. */
import { readFileSync } from "node:fs";
import { fromJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import {
  enumTypeIn,
  isJsonFault,
  isParseFault,
  isWriteFault,
  parseFault,
  tooLargeSizes,
  withoutQuotes,
} from "../../../src/server/internals/error-texts.ts";
import { TestService } from "../../conformance/gen/grpc/testing/test_pb.ts";
import { useTestServers } from "../support/test-server.ts";
import { startTestService } from "../support/test-service.ts";

const servers = useTestServers();

function readVersion(name: string): string {
  const path = new URL(`../../../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(path, "utf8")).version;
}

function toMessage(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error("it did not throw");
}

it.each([
  ["@connectrpc/connect", "2.2.0"],
  ["@bufbuild/protobuf", "2.17.0"],
])("the texts are written for %s %s", (name, version) => {
  expect(readVersion(name)).toBe(version);
});

describe("the errors of Connect's handlers", () => {
  /** Returns the reason with which a service's call is aborted if a handler fails, as our request gate gets it. */
  async function toFailure(body: Uint8Array | string, type: string, limit?: number): Promise<string> {
    const service = await startTestService(
      { unaryCall: () => ({}) },
      limit === undefined ? {} : { maxMessageBytes: limit },
    );
    servers.onEnd(() => service.close());
    const answer = await fetch(`${service.url}/grpc.testing.TestService/UnaryCall`, {
      method: "POST",
      headers: { "content-type": type },
      body: typeof body === "string" ? body : Buffer.from(body),
    });
    return ((await answer.json()) as { message: string }).message;
  }

  it("are recognized for a message that does not parse", async () => {
    expect(await toFailure(Buffer.from([0xff]), "application/proto")).toMatch(/^parse binary: /);
    expect(isParseFault(parseFault(new Error("premature EOF")))).toBe(true);
    expect(isParseFault(new ConnectError("other", Code.Internal))).toBe(false);
  });

  it("are recognized for a message that is too large", async () => {
    expect(await toFailure(Buffer.alloc(100), "application/proto", 10)).toContain(
      "expected at most 10 bytes (limits.max_message_bytes)",
    );
    expect(tooLargeSizes("message size 9 is larger than configured readMaxBytes 5")).toEqual({
      size: "9",
      limit: "5",
    });
    expect(tooLargeSizes("message is larger than configured readMaxBytes 5")).toEqual({
      size: undefined,
      limit: "5",
    });
    expect(tooLargeSizes("other")).toBeUndefined();
  });

  it("are recognized for an answer that cannot be encoded", async () => {
    const service = await startTestService({ unaryCall: () => ({ grpclbRouteType: 1.5 as never }) });
    servers.onEnd(() => service.close());
    const client = createClient(
      TestService,
      createConnectTransport({ baseUrl: service.url, httpVersion: "1.1" }),
    );
    await expect(client.unaryCall({})).rejects.toMatchObject({ code: Code.Internal });
    // A fault in the log shows that the error was taken for a bug of the service.
    await expect.poll(() => service.log.at(-1)).toMatchObject({ msg: "call failed", code: "INTERNAL" });
    expect(isWriteFault(new ConnectError("serialize binary: x", Code.Internal))).toBe(true);
    expect(isWriteFault(new ConnectError("cannot encode field x to JSON", Code.Internal))).toBe(true);
  });
});

describe("the errors of protobuf-es and V8 about JSON", () => {
  it.each([
    '{"model":5}',
    '{"x":1}',
    "[]",
    '{"messages":[{"role":"x"}]}',
    '{"messages":[{"content":[{"image":{"data":"%"}}]}]}',
  ])("are recognized: %s", (json) => {
    const text = toMessage(() => fromJsonString(RequestSchema, json));
    expect(isJsonFault(new ConnectError(text, Code.InvalidArgument))).toBe(true);
  });

  const parse = (json: string) => toMessage(() => fromJsonString(RequestSchema, json));

  it("lose the texts that they quote", () => {
    for (const json of [
      '{"messages": "a private text"}',
      '{"temperature": "a private text"}',
      '{"model": "x", a private text',
      '"a private text"',
      '{"tools": {"a private text": 1}}',
    ]) {
      const message = parse(json);
      expect(withoutQuotes(message)).not.toContain("private");
    }
    expect(withoutQuotes(parse('{"messages": "a private text"}'))).toContain("a string of length 14");
  });

  it("keep an enum value, and name its type", () => {
    const message = parse('{"messages": [{"role": "user"}]}');
    expect(withoutQuotes(message)).toBe(message);
    expect(enumTypeIn(message)).toBe("outrigger.v1.Role");
    expect(enumTypeIn("other")).toBeUndefined();
  });
});
