/** `POST /v1/responses`. */
import { errorFromProto, InternalError, toSdkError } from "../../core/errors.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { jsonTextResponse } from "../../http/json-response.ts";
import { checkContentType } from "../openai/content-type.ts";
import type { ResponsesParts } from "./parts.ts";
import { readToEnd } from "./read-events.ts";
import { parseRequest, type ReadRequest, readTarget } from "./read-request.ts";
import { isRelayable } from "./relayable.ts";
import { answerSingleCall, findSingleCall, readRelayable } from "./single-call.ts";
import { createRun, failureOfRequest, type RequestedRun, readFields } from "./start-run.ts";
import { writeRun } from "./write-run.ts";
import { acceptedStreamResponse, type StreamSource, streamResponse } from "./write-stream.ts";

/** Longest silence of a stream, in milliseconds: proxies close connections that are silent for a minute. */
export const KEEP_ALIVE_MS = 15_000;

/**
 * Creates a response. Returns a stream if the caller asks for it; otherwise the queued response if it runs in the
 * background, or the finished one.
 */
export async function createResponse(
  request: EndpointRequest,
  parts: ResponsesParts,
): Promise<EndpointResponse> {
  checkContentType(request.headers["content-type"]);
  const fields = await parseRequest(await request.readBody());
  const target = readTarget(fields, parts.models);
  const readRequest = () => readFields(fields, parts, request);
  if (isRelayable(fields, target))
    return answerSingleCall(await readRelayable(fields, target, readRequest), request, parts);
  const read = await readRequest();
  const call = findSingleCall(read);
  return call === undefined ? answerRun(read, request, parts) : answerSingleCall(call, request, parts);
}

async function answerRun(
  read: ReadRequest,
  request: EndpointRequest,
  parts: ResponsesParts,
): Promise<EndpointResponse> {
  const requested = await createRun(read, parts, request, {});
  const { started } = requested;
  if (read.isStreamed) return await streamAnswer(requested, request, parts);
  if (started.run.background) return await jsonTextResponse(writeRun(started.run, read.settings));
  return await wholeResponse(requested);
}

async function streamAnswer(
  { read, started }: RequestedRun,
  request: EndpointRequest,
  { keepAliveMs = KEEP_ALIVE_MS, marks }: ResponsesParts,
): Promise<EndpointResponse> {
  const { run, events } = started;
  const { settings } = read;
  const source: StreamSource = {
    run,
    events,
    settings,
    marks: run.stored ? marks.open(run, settings) : undefined,
    keepAliveMs,
    signal: request.signal,
    startedRun: true,
    onFailure: request.noteFailure,
    startingAfter: -1,
    pads: read.streamOptions.includeObfuscation === true,
  };
  if (run.background) return streamResponse(source);
  try {
    return await acceptedStreamResponse(source);
  } catch (thrown) {
    throw failureOfRequest(toSdkError(thrown), read);
  }
}

async function wholeResponse({ read, started }: RequestedRun): Promise<EndpointResponse> {
  const { mcpServers, inheritTools } = read.input.request;
  if (mcpServers.length > 0 || inheritTools) return await responseFromEvents({ read, started });
  const run = await started.result();
  if (run.error !== undefined) throw failureOfRequest(errorFromProto(run.error), read);
  return await jsonTextResponse(writeRun(run, read.settings));
}

/** Returns the response of a run whose tools the sidecar executes: only its events have the order of the calls. */
async function responseFromEvents({ read, started }: RequestedRun): Promise<EndpointResponse> {
  const { failure, last } = await readToEnd(started.run, started.events, read.settings);
  if (failure !== undefined) throw failureOfRequest(failure, read);
  if (last === undefined) throw new InternalError("a run that is over has no response");
  return await jsonTextResponse(last);
}
