/** `POST /v1/responses/input_tokens`: the number of input tokens of a request. */
import { create } from "@bufbuild/protobuf";
import { systemMessage } from "../../core/message.ts";
import type { Message } from "../../gen/outrigger/v1/message_pb.ts";
import { type Request, RequestSchema } from "../../gen/outrigger/v1/request_pb.ts";
import { countTokens as countWithClient } from "../../generation/loop/model-calls.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { jsonResponse } from "../../http/json-response.ts";
import { type HistorySource, readHistory } from "./read-history.ts";
import { type ReadRequest, type RequestReading, readRequest } from "./read-request.ts";

/** Marks the count as an estimate. */
const ESTIMATE = { "outrigger-estimate": "true" };

/** The parts that reading a request with its conversation needs. */
export interface TokenCounting extends Omit<RequestReading, "engine"> {
  readonly engine: HistorySource & RequestReading["engine"];
}

/**
 * Counts the tokens of a request's input, with the conversation that it continues. If the provider cannot count them,
 * returns an estimate, which a header marks.
 */
export async function countTokens(
  body: Uint8Array,
  counting: TokenCounting & Pick<EndpointRequest, "client" | "signal">,
): Promise<EndpointResponse> {
  const { engine, owner, client, signal } = counting;
  const read = await readRequest(body, counting);
  try {
    const { conversation, request } = read.input;
    const history = await readHistory(engine, owner, conversation?.previous?.run, request.threadId);
    const { inputTokens, estimated } = await countWithClient(client, toRequest(read, history), { signal });
    const response = jsonResponse({ object: "response.input_tokens", input_tokens: inputTokens });
    return { ...response, headers: { ...response.headers, ...(estimated ? ESTIMATE : {}) } };
  } finally {
    read.input.conversation?.share.release();
  }
}

function toRequest({ input }: ReadRequest, history: readonly Message[]): Request {
  const { request = create(RequestSchema), system = "" } = input.request.options ?? {};
  const added = (input.input ?? []).flatMap(({ message }) => message ?? []);
  const instructions = system === "" ? [] : [systemMessage(system)];
  return { ...request, messages: [...instructions, ...history, ...added] };
}
