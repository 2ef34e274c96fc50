/** Warnings as a response has them. */
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { toBodyPath } from "./request-paths.ts";
import type { RequestWarning } from "./settings.ts";

/**
 * A warning of the contract, with the path of the field in the API's own request.
 * @param tools Paths of the tools. Those of messages are not known any more: the warning names `input`.
 */
export function toWarning({ code, field, message }: Warning, tools: readonly string[]): RequestWarning {
  return { code, param: toBodyPath(field, { messages: [], tools, servers: [] }), message };
}
