/** What went wrong with an MCP server, as one of our errors. */
import { ProtocolError } from "@modelcontextprotocol/client";
import { InvalidRequestError, SDKError, ServerError, StreamError } from "../../core/errors.ts";

/** Longest text of a server in an error, in characters. */
const MAX_MESSAGE_CHARS = 500;

/**
 * The failure of a request to a server. The body of a failed HTTP answer is left out: servers echo there what they
 * were sent.
 * @param failedStatus Status of the HTTP answer that failed, if one did.
 */
export function toMcpFailure(thrown: unknown, failedStatus: number | undefined): SDKError {
  const ours = ownErrorIn(thrown);
  if (ours !== undefined) return ours;
  if (thrown instanceof ProtocolError) return protocolFailure(thrown);
  if (failedStatus !== undefined) return statusFailure(failedStatus);
  return new StreamError("the response is not that of an MCP server", { cause: thrown });
}

/** The client package wraps what `fetch` throws. */
function ownErrorIn(thrown: unknown): SDKError | undefined {
  let error = thrown;
  for (let depth = 0; depth < 8 && error instanceof Error; depth += 1) {
    if (error instanceof SDKError) return error;
    error = error.cause;
  }
  return undefined;
}

function protocolFailure({ code, message }: ProtocolError): SDKError {
  const text = message.toWellFormed().slice(0, MAX_MESSAGE_CHARS);
  return new ServerError(`${text} (JSON-RPC error ${code})`, { retryable: false });
}

/** Whether a server that failed so may speak the protocol's first revision, which had another transport. */
export function mayBeOlder(failure: unknown): boolean {
  return failure instanceof InvalidRequestError && ![401, 403].includes(failure.httpStatusCode ?? 401);
}

/** Status 401 and 403 are the request's as well: it, or the configuration for it, has the credentials. */
function statusFailure(status: number): SDKError {
  if (status >= 500 || status === 429) return new ServerError(`the server failed (status ${status})`);
  const isDenied = status === 401 || status === 403;
  const what = isDenied ? "the server did not accept the credentials" : "the server refused the request";
  return new InvalidRequestError(`${what} (status ${status})`, { httpStatusCode: status });
}
