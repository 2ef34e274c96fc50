import type { HandlerContext } from "@connectrpc/connect";
import { noteFailure } from "../status/status.ts";
import { type Call, callKey } from "../telemetry/call.ts";

/**
 * Follows a call through Connect's pipeline. Connect runs it as its request gate, before it
 * reads the body; and it aborts the context exactly once, with the error where there is one,
 * before it writes that error. So this is where every failure of every protocol passes,
 * whoever found it, while its details can still be added.
 */
export function watchContext(context: HandlerContext): void {
  const call = context.values.get(callKey);
  if (call === undefined) return;
  call.protocol = context.protocolName;
  call.signal = context.signal;
  const onEnd = () => noteOutcome(call, context.signal.reason);
  if (context.signal.aborted) onEnd();
  else context.signal.addEventListener("abort", onEnd, { once: true });
}

function noteOutcome(call: Call, reason: unknown): void {
  if (!call.abandoned && !isPlainEnd(reason)) noteFailure(call, reason);
}

/** Connect ends a call that went well by an abort without a reason, which makes an AbortError. */
function isPlainEnd(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "AbortError";
}
