import { create } from "@bufbuild/protobuf";
import { ServerError } from "outrigger";
import { describe, expect, it } from "vitest";
import { RelayedCall } from "../../../src/endpoints/relay/relayed-call.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";

const headers = { request: ["x-one", "x-group-*"], answer: ["x-one", "x-group-*"] };

/** A call whose provider has answered with these headers. */
function createCall({ given = {}, answered = {}, status = 200 }) {
  const form = { api: "openai-chat", headers, getMembers: () => new Map() };
  const restored = { hasReasoning: false, hasCallState: false };
  const call = new RelayedCall(form, { request: create(RequestSchema), restored }, given);
  const withoutKeys = (value: string) => value.replace("sk-1", "(key)");
  call.source.relay.begin({ status, headers: Object.entries(answered), withoutKeys });
  return call;
}

const HEADERS = {
  "x-one": "1",
  "x-group-a": "2",
  "x-group": "not in the group",
  "x-one-more": "another",
  authorization: "Bearer key",
  "x-group-invalid": "\u00e9",
  "x-group-tab": "a\tb",
};

const PASSED = { "x-one": "1", "x-group-a": "2", "x-group-tab": "a\tb" };

describe("The headers of a relayed call", () => {
  it("pass to the provider if the API's list has their name, and their value is valid", () => {
    const { source } = createCall({ given: { ...HEADERS, "retry-after": "3", "x-group-absent": undefined } });
    expect(source.headers).toEqual(PASSED);
  });

  it("are also passed to the caller, including the retry headers", () => {
    const retry = { "retry-after": "3", "retry-after-ms": "3000", "x-should-retry": "true" };
    expect(createCall({ answered: { ...HEADERS, ...retry } }).answerHeaders).toEqual({ ...PASSED, ...retry });
  });

  it("are passed to the caller without keys", () => {
    const answered = { "x-one": "for sk-1", "retry-after": "sk-1" };
    expect(createCall({ answered }).answerHeaders).toEqual({ "x-one": "for (key)", "retry-after": "(key)" });
  });

  it("have values of at most 4096 characters", () => {
    const answered = { "x-group-a": "a".repeat(4096), "x-group-b": "b".repeat(4097) };
    expect(Object.keys(createCall({ answered }).answerHeaders ?? {})).toEqual(["x-group-a"]);
  });

  it("take at most 8 KiB of an answer, of which those that say when to try again come first", () => {
    // With its name and the separators, each of the four has 2048 bytes.
    const group = Object.fromEntries(
      ["a", "b", "c", "d"].map((name) => [`x-group-${name}`, "v".repeat(2035)]),
    );
    const getNames = (answered: object) => Object.keys(createCall({ answered }).answerHeaders ?? {});
    expect(getNames({ ...group, "x-group-e": "" })).toEqual(Object.keys(group));
    expect(getNames({ ...group, "retry-after": "3" })).toEqual([
      "retry-after",
      "x-group-a",
      "x-group-b",
      "x-group-c",
    ]);
  });

  it("are none of an answer that is not relayed", () => {
    const call = createCall({ answered: HEADERS });
    call.source.relay.restart();
    expect([call.answerHeaders, call.takeAnswer()]).toEqual([undefined, undefined]);
  });
});

describe("A failed answer of a relayed call", () => {
  const failure = (httpStatusCode: number) => new ServerError("down", { provider: "p", httpStatusCode });

  it("is passed with its status and headers if the call failed with it", () => {
    const call = createCall({ answered: HEADERS, status: 503 });
    call.source.relay.add(Buffer.from("{}"));
    call.source.relay.fail();
    expect(call.takeFailure(failure(500))).toBeUndefined();
    expect(call.takeFailure(failure(503))).toMatchObject({
      status: 503,
      headers: { "content-type": "application/json", ...PASSED },
      body: Buffer.from("{}"),
    });
  });

  it("is not passed if the provider does not say why it failed", () => {
    expect(createCall({ status: 503 }).takeFailure(failure(503))).toBeUndefined();
  });
});
