/**
 * Runs -> response objects. One function writes every object: responses to requests, responses in the first and last
 * events of a stream, and stored responses.
 */

import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Response, Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { IncompleteReason, type Run, RunStatus } from "../../gen/outrigger/v1/run_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { answerMessageId, isRepeated } from "../../runs/messages.ts";
import { isQueuedOrRunning } from "../../runs/status.ts";
import type {
  ResponseObject,
  ResponseStatus,
  Usage as WrittenUsage,
} from "../../wire/openai-responses/response.ts";
import { pickMembers, readAnswerMetadata } from "../answers/answer-metadata.ts";
import { toResponseError } from "../openai/errors.ts";
import { toResponseId } from "../openai/ids.ts";
import type { RequestWarning } from "../openai/request-notes.ts";
import { getToolPaths, toBodyPath } from "./request-paths.ts";
import type { ResponseSettings } from "./settings.ts";
import { ItemWriter } from "./write-items.ts";

/** The output of a run so far. */
export interface RunOutput {
  /** The model that answers; empty while that is not known. */
  readonly model: string;
  /** The items, each as JSON text. */
  readonly items: readonly string[];
  /** Warnings of the steps. */
  readonly warnings: readonly Warning[];
  /** Of the latest step; undefined before its end. */
  readonly metadata: ResponseMetadata | undefined;
}

/** The metadata of a provider's answer for which the API has a field. */
export interface ResponseMetadata {
  /** The tier that served the request, if the provider reports it. */
  readonly tier: string | undefined;
  /** Fields that only OpenAI fills. */
  readonly further: JsonObject;
}

/** Reads the metadata of an answer. */
export function readMetadata(response: Response): ResponseMetadata {
  const { members, tier } = readAnswerMetadata(response);
  return { tier, further: pickMembers(members, FURTHER_MEMBERS) };
}

/** Writes the response objects of one run. The unchanging fields are written once. */
export class ResponseWriter {
  readonly #warnings: readonly RequestWarning[];
  readonly #tools: readonly JsonObject[];
  /** Read when a path is first needed: most responses have no warnings. */
  #toolPaths: readonly string[] | undefined;
  readonly #head: string;
  readonly #tail: string;
  /** The requested tier, unless it was left out for the provider. */
  readonly #tier: string;

  /** @param run The run at its creation, or later. */
  constructor(run: Run, { echoed, warnings }: ResponseSettings) {
    const { service_tier, ...unchanging } = echoed;
    this.#warnings = warnings;
    this.#tools = echoed.tools;
    this.#tier = warnings.some(({ param }) => param === "service_tier") ? DEFAULT_TIER : service_tier;
    const created_at = toSeconds(run.createdAt) ?? 0;
    const head = { id: toResponseId(run.id), object: "response", created_at } as const;
    this.#head = `{${toMembers(head satisfies Partial<ResponseObject>)}`;
    this.#tail = JSON.stringify(unchanging).slice(1);
  }

  /** UTF-16 units of the unchanging fields. */
  get units(): number {
    return this.#head.length + this.#tail.length;
  }

  /** Returns the path of a field of the contract in the request. Locations of messages are no longer known. */
  toRequestPath(field: string): string {
    this.#toolPaths ??= getToolPaths(this.#tools);
    return toBodyPath(field, { messages: [], tools: this.#toolPaths, servers: [] });
  }

  /** Returns the response object of a run, as JSON text. */
  write(run: Run, { model, items, warnings, metadata }: RunOutput): string {
    const service_tier = isQueuedOrRunning(run.status) ? this.#tier : getUsedTier(this.#tier, metadata);
    const state = toMembers({ ...toState(run, model), service_tier, ...metadata?.further });
    const all = [...this.#warnings];
    for (const { code, field, message } of [...run.warnings, ...warnings])
      all.push({ code, param: this.toRequestPath(field), message });
    // OpenAI has no such field, so it is present only if there are warnings.
    const warningsField = all.length === 0 ? "" : `"warnings":${JSON.stringify(all)},`;
    return `${this.#head},${state},"output":[${items.join(",")}],${warningsField}${this.#tail}`;
  }
}

const FURTHER_MEMBERS = ["access_programs", "moderation", "prompt_cache_diagnostics"];

const DEFAULT_TIER = "default";

/** Returns the tier that the provider reports, or else the requested one. `auto` becomes the default tier. */
function getUsedTier(requested: string, metadata: ResponseMetadata | undefined): string {
  return metadata?.tier ?? (requested === "auto" ? DEFAULT_TIER : requested);
}

/** Returns the fields of a response that change while its run does. */
function toState(run: Run, model: string) {
  const status = toResponseStatus(run.status);
  const { error, incompleteReason } = run;
  // OpenAI has no reasons for limits on steps, calls or cost: they are reported as a limit on tokens.
  const isFiltered = incompleteReason === IncompleteReason.CONTENT_FILTER;
  const reason = isFiltered ? "content_filter" : "max_output_tokens";
  return {
    status,
    completed_at: status === "completed" ? (toSeconds(run.endedAt) ?? null) : null,
    error: error === undefined ? null : toResponseError(error),
    incomplete_details: status === "incomplete" ? { reason } : null,
    model: model === "" ? run.model : model,
    usage: toUsage(run.usage),
  } satisfies Partial<ResponseObject>;
}

/** Returns the status of a run's response. One that requires action is completed: its calls are for the caller. */
export function toResponseStatus(status: RunStatus): ResponseStatus {
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

/** Returns the members of an object, without its braces. */
function toMembers(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}

function toSeconds(time: Timestamp | undefined): number | undefined {
  return time === undefined ? undefined : Number(time.seconds);
}

/**
 * Returns the response object of a run with its steps, as JSON text: the same object as in the last event of its
 * stream. Runs with tools that the sidecar executes are read from their events instead, which have the order of the
 * calls.
 */
export function writeRun(run: Run, settings: ResponseSettings): string {
  const writer = new ResponseWriter(run, settings);
  const itemWriter = new ItemWriter(settings);
  const items: string[] = [];
  const warnings: Warning[] = [];
  let model = "";
  let metadata: ResponseMetadata | undefined;
  for (const [index, { response }] of run.steps.entries()) {
    if (response === undefined) continue;
    const messageId = answerMessageId(run.id, index + 1, isRepeated(run.attempts, index + 1));
    for (const item of itemWriter.answer(messageId, response)) items.push(JSON.stringify(item));
    warnings.push(...response.warnings);
    model = response.model;
    metadata = readMetadata(response);
  }
  return writer.write(run, { model, items, warnings, metadata });
}
