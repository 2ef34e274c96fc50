/** Requests of callers who speak the Chat Completions API themselves. */
import type { RestoredState } from "../../core/source-form.ts";
import { Role } from "../../gen/outrigger/v1/message_pb.ts";
import {
  ToolChoice_Mode as Mode,
  type Request,
  ResponseFormat_Type as Type,
} from "../../gen/outrigger/v1/request_pb.ts";
import type { SourceProtocol } from "../../kit/adapter/http-adapter.ts";
import { requestsStream, writeSourceBody } from "../../kit/adapter/source-body.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import type { HiddenEvents } from "../../kit/stream/event-relay.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { ChatRequest } from "../../wire/openai-chat/request.ts";
import type { AnyCompletion } from "../../wire/openai-chat/stream.ts";
import { isError } from "./error.ts";
import type { ServerProfile } from "./profile.ts";
import { acceptsToolCallId } from "./request.ts";

type Members = ReadonlyMap<string, string>;

/** @param path Path of every request. */
export function createSourceProtocol(path: string, profile: ServerProfile): SourceProtocol {
  return {
    api: "openai-chat",
    toWire({ headers, restored, getMembers }, request, streaming) {
      if (needsState(restored, profile)) return undefined;
      const members = getMembers();
      if (requestsStream(members) !== streaming || isRefused(members, request, profile)) return undefined;
      const usage = streaming && profile.supportsUsageInStreaming ? askForUsage(members) : undefined;
      const store = profile.supportsStore && !members.has("store") ? { store: "false" } : {};
      const body = writeSourceBody(members, request, { ...store, ...usage });
      const hidden = usage === undefined ? undefined : USAGE_CHUNK;
      return { path, headers, body, warnings: [], relay: { reportsFailure, hidden } };
    },
  };
}

/** Reports whether the server gets parts of earlier answers that the caller left out. */
function needsState({ hasReasoning, hasCallState }: RestoredState, profile: ServerProfile): boolean {
  return hasCallState || (hasReasoning && (profile.replayReasoning || profile.requiresReasoning));
}

/** The official SDKs throw such an event. */
function reportsFailure({ data }: SseEvent): boolean {
  const chunk = asObject<AnyCompletion>(tryParseJson(data));
  return isError(chunk?.error, Array.isArray(chunk?.choices));
}

/** Returns the option that asks for the usage, which limits and costs need; undefined if the caller asks for it. */
function askForUsage(members: Members): Partial<Record<keyof ChatRequest, string>> | undefined {
  const options = asObject(tryParseJson(members.get("stream_options") ?? "null")) ?? {};
  if (options.include_usage === true) return undefined;
  return { stream_options: JSON.stringify({ ...options, include_usage: true }) };
}

/** The last chunk, which has no choices. Servers write JSON with or without spaces. */
const USAGE_CHUNK: HiddenEvents = {
  markers: ['"choices":[]', '"choices": []'],
  isHidden({ data }) {
    const chunk = asObject<AnyCompletion>(tryParseJson(data));
    return Array.isArray(chunk?.choices) && chunk.choices.length === 0 && asObject(chunk.usage) !== undefined;
  },
};

/**
 * Reports whether the server is known to refuse, or to ignore, something in the request that its translation says in
 * another way. Callers write for OpenAI, whatever server their model has.
 */
function isRefused(members: Members, request: Request, profile: ServerProfile): boolean {
  return (
    refusesMember(members, profile) ||
    refusesMessages(request, profile) ||
    refusesTools(request, profile) ||
    request.stopSequences.length > profile.maxStopSequences
  );
}

function refusesMember(members: Members, profile: ServerProfile): boolean {
  const has = (name: keyof ChatRequest) => (members.get(name) ?? "null") !== "null";
  const otherLimit = profile.maxTokensField === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  return (
    has(otherLimit) ||
    (has("store") && !profile.supportsStore) ||
    (has("metadata") && !profile.supportsMetadata) ||
    (has("stream_options") && !profile.supportsUsageInStreaming) ||
    (has("parallel_tool_calls") && !profile.supportsParallelToolCalls) ||
    (has("reasoning_effort") && profile.reasoningFormat !== "openai")
  );
}

function refusesMessages({ messages }: Request, profile: ServerProfile): boolean {
  return messages.some(
    ({ role, name, content }) =>
      (role === Role.DEVELOPER && profile.systemRole === "system") ||
      (name !== "" && !profile.supportsNames) ||
      content.some(({ part }) => part.case === "toolCall" && !acceptsToolCallId(part.value.id, profile)),
  );
}

function refusesTools({ tools, toolChoice, responseFormat }: Request, profile: ServerProfile): boolean {
  const { toolChoices } = profile;
  const mode = toolChoice?.mode;
  const type = responseFormat?.type;
  return (
    (mode === Mode.NONE && !toolChoices.includes("none")) ||
    (mode === Mode.REQUIRED && !toolChoices.includes("required")) ||
    (mode === Mode.NAMED && !toolChoices.includes("named")) ||
    (type === Type.JSON && !profile.supportsJsonObject) ||
    (type === Type.JSON_SCHEMA && !profile.supportsJsonSchema) ||
    (tools.some(({ tool }) => tool.case === "custom") && !profile.supportsCustomTools)
  );
}
