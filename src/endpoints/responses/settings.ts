/**
 * Settings that a response repeats from its request. They are stored with the run, so that later responses about the
 * run repeat the same settings.
 */

import { create } from "@bufbuild/protobuf";
import { parseJsonText } from "../../core/json-text.ts";
import { type RunOrigin, RunOriginSchema } from "../../gen/outrigger/storage/v1/bodies_pb.ts";
import type { Run } from "../../gen/outrigger/v1/run_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { RunWithOrigin } from "../../runs/engine.ts";
import { toResponseId } from "../openai/ids.ts";
import type { RequestWarning } from "../openai/request-notes.ts";

/** The settings of a response. */
export interface ResponseSettings {
  /** The fields of the request that the response object repeats, in its form. */
  readonly echoed: EchoedSettings;
  /** Tools of items of the input, which the response does not repeat. */
  readonly addedTools: readonly JsonObject[];
  /** Additional data that the caller requests by `include`. */
  readonly include: readonly string[];
  /** Warnings found while the request was read. Warnings of model calls are in the run's steps. */
  readonly warnings: readonly RequestWarning[];
  /** The ids of the approval requests that the input answers with yes, by the ids of their calls. */
  readonly approved: Readonly<Record<string, string>>;
}

/** The fields of a response object that repeat its request. Every response has all fields, null if unset. */
export interface EchoedSettings {
  readonly background: boolean;
  readonly conversation: { readonly id: string } | null;
  /** A field of Open Responses, like `presence_penalty`: OpenAI's API has neither. */
  readonly frequency_penalty: number;
  readonly instructions: string | null;
  readonly max_output_tokens: number | null;
  readonly max_tool_calls: number | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly parallel_tool_calls: boolean;
  readonly presence_penalty: number;
  readonly previous_response_id: string | null;
  readonly prompt: JsonObject | null;
  readonly prompt_cache_key: string | null;
  readonly prompt_cache_retention: string | null;
  readonly reasoning: JsonObject;
  readonly safety_identifier: string | null;
  /** The requested tier. */
  readonly service_tier: string;
  readonly store: boolean;
  readonly temperature: number;
  readonly text: JsonObject;
  readonly tool_choice: string | JsonObject;
  /** As the caller sent them, without the secrets of MCP servers. */
  readonly tools: readonly JsonObject[];
  readonly top_logprobs: number;
  readonly top_p: number;
  readonly truncation: string;
  readonly user: string | null;
}

/** The settings of a request without any: OpenAI's defaults. */
export const defaultSettings: ResponseSettings = {
  echoed: {
    background: false,
    conversation: null,
    frequency_penalty: 0,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: {},
    parallel_tool_calls: true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt: null,
    prompt_cache_key: null,
    prompt_cache_retention: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: "auto",
    store: true,
    temperature: 1,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    user: null,
  },
  addedTools: [],
  include: [],
  warnings: [],
  approved: {},
};

/**
 * Reports whether reasoning items contain the provider's state, which a caller that keeps the conversation has to
 * return.
 */
export function carriesState({ echoed, include }: ResponseSettings): boolean {
  return !echoed.store || include.includes("reasoning.encrypted_content");
}

/** Name of this API in the origin of a run. */
const API_NAME = "responses";

/** Returns the origin of a run with these settings. */
export function getOrigin(settings: ResponseSettings): RunOrigin {
  return create(RunOriginSchema, { api: API_NAME, settingsJson: JSON.stringify(settings) });
}

/**
 * Returns the settings of a run. For a run that was created over gRPC, these are the run's fields and the defaults. An
 * older run has the defaults of settings that were added later.
 */
export function getSettings(run: RunWithOrigin): ResponseSettings {
  const { origin } = run;
  if (origin === undefined || origin.api !== API_NAME) return { ...defaultSettings, echoed: toEcho(run) };
  // Written only by `getOrigin`.
  const kept = parseJsonText(origin.settingsJson) as Partial<ResponseSettings>;
  return { ...defaultSettings, ...kept, echoed: { ...defaultSettings.echoed, ...kept.echoed } };
}

function toEcho({ background, stored, metadata, previousRunId }: Run): EchoedSettings {
  return {
    ...defaultSettings.echoed,
    background,
    metadata,
    previous_response_id: previousRunId === "" ? null : toResponseId(previousRunId),
    store: stored,
  };
}
