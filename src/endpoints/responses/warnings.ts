/** Warnings as a response has them. */
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { paramOf } from "./params.ts";
import type { RequestWarning } from "./settings.ts";

/** A warning of the contract, with the path of the field in the API's own request. */
export function warningOf({ code, field, message }: Warning): RequestWarning {
  return { code, param: paramOf(field), message };
}
