import { ProtocolError } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { InvalidRequestError, NetworkError, ServerError } from "../../../src/core/errors.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { mayBeOlder, toMcpFailure } from "../../../src/runs/mcp/current-call.ts";

/** An error as a cause of others, so many levels deep. */
function wrap(error: Error, levels: number): Error {
  let wrapped = error;
  for (let level = 0; level < levels; level += 1) wrapped = new Error("wrapped", { cause: wrapped });
  return wrapped;
}

describe("the failure of a request to an MCP server", () => {
  it("is the error of ours that the client package wraps, whatever the status was", () => {
    const lost = new NetworkError("the connection was lost");
    expect(toMcpFailure(lost, 500)).toBe(lost);
    expect(toMcpFailure(wrap(lost, 3), 500)).toBe(lost);
  });

  it("is found under a few wrappings, and not searched for without end", () => {
    const lost = new NetworkError("the connection was lost");
    expect(toMcpFailure(wrap(lost, 7), undefined)).toBe(lost);
    const circle = new Error("a circle");
    circle.cause = circle;
    expect(toMcpFailure(circle, undefined).kind).toBe(ErrorKind.STREAM);
  });

  it("repeats what the server says in the protocol, cut to 500 characters and without broken characters", () => {
    const failure = toMcpFailure(new ProtocolError(-32602, `bad \ud800${"x".repeat(1000)}`), undefined);
    expect(failure).toMatchObject({ kind: ErrorKind.SERVER, retryable: false });
    expect(failure.message).toBe(`bad \ufffd${"x".repeat(495)} (JSON-RPC error -32602)`);
  });

  it.each([
    [500, ErrorKind.SERVER, true, "the server failed (status 500)"],
    [503, ErrorKind.SERVER, true, "the server failed (status 503)"],
    [429, ErrorKind.SERVER, true, "the server failed (status 429)"],
    [499, ErrorKind.INVALID_REQUEST, false, "the server rejected the request (status 499)"],
    [428, ErrorKind.INVALID_REQUEST, false, "the server rejected the request (status 428)"],
    [404, ErrorKind.INVALID_REQUEST, false, "the server rejected the request (status 404)"],
    [401, ErrorKind.INVALID_REQUEST, false, "the server did not accept the credentials (status 401)"],
    [403, ErrorKind.INVALID_REQUEST, false, "the server did not accept the credentials (status 403)"],
  ])("of status %i says what that status means", (status, kind, retryable, message) => {
    expect(toMcpFailure(new Error("a body with a secret"), status)).toMatchObject({
      kind,
      retryable,
      message,
    });
  });

  it("without a status is an answer that is not that of an MCP server", () => {
    expect(toMcpFailure("no error", undefined)).toMatchObject({
      kind: ErrorKind.STREAM,
      message: "the response is not from an MCP server",
    });
  });
});

describe("a server of the protocol's first revision", () => {
  const refused = (httpStatusCode?: number) => new InvalidRequestError("refused", { httpStatusCode });

  it("may be behind a refusal, except of the credentials", () => {
    expect([400, 404, 405].map((status) => mayBeOlder(refused(status)))).toEqual([true, true, true]);
    expect([401, 403].map((status) => mayBeOlder(refused(status)))).toEqual([false, false]);
  });

  it("is not behind a failure or an error of the sidecar", () => {
    expect(mayBeOlder(new ServerError("down", { httpStatusCode: 500 }))).toBe(false);
    expect(mayBeOlder(refused())).toBe(false);
    expect(mayBeOlder(new Error("refused"))).toBe(false);
  });
});
