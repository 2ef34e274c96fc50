import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { FinalResponse, type Request, RequestSchema } from "../gen/outrigger/v1/request_pb.ts";

/**
 * A hash over all of a request that may change its answer: everything but its time limits and how much the end of a
 * stream repeats. Requests with the same fields have the same key, in whatever order their maps are.
 */
export function requestKey(request: Request): string {
  const { timeouts: _, ...rest } = request;
  const canonical: Request = {
    ...rest,
    finalResponse: FinalResponse.UNSPECIFIED,
    metadata: sorted(request.metadata),
    providerOptionsJson: sorted(request.providerOptionsJson),
  };
  return createHash("sha256").update(toBinary(RequestSchema, canonical)).digest("base64");
}

function sorted(map: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).sort(([left], [right]) => (left < right ? -1 : 1)));
}
