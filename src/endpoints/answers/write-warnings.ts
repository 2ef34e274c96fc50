import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { RequestWarning } from "../openai/request-notes.ts";
import { toWarningsHeader } from "../openai/warnings-header.ts";

/** Writes the header with the warnings about a body and about its call. @param read Returns paths of the body. */
export function writeWarnings(
  read: { toBodyPath(field: string): string },
  ofBody: readonly RequestWarning[],
  ofCall: readonly Warning[],
): Readonly<Record<string, string>> {
  const told = ofCall.map(({ code, field, message }) => ({ code, param: read.toBodyPath(field), message }));
  return toWarningsHeader([...ofBody, ...told]);
}
