/** Calls that gRPC repeats by itself, as a retry policy says. */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { status } from "@grpc/grpc-js";
import { checkOrder, complete, inTime, userMessage } from "./calls.js";

/**
 * Lets gRPC repeat calls that failed before their first message. The sidecar says in the trailer
 * grpc-retry-pushback-ms when to repeat one, or that repeating it cannot help.
 */
export const retryPolicy = JSON.stringify({
  methodConfig: [
    {
      name: [{ service: "outrigger.v1.InferenceService" }],
      retryPolicy: {
        maxAttempts: 4,
        initialBackoff: "0.01s",
        maxBackoff: "0.05s",
        backoffMultiplier: 2,
        retryableStatusCodes: ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
      },
    },
  ],
});

export async function checkRetryPolicy(inference) {
  // Each rejects unless its third attempt succeeds.
  await complete(inference, askFailing("status=500,times=2"));
  checkOrder(await inference.stream(askFailing("status=500,times=2"), inTime()).toArray());
}

export async function checkRetryPushback(inference) {
  const started = performance.now();
  await complete(inference, askFailing("status=429,retry_after_ms=400,times=1"));
  const waited = performance.now() - started;
  assert.ok(waited >= 399, `repeated after ${waited} ms, but the provider asked for 400 ms`);
}

export async function checkRetryRefused(inference) {
  const request = askFailing("status=429,code=insufficient_quota,times=1");
  const error = await complete(inference, request).then(
    () => assert.fail("the call was repeated, though the provider's quota is used up"),
    (reason) => reason,
  );
  assert.equal(error.code, status.RESOURCE_EXHAUSTED);
  assert.deepEqual(error.metadata.get("grpc-retry-pushback-ms"), ["-1"]);
}

/**
 * A request that fails as the simulator's options say. The simulator counts `times` by model
 * string, so a speed that no other request has makes the string unique.
 */
function askFailing(faults) {
  const model = `sim-text:${faults},rate=${randomInt(100_000, 1_000_000)}`;
  return { model, messages: [userMessage("Say hello.")] };
}
