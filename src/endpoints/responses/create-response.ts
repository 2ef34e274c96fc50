/** `POST /v1/responses`. */
import { errorFromProto, InternalError, toSdkError } from "../../core/errors.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { jsonTextResponse } from "../../http/json-response.ts";
import { checkContentType } from "../openai/content-type.ts";
import type { ResponsesParts } from "./parts.ts";
import { readToEnd } from "./read-events.ts";
import { openRelayed, takeRelayed } from "./relayed-answer.ts";
import { failureOfRequest, type RequestedRun, startRun } from "./start-run.ts";
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
  const requested = await startRun(await request.readBody(), parts, request);
  const { read, started } = requested;
  if (read.isStreamed) return await streamAnswer(requested, request, parts);
  if (started.run.background) return await jsonTextResponse(writeRun(started.run, read.settings));
  return await wholeResponse(requested, request);
}

async function streamAnswer(
  requested: RequestedRun,
  request: EndpointRequest,
  { keepAliveMs = KEEP_ALIVE_MS, marks }: ResponsesParts,
): Promise<EndpointResponse> {
  const { read, started } = requested;
  const { run } = started;
  const { settings } = read;
  const opened = await openRelayed(requested, request, keepAliveMs);
  if ("status" in opened) return opened;
  const source: StreamSource = {
    run,
    events: opened.events,
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

async function wholeResponse(
  { read, started, relaying }: RequestedRun,
  request: EndpointRequest,
): Promise<EndpointResponse> {
  const { mcpServers, inheritTools } = read.input.request;
  if (mcpServers.length > 0 || inheritTools) return await responseFromEvents({ read, started });
  const run = await started.result();
  const relayed = relaying && takeRelayed(relaying, run, request);
  if (relayed !== undefined) return relayed;
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
