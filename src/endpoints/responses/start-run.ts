/** Starts the run of a request. */

import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { withFieldPaths } from "../../client/field-paths.ts";
import {
  AccessDeniedError,
  InvalidRequestError,
  invalidField,
  NotFoundError,
  type SDKError,
  toSdkError,
} from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import {
  type Run,
  type RunEvent,
  RunEventSchema,
  RunSchema,
  RunStatus,
} from "../../gen/outrigger/v1/run_pb.ts";
import type { EndpointRequest } from "../../http/endpoint.ts";
import type { StartedRun } from "../../runs/engine.ts";
import { createRunId } from "../../runs/messages.ts";
import { Fields } from "../openai/fields.ts";
import { toConversationId } from "../openai/ids.ts";
import { conversationNotFound } from "../openai/not-found.ts";
import type { ResponsesParts } from "./parts.ts";
import { parseRequest, type ReadRequest, readRequest, readTarget } from "./read-request.ts";
import { createStandInRequest, findRelayable, type RelayableRequest, RelayingClient } from "./relayed-run.ts";

/** A run, and the request that started it. */
export interface RequestedRun {
  readonly read: ReadRequest;
  readonly started: StartedRun;
  /** Has the answer in the form of the provider, if the call is relayed. Undefined if it cannot be. */
  readonly relaying?: RelayingClient | undefined;
}

/** Options for starting a run. */
export interface StartOptions {
  /** Id of a response that the input already continues. */
  readonly continuedId?: string | undefined;
  /** Whether the model is called. Otherwise the response is empty. Default true. */
  readonly generates?: boolean | undefined;
  /** Whether the caller reads events. Default: what the request says. */
  readonly isStreamed?: boolean | undefined;
}

/**
 * Reads a request and starts its run.
 * @param body The body of `POST /v1/responses`, or its fields if they are parsed and the answer is no body of HTTP, so that
 *   it cannot be relayed.
 * @throws SDKError with the paths of the body.
 */
export async function startRun(
  body: Uint8Array | Fields,
  parts: ResponsesParts,
  request: EndpointRequest,
  options: StartOptions = {},
): Promise<RequestedRun> {
  if (body instanceof Fields) return readAndStart(body, parts, request, options);
  const fields = await parseRequest(body);
  const relayable = findRelayable(fields, readTarget(fields, parts.models));
  try {
    return await readAndStart(fields, parts, request, { ...options, relayable });
  } catch (thrown) {
    if (relayable === undefined || !(thrown instanceof InvalidRequestError)) throw thrown;
    // The provider decides what it accepts.
    const invalid = { ...relayable, form: { ...relayable.form, untranslatable: thrown } };
    return createRun(createStandInRequest(invalid), parts, request, { ...options, relayable: invalid });
  }
}

interface RunStart extends StartOptions {
  /** The body in the form of its caller, if the answer may be relayed. */
  readonly relayable?: RelayableRequest | undefined;
}

async function readAndStart(
  fields: Fields,
  parts: ResponsesParts,
  request: EndpointRequest,
  start: RunStart,
): Promise<RequestedRun> {
  const { engine, models, allowsUnstoredContinuation, recentAnswers } = parts;
  const { continuedId, generates = true } = start;
  const settings = { allowsUnstoredContinuation, continuedId, recentAnswers, owner: request.caller.name };
  const read = await readRequest(fields, { models, engine, ...settings });
  if (generates) return createRun(read, parts, request, start);
  read.input.conversation?.share.release();
  return { read, started: prepareRun(read) };
}

/** Creates the run of a request that was read. @throws SDKError with the paths of the body. */
async function createRun(
  read: ReadRequest,
  { engine, recentAnswers }: ResponsesParts,
  request: EndpointRequest,
  { isStreamed, relayable }: RunStart,
): Promise<RequestedRun> {
  const { caller, signal, trace } = request;
  const { provider, model } = read.target.served;
  const relaying = relayable && new RelayingClient(relayable, read, request);
  const options = {
    owner: caller.name,
    signal,
    client: relaying ?? request.client,
    onMessages: recentAnswers.createListener(caller.name),
    trace,
    isStreamed: isStreamed ?? read.isStreamed,
    isRelayed: () => relaying?.call?.source.relay.head !== undefined,
  };
  try {
    // A background run calls the models after the request, without its caller.
    if (read.input.request.background && !caller.allowsModel(provider, model))
      throw new AccessDeniedError(`the caller may not use the model ${model} of ${provider}`);
    return { read, started: await engine.createRun(read.input, options), relaying };
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
function prepareRun({ input, target }: ReadRequest): StartedRun {
  const now = timestampNow();
  const run = create(RunSchema, {
    id: createRunId(),
    status: RunStatus.IN_PROGRESS,
    createdAt: now,
    startedAt: now,
    model: target.model,
    provider: target.provider,
    metadata: input.request.metadata,
  });
  const ended: Run = { ...run, status: RunStatus.COMPLETED, endedAt: now };
  const events = [run, ended].map((value, sequence) =>
    create(RunEventSchema, { sequence, event: { case: "run", value } }),
  );
  return { run, events: once(events), result: async () => ended };
}

async function* once(events: readonly RunEvent[]): AsyncGenerator<readonly RunEvent[]> {
  yield events;
}
