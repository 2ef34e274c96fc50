import { Code } from "@connectrpc/connect";
import { ErrorKind, ErrorKindSchema } from "../../gen/outrigger/v1/error_pb.ts";

/** Returns the RPC status of an error kind; UNKNOWN for an unknown kind. */
export function getCode(kind: ErrorKind): Code {
  switch (kind) {
    case ErrorKind.AUTHENTICATION:
      return Code.Unauthenticated;
    case ErrorKind.ACCESS_DENIED:
      return Code.PermissionDenied;
    case ErrorKind.NOT_FOUND:
      return Code.NotFound;
    case ErrorKind.INVALID_REQUEST:
    case ErrorKind.CONTEXT_LENGTH:
    case ErrorKind.CONTENT_FILTER:
    case ErrorKind.UNSUPPORTED_TOOL_CHOICE:
      return Code.InvalidArgument;
    case ErrorKind.RATE_LIMIT:
    case ErrorKind.QUOTA_EXCEEDED:
      return Code.ResourceExhausted;
    case ErrorKind.SERVER:
    case ErrorKind.NETWORK:
    case ErrorKind.STREAM:
      return Code.Unavailable;
    case ErrorKind.REQUEST_TIMEOUT:
      return Code.DeadlineExceeded;
    case ErrorKind.ABORT:
      return Code.Canceled;
    case ErrorKind.INVALID_TOOL_CALL:
    case ErrorKind.NO_OBJECT_GENERATED:
      return Code.Aborted;
    case ErrorKind.CONFIGURATION:
      return Code.FailedPrecondition;
    case ErrorKind.INTERNAL:
      return Code.Internal;
    default:
      return Code.Unknown;
  }
}

/** Returns the name of a kind without its prefix, for instance `RATE_LIMIT`. An unknown number is `KIND_<number>`. */
export function kindName(kind: ErrorKind): string {
  return ErrorKindSchema.value[kind]?.localName ?? `KIND_${kind}`;
}

/** Returns the canonical name of the status of a failure, for instance `DEADLINE_EXCEEDED`. */
export function codeName(code: Code): string {
  return CODE_NAMES[code];
}

// gRPC's spelling, which differs from Connect's (`Canceled`).
const CODE_NAMES: Readonly<Record<Code, string>> = {
  [Code.Canceled]: "CANCELLED",
  [Code.Unknown]: "UNKNOWN",
  [Code.InvalidArgument]: "INVALID_ARGUMENT",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.NotFound]: "NOT_FOUND",
  [Code.AlreadyExists]: "ALREADY_EXISTS",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.ResourceExhausted]: "RESOURCE_EXHAUSTED",
  [Code.FailedPrecondition]: "FAILED_PRECONDITION",
  [Code.Aborted]: "ABORTED",
  [Code.OutOfRange]: "OUT_OF_RANGE",
  [Code.Unimplemented]: "UNIMPLEMENTED",
  [Code.Internal]: "INTERNAL",
  [Code.Unavailable]: "UNAVAILABLE",
  [Code.DataLoss]: "DATA_LOSS",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
};
