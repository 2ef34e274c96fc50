/** Answers a request of an API that stores nothing: one call of a model, whole or as a stream. */
import { withFieldPaths } from "../../client/field-paths.ts";
import { toSdkError } from "../../core/errors.ts";
import type { RestoredState } from "../../core/source-form.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response, Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { type EventWriter, streamEvents } from "../../http/event-body.ts";
import { jsonResponse } from "../../http/json-response.ts";
import type { WarningCode } from "../../kit/call/loss-report.ts";
import type { ModelResolver } from "../models/model-directory.ts";
import type { RequestWarning } from "../openai/request-notes.ts";
import { writeWarnings } from "../openai/warnings-header.ts";
import { type CallerForm, RelayedCall } from "../relay/relayed-call.ts";
import type { RecentAnswers } from "./recent-answers.ts";
import { restoreAnswers } from "./restore-answers.ts";

/** The parts that these APIs share. */
export interface StatelessParts {
  readonly models: ModelResolver;
  /** Recent answers with tool calls, to restore the state that clients do not return. */
  readonly recentAnswers: RecentAnswers;
  /** Longest silence of a stream in milliseconds. Default 15 seconds. */
  readonly keepAliveMs?: number | undefined;
}

/** A request that was read from a body. */
export interface ReadRequest {
  readonly request: Request;
  readonly isStreamed: boolean;
  /** Parts of the request that have no effect. */
  readonly warnings: readonly RequestWarning[];
  /** The body as received, for providers with the same API. Absent if it has to be translated for every provider. */
  readonly form?: CallerForm | undefined;
  /** The state that has already been restored to earlier answers. Absent if that is still to be done. */
  readonly restored?: RestoredState | undefined;
  /**
   * Returns the path in the body of a field of the contract.
   * @param field For instance `messages[2].content[0].image`.
   */
  toBodyPath(field: string): string;
}

/** The form in which an API answers. */
export interface AnswerFormat {
  /**
   * Whether the bodies of answers contain the warnings. Default: a header does. Relayed answers always have the header.
   */
  readonly hasWarnings?: boolean;
  /** Returns the id by which the caller may refer to the answer. Default: there is none. */
  getAnswerId?(): string;
  /** Converts a whole answer, to an object or to JSON text. */
  writeAnswer(response: Response): object | string;
  createWriter(): EventWriter;
}

/**
 * Calls the model and returns its answer in the form of the API: unchanged if the provider speaks the same API.
 * @throws SDKError with the paths of the body.
 */
export async function answerRequest(
  read: ReadRequest,
  format: AnswerFormat,
  request: EndpointRequest,
  parts: StatelessParts,
): Promise<EndpointResponse> {
  const { recentAnswers } = parts;
  const restored =
    read.restored ??
    (await restoreAnswers(read.request.messages, recentAnswers.createSource(request.caller.name)));
  const call = read.form && new RelayedCall(read.form, { request: read.request, restored }, request.headers);
  try {
    return await callModel(read, format, request, { ...parts, call });
  } catch (thrown) {
    const error = toSdkError(thrown);
    const failure = call?.takeFailure(error);
    if (failure === undefined) throw withFieldPaths(error, (field) => read.toBodyPath(field));
    request.noteFailure(error);
    return failure;
  }
}

async function callModel(
  read: ReadRequest,
  format: AnswerFormat,
  request: EndpointRequest,
  { recentAnswers, keepAliveMs, call }: StatelessParts & { readonly call: RelayedCall | undefined },
): Promise<EndpointResponse> {
  const { client, signal, caller } = request;
  const source = call?.source;
  const onAnswer = ({ inferenceId, message }: Response) => {
    const getId = () => format.getAnswerId?.() ?? inferenceId;
    if (message !== undefined) recentAnswers.add(caller.name, getId, message);
  };
  const getHeaders = (warnings: readonly Warning[]) => {
    const relayed = call?.answerHeaders;
    if (relayed === undefined) return format.hasWarnings ? {} : writeWarnings(read, read.warnings, warnings);
    // Warnings about the body do not apply to a request that goes out unchanged.
    return { ...relayed, ...writeWarnings(read, [], warnings.filter(appliesToRelayed)) };
  };
  if (read.isStreamed) {
    const options = { writer: format.createWriter(), getHeaders, onAnswer, keepAliveMs, source };
    return streamEvents(read.request, request, options);
  }
  const response = await client.complete(read.request, { signal, source });
  const answer = call?.takeAnswer() ?? jsonResponse(format.writeAnswer(response));
  onAnswer(response);
  return { ...answer, headers: { ...answer.headers, ...getHeaders(response.warnings) } };
}

/** Reports whether a warning applies to a relayed answer, which has all candidates. */
function appliesToRelayed({ code }: Warning): boolean {
  return code !== ("further_candidates" satisfies WarningCode);
}
