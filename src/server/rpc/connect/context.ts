import type { HandlerContext } from "@connectrpc/connect";
import { requestShareKey } from "../../requests/request-memory.ts";
import { exchangeKey } from "./exchange.ts";

/**
 * Follows a call through Connect's pipeline. Connect runs this as its request gate, before it reads the body. Connect
 * also aborts the context exactly once, with the error if the call failed, before it writes that error. So every
 * failure of every protocol passes here while its details can still be added.
 */
export function watchContext({ method, values, signal }: HandlerContext): void {
  const exchange = values.get(exchangeKey);
  if (exchange === undefined) return;
  exchange.signal = signal;
  const onEnd = () => {
    if (!isPlainEnd(signal.reason)) exchange.fail(signal.reason, method);
  };
  if (signal.aborted) onEnd();
  else signal.addEventListener("abort", onEnd, { once: true });
  exchange.begin();
  values.set(requestShareKey, exchange.share);
}

/** Connect ends a successful call by an abort without a reason, which creates an AbortError. */
function isPlainEnd(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "AbortError";
}
