/**
 * Runs -> response objects. One function writes every object: responses to requests, responses in the first and last
 * events of a stream, and stored responses.
 */

import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { InferenceError } from "../../gen/outrigger/v1/error_pb.ts";
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { IncompleteReason, type Run, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import type {
  IncompleteDetails,
  ResponseError,
  ResponseObject,
  ResponseStatus,
  Usage as WrittenUsage,
} from "../../wire/openai-responses/response.ts";
import { toResponseError } from "../openai/errors.ts";
import { toResponseId } from "../openai/ids.ts";
import type { RequestWarning } from "../openai/request-notes.ts";
import { getToolPaths, toBodyPath } from "./request-paths.ts";
import type { ResponseSettings } from "./settings.ts";

/** The output of a run so far. */
export interface RunOutput {
  /** The model that answers; empty while that is not known. */
  readonly model: string;
  /** The items, each as JSON text. */
  readonly items: readonly string[];
  /** Warnings of the steps. */
  readonly warnings: readonly Warning[];
}

/** Writes the response objects of one run. The unchanging fields are written once. */
export class ResponseWriter {
  readonly #warnings: readonly RequestWarning[];
  readonly #toolPaths: readonly string[];
  readonly #head: string;
  readonly #tail: string;

  /** @param run The run at its creation, or later. */
  constructor(run: Run, { echoed, warnings }: ResponseSettings) {
    this.#warnings = warnings;
    this.#toolPaths = getToolPaths(echoed.tools);
    const created_at = toSeconds(run.createdAt) ?? 0;
    const head = { id: toResponseId(run.id), object: "response", created_at } as const;
    this.#head = `{${toMembers(head satisfies Partial<ResponseObject>)}`;
    this.#tail = JSON.stringify(echoed).slice(1);
  }

  /** UTF-16 units of the unchanging fields. */
  get units(): number {
    return this.#head.length + this.#tail.length;
  }

  /** The path of a field of the contract in the request. Places of messages are not known any more. */
  toRequestPath(field: string): string {
    return toBodyPath(field, { messages: [], tools: this.#toolPaths, servers: [] });
  }

  /** Returns the response object of a run, as JSON text. */
  write(run: Run, { model, items, warnings }: RunOutput): string {
    const state = toMembers(toState(run, model));
    const told = [
      ...this.#warnings,
      ...[...run.warnings, ...warnings].map((each) => toWarning(each, this.#toolPaths)),
    ];
    return `${this.#head},${state},"output":[${items.join(",")}],${warningsText(told)}${this.#tail}`;
  }
}

/** Returns the fields of a response that change while its run does. */
function toState(run: Run, model: string) {
  const status = getStatus(run.status);
  return {
    status,
    completed_at: status === "completed" ? (toSeconds(run.endedAt) ?? null) : null,
    error: toError(run.error),
    incomplete_details: toIncompleteDetails(run),
    model: model === "" ? run.model : model,
    usage: toUsage(run.usage),
  } satisfies Partial<ResponseObject>;
}

/** A run that requires action is a completed response, whose calls are for the caller. */
function getStatus(status: RunStatus): ResponseStatus {
  switch (status) {
    case RunStatus.QUEUED:
      return "queued";
    case RunStatus.REQUIRES_ACTION:
    case RunStatus.COMPLETED:
      return "completed";
    case RunStatus.INCOMPLETE:
      return "incomplete";
    case RunStatus.FAILED:
      return "failed";
    case RunStatus.CANCELLED:
      return "cancelled";
    default:
      return "in_progress";
  }
}

function toError(error: InferenceError | undefined): ResponseError | null {
  return error === undefined ? null : toResponseError(error);
}

/** OpenAI has no reasons for limits on steps, calls or cost: they are reported as a limit on tokens. */
function toIncompleteDetails({ status, incompleteReason }: Run): IncompleteDetails | null {
  if (status !== RunStatus.INCOMPLETE) return null;
  const isFiltered = incompleteReason === IncompleteReason.CONTENT_FILTER;
  return { reason: isFiltered ? "content_filter" : "max_output_tokens" };
}

/** Converts token counts. */
export function toUsage(usage: Usage | undefined): WrittenUsage | null {
  if (usage === undefined) return null;
  const { inputTokens, cacheReadTokens = 0, cacheWriteTokens = 0, outputTokens, totalTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: totalTokens,
  };
}

/** Returns `warnings`, which OpenAI does not have, only if there are any. */
function warningsText(warnings: readonly RequestWarning[]): string {
  return warnings.length === 0 ? "" : `"warnings":${JSON.stringify(warnings)},`;
}

/** Returns the members of an object, without its braces. */
function toMembers(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}

function toSeconds(time: Timestamp | undefined): number | undefined {
  return time === undefined ? undefined : Number(time.seconds);
}

/**
 * Converts a warning of the contract, with the path of the field in the request of this API.
 * @param tools Paths of the tools. Paths of messages are no longer known: the warning names `input`.
 */
function toWarning({ code, field, message }: Warning, tools: readonly string[]): RequestWarning {
  return { code, param: toBodyPath(field, { messages: [], tools, servers: [] }), message };
}
