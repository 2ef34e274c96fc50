/** Warnings in the form of a response. */
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { toBodyPath } from "./request-paths.ts";
import type { RequestWarning } from "./settings.ts";

/**
 * Converts a warning of the contract, with the path of the field in the request of this API.
 * @param tools Paths of the tools. Paths of messages are no longer known: the warning names `input`.
 */
export function toWarning({ code, field, message }: Warning, tools: readonly string[]): RequestWarning {
  return { code, param: toBodyPath(field, { messages: [], tools, servers: [] }), message };
}
