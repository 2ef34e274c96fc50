import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { FinalResponse, type Request, RequestSchema } from "../gen/outrigger/v1/request_pb.ts";

/**
 * Returns a hash over all fields of a request that may change its answer: everything except its time limits and the
 * setting for the end of a stream. Requests with the same fields have the same key, whatever the order of their maps.
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
