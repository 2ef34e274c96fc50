import { Code, ConnectError } from "@connectrpc/connect";
import { withTypeScriptPaths } from "../../../src/client/field-paths.ts";
import {
  AbortError,
  ConfigurationError,
  createError,
  errorFromProto,
  RequestTimeoutError,
  SDKError,
  toSdkError,
  withEarlierSteps,
} from "../../../src/core/errors.ts";
import { BadRequestSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { ErrorKind, InferenceErrorSchema } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { FailedGenerationSchema } from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { StepResult } from "../../../src/generation/loop/generate-result.ts";
import { noteAttempts } from "../../../src/middleware/attempts.ts";

/**
 * Turns an error of a call of the sidecar into an SDKError: the sidecar's error if the status has one, else the error
 * of its code, for instance NetworkError if no sidecar answers. Fields of a request are named as in TypeScript. The
 * error of a tool loop has its complete steps, as many as the status has room for, and its attempts.
 * @param signal The caller's signal. If it was aborted, its reason decides.
 */
export function toFailure(thrown: unknown, signal: AbortSignal | undefined): SDKError {
  if (signal?.aborted) return toAbortError(signal.reason);
  if (!(thrown instanceof ConnectError)) return toSdkError(thrown);
  const [error] = thrown.findDetails(InferenceErrorSchema);
  const [badRequest] = thrown.findDetails(BadRequestSchema);
  if (error === undefined) return errorOfCode(thrown);
  const failure = withTypeScriptPaths(errorFromProto(error, badRequest?.fieldViolations));
  const [generation] = thrown.findDetails(FailedGenerationSchema);
  if (generation === undefined) return failure;
  const steps = generation.steps.map((step) => new StepResult(step));
  const failed = withEarlierSteps(failure, undefined, steps);
  noteAttempts(failed, generation.attempts);
  return failed;
}

function toAbortError(reason: unknown): SDKError {
  if (reason instanceof SDKError) return reason;
  if (reason instanceof Error && reason.name === "TimeoutError")
    return new RequestTimeoutError("the call was aborted by a time-out", { cause: reason });
  return new AbortError("the call was aborted", { cause: reason });
}

/** Returns a failure without details of the sidecar: it was not reached, or the server is not a sidecar. */
function errorOfCode(thrown: ConnectError): SDKError {
  const { code, rawMessage } = thrown;
  if (code === Code.Unimplemented)
    return new ConfigurationError(`the server does not have this method: ${rawMessage}`, { cause: thrown });
  const kind = isLost(thrown) ? ErrorKind.NETWORK : (KINDS.get(code) ?? ErrorKind.NETWORK);
  return createError(kind, `the sidecar: ${rawMessage}`, { cause: thrown });
}

/**
 * Reports whether the connection was lost. Node resets the streams of a lost connection with CANCEL, which is neither
 * the caller, whose signal would be aborted, nor the sidecar, whose CANCELLED has details. Or the cause is an error of
 * Node.
 */
function isLost({ code, cause }: ConnectError): boolean {
  return code === Code.Canceled || (cause instanceof Error && "code" in cause);
}

const KINDS: ReadonlyMap<Code, ErrorKind> = new Map([
  [Code.DeadlineExceeded, ErrorKind.REQUEST_TIMEOUT],
  [Code.FailedPrecondition, ErrorKind.CONFIGURATION],
  [Code.Internal, ErrorKind.INTERNAL],
  [Code.InvalidArgument, ErrorKind.INVALID_REQUEST],
  [Code.PermissionDenied, ErrorKind.ACCESS_DENIED],
  [Code.ResourceExhausted, ErrorKind.RATE_LIMIT],
  [Code.Unauthenticated, ErrorKind.AUTHENTICATION],
]);
