/**
 * Calls a sidecar the way a Node service with `@grpc/grpc-js` would, and checks what comes back.
 * Every check is a function that can be read, and copied, alone. Plain JavaScript, since that
 * is what `@grpc/proto-loader` is for: the contract is read at start and nothing is generated.
 */
import { credentials } from "@grpc/grpc-js";
import { checkComplete, checkHealth, checkStream, checkToolRoundTrip } from "./calls.js";
import { Health, InferenceService } from "./contract.js";
import {
  checkCancellation,
  checkDeadline,
  checkErrorDetails,
  checkMidStreamError,
  checkValidationError,
} from "./failures.js";
import { checkRetryPolicy, checkRetryPushback, checkRetryRefused, retryPolicy } from "./retries.js";
import { checkTls } from "./tls.js";

// Messages can contain images, for which gRPC's default limit of 4 MiB is too small; this is the
// sidecar's default.
const options = { "grpc.max_receive_message_length": 32 * 1024 * 1024 };

// The sidecar shares the pod's loopback, so no TLS is needed. A client is expensive to open and
// safe to share: a service keeps one for its lifetime.
const address = process.env.OUTRIGGER_ADDR;
const inference = new InferenceService(address, credentials.createInsecure(), options);
const retrying = new InferenceService(address, credentials.createInsecure(), {
  ...options,
  "grpc.service_config": retryPolicy,
});
const health = new Health(address, credentials.createInsecure());

const checks = {
  health: () => checkHealth(health),
  complete: () => checkComplete(inference),
  stream: () => checkStream(inference),
  tool_round_trip: () => checkToolRoundTrip(inference),
  error_details: () => checkErrorDetails(inference),
  validation_error: () => checkValidationError(inference),
  mid_stream_error: () => checkMidStreamError(inference),
  deadline: () => checkDeadline(inference),
  cancellation: () => checkCancellation(inference),
  retry_policy: () => checkRetryPolicy(retrying),
  retry_pushback: () => checkRetryPushback(retrying),
  retry_refused: () => checkRetryRefused(retrying),
  tls: checkTls,
};

for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    process.stdout.write(`ok ${name}\n`);
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${error.stack}\n`);
    process.stdout.write(`FAIL ${name}: ${error.message.replace(/\s+/g, " ")}\n`);
  }
}
inference.close();
retrying.close();
health.close();
