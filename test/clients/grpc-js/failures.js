/** Calls that fail: how a program reads the failure, and how it ends a call itself. */
import assert from "node:assert/strict";
import { status } from "@grpc/grpc-js";
import { complete, inTime, userMessage } from "./calls.js";
import { decode } from "./contract.js";

/**
 * A cancelled call, and one whose deadline expires, ends at once. The bound, in milliseconds,
 * is generous so that a busy machine does not fail the check.
 */
const promptly = 3_000;

/** An answer that takes 50 seconds, far longer than any check waits. */
const longRequest = { model: "sim-long:tokens=1000,rate=20", messages: [userMessage("Write a lot.")] };

/** Decodes the status details of a call's error: message name to message. */
function detailsOf(error) {
  const [bytes] = error.metadata.get("grpc-status-details-bin");
  const { details } = bytes === undefined ? { details: [] } : decode("google.rpc.Status", bytes);
  return new Map(
    details.map((detail) => {
      // The one field that protobuf.js keeps in snake case.
      const type = detail.type_url.slice(detail.type_url.lastIndexOf("/") + 1);
      return [type, decode(type, detail.value)];
    }),
  );
}

/** Runs a call that must fail with a gRPC status: its code, and `detail`, which returns a detail by message name. */
async function getFailure(call) {
  const error = await call().then(
    () => assert.fail("the call succeeded, want an error"),
    (reason) => reason,
  );
  if (error.metadata === undefined) {
    throw error;
  }
  const details = detailsOf(error);
  const detail = (type) => details.get(type) ?? assert.fail(`the status has no ${type}`);
  return { code: error.code, detail };
}

export async function checkErrorDetails(inference) {
  const { code, detail } = await getFailure(() =>
    complete(inference, {
      model: "sim-text:status=429,retry_after=2",
      messages: [userMessage("Hello?")],
    }),
  );
  const failed = detail("outrigger.v1.InferenceError");
  assert.equal(code, status.RESOURCE_EXHAUSTED);
  assert.equal(failed.kind, "ERROR_KIND_RATE_LIMIT");
  assert.equal(failed.retryable, true);
  assert.deepEqual(failed.retryAfter, { seconds: "2", nanos: 0 });
  assert.equal(failed.providerFailure.httpStatusCode, 429);
  const { reason, domain } = detail("google.rpc.ErrorInfo");
  assert.deepEqual({ reason, domain }, { reason: "RATE_LIMIT", domain: "outrigger" });
  assert.deepEqual(detail("google.rpc.RetryInfo").retryDelay, { seconds: "2", nanos: 0 });
}

export async function checkValidationError(inference) {
  const { code, detail } = await getFailure(() => complete(inference, { model: "sim-text" }));
  const fields = detail("google.rpc.BadRequest").fieldViolations.map((violation) => violation.field);
  assert.equal(code, status.INVALID_ARGUMENT);
  const { kind, providerFailure } = detail("outrigger.v1.InferenceError");
  assert.equal(kind, "ERROR_KIND_INVALID_REQUEST");
  assert.equal(providerFailure, null, "no provider was asked, yet one is named");
  assert.ok(fields.includes("messages"), `BadRequest names ${fields}, want messages`);
}

export async function checkMidStreamError(inference) {
  const call = inference.stream(
    { model: "sim-text:error_after=5", messages: [userMessage("Hello?")] },
    inTime(),
  );
  // Once the stream has begun, a failure is reported twice: as its last event, for code that reads
  // events, and as the status, for interceptors, retries and metrics.
  const events = [];
  const { code, detail } = await getFailure(async () => {
    for await (const event of call) {
      events.push(event);
    }
  });
  const announced = events.at(-1)?.error;
  assert.ok(announced, `the last of ${events.length} events is no error`);
  assert.ok(announced.outputStarted, "output_started is not set, though text was streamed");
  assert.equal(code, status.UNAVAILABLE);
  assert.deepEqual(detail("outrigger.v1.InferenceError"), announced, "event and status agree");
}

export async function checkDeadline(inference) {
  const started = Date.now();
  const { code } = await getFailure(() =>
    inference.stream(longRequest, { deadline: started + 300 }).toArray(),
  );
  assert.equal(code, status.DEADLINE_EXCEEDED);
  assert.ok(Date.now() - started < promptly, `waited ${Date.now() - started} ms for a deadline of 300 ms`);
}

export async function checkCancellation(inference) {
  // Cancelling the call is enough: the sidecar then closes its connection to the provider.
  const call = inference.stream(longRequest, inTime());
  let cancelled;
  const { code } = await getFailure(async () => {
    for await (const event of call) {
      if (event.textDelta && cancelled === undefined) {
        cancelled = Date.now();
        call.cancel();
      }
    }
  });
  assert.equal(code, status.CANCELLED);
  assert.ok(cancelled !== undefined, "the stream ended before its first delta");
  assert.ok(Date.now() - cancelled < promptly, `waited ${Date.now() - cancelled} ms for the end`);
}
