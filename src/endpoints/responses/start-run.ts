/** Starts the run of a request. */
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { withFieldPaths } from "../../client/field-paths.ts";
import {
  AccessDeniedError,
  invalidField,
  NotFoundError,
  type SDKError,
  toSdkError,
} from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import { type Run, type RunEvent, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import type { EndpointRequest } from "../../http/endpoint.ts";
import type { StartedRun } from "../../runs/engine.ts";
import { createStatusEvent } from "../../runs/run-log.ts";
import type { Fields } from "../openai/fields.ts";
import { toConversationId } from "../openai/ids.ts";
import { conversationNotFound } from "../openai/not-found.ts";
import type { ResponsesParts } from "./parts.ts";
import { type ReadRequest, readRequest } from "./read-request.ts";
import { createUnstoredRun } from "./write-single-call.ts";

/** A run, and the request that started it. */
export interface RequestedRun {
  readonly read: ReadRequest;
  readonly started: StartedRun;
}

/** Options for starting a run. */
export interface StartOptions {
  /** Whether the caller reads events. Default: what the request says. */
  readonly isStreamed?: boolean | undefined;
}

/** Reads a request. @throws SDKError with the paths of the body. */
export function readFields(
  fields: Fields,
  { engine, models, allowsUnstoredContinuation, recentAnswers }: ResponsesParts,
  { caller }: Pick<EndpointRequest, "caller">,
  continuedId?: string,
): Promise<ReadRequest> {
  const settings = { allowsUnstoredContinuation, continuedId, recentAnswers, owner: caller.name };
  return readRequest(fields, { models, engine, ...settings });
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
    onMessages: recentAnswers.createListener(caller.name),
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
    throw failureToStart(toSdkError(thrown), read);
  }
}

/** Converts the failure of a run to the error of its request. */
export function failureOfRequest(failure: SDKError, read: ReadRequest): SDKError {
  if (failure.violations.length > 0) return withFieldPaths(failure, (field) => read.toBodyPath(field));
  const [, field, description] = /^(options\.[\w.[\]]+): (.*)$/s.exec(failure.message) ?? [];
  const isOurs =
    failure.kind === ErrorKind.INVALID_REQUEST && field !== undefined && description !== undefined;
  return isOurs ? invalidField(read.toBodyPath(field), description) : failure;
}

/** Returns the error with the fields of the body. Errors that name no field keep their class. */
function failureToStart(error: SDKError, read: ReadRequest): SDKError {
  const { threadId } = read.input.request;
  if (error instanceof NotFoundError && error.violations.some(({ field }) => field === "thread_id"))
    return conversationNotFound(toConversationId(threadId));
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
