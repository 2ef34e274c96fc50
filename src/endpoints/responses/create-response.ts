/** `POST /v1/responses`: starts the run of a request, and answers with its response. */
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { withFieldPaths } from "../../client/field-paths.ts";
import {
  AccessDeniedError,
  errorFromProto,
  InternalError,
  invalidField,
  NotFoundError,
  type SDKError,
  toSdkError,
} from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import { type Run, type RunEvent, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { KEEP_ALIVE_MS } from "../../http/event-body.ts";
import { jsonTextResponse } from "../../http/json-response.ts";
import type { StartedRun } from "../../runs/engine.ts";
import { RunStateError } from "../../runs/errors.ts";
import { createStatusEvent } from "../../runs/run-log.ts";
import { checkContentType, invalidParameter } from "../openai/fields.ts";
import { toConversationId, toResponseId } from "../openai/ids.ts";
import { conversationNotFound } from "../openai/not-found.ts";
import type { ResponsesParts } from "./parts.ts";
import { readToEnd } from "./read-events.ts";
import { parseRequest, type ReadRequest, readRequest, readTarget } from "./read-request.ts";
import { answerSingleCall, findSingleCall, isRelayable, readRelayable } from "./single-call.ts";
import { toResponseStatus, writeRun } from "./write-response.ts";
import { createUnstoredRun } from "./write-single-call.ts";
import { acceptedStreamResponse, type StreamSource, streamResponse } from "./write-stream.ts";

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
  const reading = { ...parts, owner: request.caller.name };
  // A stored response always needs a run.
  if (fields.get("store") !== false) return answerRun(await readRequest(fields, reading), request, parts);
  const target = readTarget(fields, parts.models);
  const read = () => readRequest(fields, reading);
  if (isRelayable(fields, target))
    return answerSingleCall(await readRelayable(fields, target, read), request, parts);
  const found = await read();
  const call = findSingleCall(found);
  return call === undefined ? answerRun(found, request, parts) : answerSingleCall(call, request, parts);
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
  const { mcpServers, inheritTools } = read.input.request;
  if (mcpServers.length > 0 || inheritTools) return await responseFromEvents(requested);
  const run = await started.result();
  if (run.error !== undefined) throw toRequestFailure(errorFromProto(run.error), read);
  return await jsonTextResponse(writeRun(run, read.settings));
}

async function streamAnswer(
  { read, started }: RequestedRun,
  request: EndpointRequest,
  { keepAliveMs = KEEP_ALIVE_MS, checkpoints }: ResponsesParts,
): Promise<EndpointResponse> {
  const { run, events } = started;
  const { settings } = read;
  const source: StreamSource = {
    run,
    events,
    settings,
    checkpoints: run.stored ? checkpoints.open(run, settings) : undefined,
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
    throw toRequestFailure(toSdkError(thrown), read);
  }
}

/**
 * Returns the response of a run whose tools the sidecar executes. It is read from the events, since only they have the
 * order of the calls.
 */
async function responseFromEvents({ read, started }: RequestedRun): Promise<EndpointResponse> {
  const { failure, last } = await readToEnd(started.run, started.events, read.settings);
  if (failure !== undefined) throw toRequestFailure(failure, read);
  if (last === undefined) throw new InternalError("a finished run has no response");
  return await jsonTextResponse(last);
}

/** A run, and the request that started it. */
export interface RequestedRun {
  readonly read: ReadRequest;
  readonly started: StartedRun;
}

/** Options for starting a run. */
export interface StartOptions {
  /** Whether the caller reads events. Default: the request decides. */
  readonly isStreamed?: boolean | undefined;
}

/** Creates the run of a request that was read. @throws SDKError with the paths of the body. */
export async function createRun(
  read: ReadRequest,
  { engine, recentAnswers }: ResponsesParts,
  request: EndpointRequest,
  { isStreamed }: StartOptions,
): Promise<RequestedRun> {
  const { caller, signal, trace, client } = request;
  const { provider, model } = read.target.served;
  const options = {
    owner: caller.name,
    signal,
    client,
    onMessages: read.input.request.store === false ? recentAnswers.createListener(caller.name) : undefined,
    trace,
    isStreamed: isStreamed ?? read.isStreamed,
  };
  try {
    // A background run calls the models after the request, without its caller.
    if (read.input.request.background && !caller.allowsModel(provider, model))
      throw new AccessDeniedError(`the caller may not use the model ${model} of ${provider}`);
    return { read, started: await engine.createRun(read.input, options) };
  } catch (thrown) {
    read.input.conversation?.share.release();
    throw toStartFailure(toSdkError(thrown), read);
  }
}

/** Matches the message of a run's failure if it begins with a field of the request to the engine. */
const RUN_FIELD = /^((?:options\.|input\[)[\w.[\]]+|previous_run_id): (.*)$/s;

/** Converts the failure of a run to the error of its request. */
function toRequestFailure(failure: SDKError, read: ReadRequest): SDKError {
  if (failure.violations.length > 0) return withFieldPaths(failure, (field) => read.toBodyPath(field));
  const [, field, description] = RUN_FIELD.exec(failure.message) ?? [];
  const isOurs =
    failure.kind === ErrorKind.INVALID_REQUEST && field !== undefined && description !== undefined;
  if (!isOurs) return failure;
  // The engine reports problems of a continued thread under this name, too.
  const isThread = field === "previous_run_id" && read.input.request.threadId !== "";
  return invalidField(read.toBodyPath(isThread ? "thread_id" : field), description);
}

/** Returns the error with the fields of the body. Errors that name no field keep their class. */
function toStartFailure(error: SDKError, read: ReadRequest): SDKError {
  const { threadId } = read.input.request;
  if (error instanceof NotFoundError && error.violations.some(({ field }) => field === "thread_id"))
    return conversationNotFound(toConversationId(threadId));
  if (error instanceof RunStateError) {
    const found = `the response ${toResponseId(error.runId)} is ${toResponseStatus(error.status)}`;
    return invalidParameter(
      "previous_response_id",
      "invalid_value",
      `${found}, expected a response that has ended`,
    );
  }
  return withFieldPaths(error, (field) => read.toBodyPath(field));
}

/**
 * Creates a run without a model call, for a request that a later request of the same connection continues. It is not
 * stored.
 */
export function prepareRun(read: ReadRequest): RequestedRun {
  const { input, target } = read;
  input.conversation?.share.release();
  const run = createUnstoredRun({ target, metadata: input.request.metadata });
  const ended: Run = { ...run, status: RunStatus.COMPLETED, endedAt: timestampNow() };
  const events = [run, ended].map((value, sequence) => createStatusEvent(sequence, value));
  return { read, started: { run, events: once(events), result: async () => ended } };
}

async function* once(events: readonly RunEvent[]): AsyncGenerator<readonly RunEvent[]> {
  yield events;
}
