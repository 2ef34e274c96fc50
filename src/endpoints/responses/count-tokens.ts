/** `POST /v1/responses/input_tokens`: estimates the number of input tokens of a request. */
import { create } from "@bufbuild/protobuf";
import { estimateUsage } from "../../client/estimate-usage.ts";
import { systemMessage } from "../../core/message.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import { type Request, RequestSchema } from "../../gen/outrigger/v1/request_pb.ts";
import type { EndpointResponse } from "../../http/endpoint.ts";
import { jsonResponse } from "../../http/json-response.ts";
import { type HistorySource, readHistory } from "./read-history.ts";
import { type ReadRequest, type RequestReading, readRequest } from "./read-request.ts";

/** Marks the count as an estimate. */
const ESTIMATE_HEADER = "outrigger-estimate";

/** The parts that counting needs. */
export interface TokenCounting extends Omit<RequestReading, "engine"> {
  readonly engine: HistorySource & RequestReading["engine"];
}

/**
 * Counts the tokens of a request's input, with the conversation that it continues. The count is marked as an estimate:
 * providers count differently, and most report counts only with a response.
 */
export async function countTokens(body: Uint8Array, counting: TokenCounting): Promise<EndpointResponse> {
  const read = await readRequest(body, counting);
  const history = await readHistory(counting.engine, counting.owner, read.input.request);
  const { inputTokens } = estimateUsage(toRequest(read, history));
  const response = jsonResponse({ object: "response.input_tokens", input_tokens: inputTokens });
  return { ...response, headers: { ...response.headers, [ESTIMATE_HEADER]: "true" } };
}

function toRequest({ input }: ReadRequest, history: readonly Message[]): Request {
  const { request = create(RequestSchema), system = "" } = input.request.options ?? {};
  const added = (input.input ?? []).flatMap(({ message }) => message ?? []);
  const instructions = system === "" ? [] : [systemMessage(system)];
  return { ...request, messages: [...instructions, ...history, ...added] };
}
