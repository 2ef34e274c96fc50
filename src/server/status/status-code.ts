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
  return CODE_NAMES.get(code) ?? "UNKNOWN";
}

/** Connect's names in gRPC's spelling, which differs in one (`Canceled`). */
const CODE_NAMES: ReadonlyMap<Code, string> = new Map(
  Object.values(Code)
    .filter((code) => typeof code === "number")
    .map((code) => {
      const name = Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
      return [code, code === Code.Canceled ? "CANCELLED" : name];
    }),
);
