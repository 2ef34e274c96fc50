import type {
  IncompleteDetails,
  ResponseObject,
  ResponseStatus,
  Usage,
} from "../../src/wire/openai-responses/response.ts";
import { describeFailure } from "../openai/failure.ts";
import type { Turn } from "../script/turn.ts";
import type { CheckedRequest } from "./checked-request.ts";
import { type EchoedSettings, echoSettings } from "./echo-settings.ts";
import { toResponseId } from "./item-ids.ts";
import type { WrittenItem } from "./output-items.ts";

/** A response object. The simulator omits some of its fields. */
export interface SimulatedResponse extends Omit<EchoedSettings, "id"> {
  readonly id: string;
  readonly output?: readonly WrittenItem[];
}

/** Creates the response object of one request, in each of its states. */
export interface ResponseStates {
  /** Returns the object while the response is being written. */
  open(): SimulatedResponse;
  /** Returns the object when the model has stopped: completed, or incomplete. */
  finished(turn: Turn, output: readonly WrittenItem[]): SimulatedResponse;
  /** Returns the object of a failed response. */
  failed(code: string | undefined): SimulatedResponse;
}

/** The inputs for a response object. */
export interface ResponseOrigin {
  readonly requestNumber: number;
  readonly request: CheckedRequest;
  /** When the request arrived, in milliseconds since 1970. */
  readonly startedAt: number;
  /** Whether the model reasons. */
  readonly reasons: boolean;
}

/** Prepares the response object of a request. */
export function createResponseStates(origin: ResponseOrigin): ResponseStates {
  const { requestNumber, request, startedAt, reasons } = origin;
  const settings = echoSettings(request, reasons);
  const build = (status: ResponseStatus, facts: Partial<SimulatedResponse>): SimulatedResponse => ({
    id: toResponseId(requestNumber),
    object: "response",
    created_at: toSeconds(startedAt),
    status,
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    model: request.model,
    output: [],
    service_tier: "default",
    tool_usage: toToolUsage(0),
    usage: null,
    ...settings,
    ...facts,
  });
  return {
    open: () => build("in_progress", { service_tier: "auto" }),
    finished: (turn, output) => build(getStatus(turn), finalFacts(turn, output)),
    failed: (requested) => {
      const { code, message } = describeFailure(requested);
      return build("failed", { error: { code, message }, service_tier: "auto" });
    },
  };
}

function getStatus(turn: Turn): "completed" | "incomplete" {
  return turn.stop === "end" ? "completed" : "incomplete";
}

function finalFacts(turn: Turn, output: readonly WrittenItem[]): Partial<SimulatedResponse> {
  const searches = turn.parts.filter((part) => part.kind === "web_search").length;
  const isComplete = turn.stop === "end";
  return {
    output,
    tool_usage: toToolUsage(searches),
    usage: toUsage(turn),
    ...(isComplete
      ? { completed_at: toSeconds(Date.now()) }
      : { incomplete_details: { reason: getReason(turn.stop) } }),
  };
}

function getReason(stop: Turn["stop"]): NonNullable<IncompleteDetails["reason"]> {
  return stop === "content_filter" ? "content_filter" : "max_output_tokens";
}

function toUsage({ usage }: Turn): Usage {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cache_write_tokens: usage.cacheWriteTokens, cached_tokens: usage.cachedTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}

function toToolUsage(searches: number): NonNullable<ResponseObject["tool_usage"]> {
  return {
    image_gen: {
      input_tokens: 0,
      input_tokens_details: { image_tokens: 0, text_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { image_tokens: 0, text_tokens: 0 },
      total_tokens: 0,
    },
    web_search: { num_requests: searches },
  };
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
