/** Warnings as a response has them. */
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { bodyPathOf } from "./request-paths.ts";
import type { RequestWarning } from "./settings.ts";

/** A warning of the contract, with the path of the field in the API's own request. */
export function warningOf({ code, field, message }: Warning): RequestWarning {
  return { code, param: bodyPathOf(field, NO_PATHS), message };
}

/** The elements of the lists are not known any more: their paths keep the numbers that the contract gives them. */
const NO_PATHS = { messages: [], tools: [], servers: [] };
