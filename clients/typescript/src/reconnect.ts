import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

/** How long a call that found no sidecar waits before it is made once more, in milliseconds. */
const RETRY_DELAY_MS = 250;

/** System calls that fail if no connection was made, so that nothing was sent. */
const CONNECTING: ReadonlySet<unknown> = new Set(["connect", "getaddrinfo"]);

/**
 * Makes a call once more if there was no sidecar to send it to. The error of a second failure names the sidecar's
 * address. Each call connects itself while there is no connection, so no backoff has to end first.
 */
export function retryUnsent(address: string): Interceptor {
  return (next) => async (request) => {
    try {
      return await next(request);
    } catch (thrown) {
      if (!isUnsent(thrown)) throw thrown;
      await sleep(RETRY_DELAY_MS, undefined, { signal: request.signal });
    }
    try {
      return await next(request);
    } catch (thrown) {
      throw isUnsent(thrown) ? toUnreachable(thrown, address) : thrown;
    }
  };
}

/** Reports whether a call failed because there was no sidecar to send it to. */
export function isUnsent(thrown: unknown): thrown is ConnectError {
  if (!(thrown instanceof ConnectError)) return false;
  // Node tries all addresses of a name.
  const causes: unknown[] = thrown.cause instanceof AggregateError ? thrown.cause.errors : [thrown.cause];
  return causes.every(
    (cause) => cause instanceof Error && "syscall" in cause && CONNECTING.has(cause.syscall),
  );
}

function toUnreachable({ rawMessage, cause }: ConnectError, address: string): ConnectError {
  const message = `${rawMessage}; is the sidecar running at ${address}?`;
  return new ConnectError(message, Code.Unavailable, undefined, undefined, cause);
}
