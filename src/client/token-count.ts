import { create } from "@bufbuild/protobuf";
import type { CallTarget } from "../core/adapter.ts";
import {
  type CountTokensResponse,
  CountTokensResponseSchema,
} from "../gen/outrigger/v1/inference_service_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { estimateUsage } from "./estimate-usage.ts";

/** Creates the result of counting the tokens of a request. @param count Undefined: estimated. */
export function toTokenCount(
  { provider, model }: CallTarget,
  request: Request,
  count: number | undefined,
): CountTokensResponse {
  const inputTokens = count ?? estimateUsage(request).inputTokens;
  return create(CountTokensResponseSchema, { inputTokens, estimated: count === undefined, provider, model });
}
