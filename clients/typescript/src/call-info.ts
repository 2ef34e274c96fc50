import { Code, ConnectError, type Interceptor, type StreamResponse } from "@connectrpc/connect";

/** A call that has ended. */
export interface CallInfo {
  /** Name of the method, for instance `Complete`. */
  readonly method: string;
  /** Name of the status code of gRPC, for instance `OK`. */
  readonly code: string;
  /** From the call to its end, in milliseconds. */
  readonly durationMs: number;
  /** The id under which the sidecar logs the call: the caller's `x-request-id`, or a generated one. */
  readonly requestId: string | undefined;
  /** Headers and trailers of the answer. */
  readonly headers: Headers;
}

/** Takes a line for each call that ended. A logger such as pino's is one. */
export interface CallLog {
  debug(fields: object, message: string): void;
}

/** Settings for the headers and the log of calls. */
export interface CallSettings {
  /** Sent with each call, for instance `{ "x-request-id": "..." }`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called with each call that ended, failed ones included. */
  readonly onCall?: ((call: CallInfo) => void) | undefined;
  /** Gets a line for each call that ended: method, code, duration and request id, and no text of the call. */
  readonly logger?: CallLog | undefined;
}

/** Sends the headers, and tells of calls that ended. */
export function observeCalls({ headers = {}, onCall, logger }: CallSettings): Interceptor {
  const tell = (call: CallInfo) => {
    const { headers: _, ...fields } = call;
    logger?.debug(fields, "call of the sidecar ended");
    onCall?.(call);
  };
  return (next) => async (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    const { name: method } = request.method;
    const start = performance.now();
    const ended = (code: string, received: Headers) =>
      tell({
        method,
        code,
        durationMs: performance.now() - start,
        requestId: received.get("x-request-id") ?? undefined,
        headers: received,
      });
    try {
      const response = await next(request);
      if (response.stream) return { ...response, message: untilEnd(response, ended) };
      ended("OK", joined(response.header, response.trailer));
      return response;
    } catch (thrown) {
      ended(getCode(thrown), toMetadata(thrown));
      throw thrown;
    }
  };
}

async function* untilEnd<Message>(
  {
    message,
    header,
    trailer,
  }: { message: AsyncIterable<Message> } & Pick<StreamResponse, "header" | "trailer">,
  ended: (code: string, received: Headers) => void,
): AsyncGenerator<Message> {
  let code = "CANCELED";
  let failure: Headers | undefined;
  try {
    yield* message;
    code = "OK";
  } catch (thrown) {
    code = getCode(thrown);
    failure = toMetadata(thrown);
    throw thrown;
  } finally {
    ended(code, joined(header, failure ?? trailer));
  }
}

/** `NotFound` → `NOT_FOUND`. */
function getCode(thrown: unknown): string {
  const code = Code[ConnectError.from(thrown).code] ?? "UNKNOWN";
  return code.replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase();
}

function toMetadata(thrown: unknown): Headers {
  return ConnectError.from(thrown).metadata;
}

function joined(header: Headers, trailer: Headers): Headers {
  const all = new Headers(header);
  trailer.forEach((value, name) => void all.set(name, value));
  return all;
}
