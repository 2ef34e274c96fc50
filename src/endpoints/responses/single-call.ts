/**
 * Responses for which one call of the model is enough: nothing is stored, and nothing is executed here. They need no
 * run, and are answered like the requests of APIs that store nothing.
 */
import { create } from "@bufbuild/protobuf";
import { InvalidRequestError } from "../../core/errors.ts";
import { RequestSchema } from "../../gen/outrigger/v1/request_pb.ts";
import type { Tool } from "../../gen/outrigger/v1/tool_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { type JsonObject, objectsIn } from "../../kit/json/json.ts";
import { composeConversation, createModelRequest, toRunField } from "../../runs/conversation.ts";
import { answerRequest, type ReadRequest as CallRequest } from "../answers/answer-request.ts";
import type { ModelTarget } from "../models/model-directory.ts";
import { type Fields, invalidParameter } from "../openai/fields.ts";
import { parseItemId } from "../openai/ids.ts";
import { createForm, createPlaceholder, validateRead } from "../relay/caller-form.ts";
import { OPENAI_HEADERS } from "../relay/openai-headers.ts";
import { isCompaction } from "./compaction.ts";
import type { ResponsesParts } from "./parts.ts";
import { isCarried } from "./provider-state.ts";
import type { ReadRequest } from "./read-request.ts";
import { defaultSettings } from "./settings.ts";
import { SingleCallFormat } from "./write-single-call.ts";

/** A call of a model, and the form of its answer. */
export interface SingleCall {
  readonly request: CallRequest;
  readonly format: SingleCallFormat;
}

/** Answers a response that needs a single call. */
export function answerSingleCall(
  { request: read, format }: SingleCall,
  request: EndpointRequest,
  parts: ResponsesParts,
): Promise<EndpointResponse> {
  return answerRequest(read, format, request, parts);
}

/** Returns the call of a request. Undefined if the request needs a run. */
export function findSingleCall(read: ReadRequest): SingleCall | undefined {
  const { request, conversation } = read.input;
  const { store, mcpServers, approvals, options } = request;
  const isAlone = store === false && conversation === undefined;
  const executesNothing = mcpServers.length === 0 && approvals.length === 0;
  // A provider that executes tools may pause its turn, which another call continues.
  const isOnce = isAlone && executesNothing && (options?.request?.tools ?? []).every(isCallerTool);
  return isOnce ? toSingleCall(read) : undefined;
}

function isCallerTool({ tool }: Tool): boolean {
  return tool.case === "function" || tool.case === "custom";
}

/**
 * Reports whether a body may be relayed. It may not if its provider has another API, or if the sidecar is needed for
 * the answer: it stores the response, executes tools, or knows items that the provider does not.
 */
export function isRelayable(fields: Fields, { served }: ModelTarget): boolean {
  return (
    served.api === "openai-responses" &&
    storesNothing(fields) &&
    !executesTools(fields) &&
    !hasOurItems(fields)
  );
}

function storesNothing(fields: Fields): boolean {
  const isAlone = !fields.has("previous_response_id") && !fields.has("conversation");
  return fields.get("store") === false && isAlone && (fields.get("background") ?? false) === false;
}

function executesTools(fields: Fields): boolean {
  return objectsIn(fields.get("tools")).some(({ type }) => type === "mcp");
}

function hasOurItems(fields: Fields): boolean {
  return objectsIn(fields.get("input")).some(isOurItem);
}

/**
 * Reports whether only the sidecar understands an item, or can complete it: the provider cannot find reasoning without
 * its content.
 */
function isOurItem({ type, id, encrypted_content: encrypted, content }: JsonObject): boolean {
  if (typeof id === "string" && parseItemId(id) !== undefined) return true;
  if (typeof encrypted === "string") return isCarried(encrypted) || isCompaction(encrypted);
  return type === "reasoning" && objectsIn(content).length === 0;
}

/**
 * Returns the call of a body that may be relayed. The provider decides what it accepts, so a request that cannot be
 * read is relayed, but never translated.
 * @param read Reads the request.
 */
export async function readRelayable(
  fields: Fields,
  target: ModelTarget,
  read: () => Promise<ReadRequest>,
): Promise<SingleCall> {
  const source = { api: "openai-responses", headers: OPENAI_HEADERS, fields } as const;
  const form = createForm(source, undefined);
  try {
    const found = await read();
    const { request, format } = toSingleCall(found);
    if (found.input.request.approvals.length > 0) throw noApprovals();
    validateRead(request);
    return { request: { ...request, form }, format };
  } catch (thrown) {
    if (!(thrown instanceof InvalidRequestError)) throw thrown;
    return {
      request: {
        request: createPlaceholder(fields, target),
        isStreamed: fields.get("stream") === true,
        warnings: [],
        form: createForm(source, thrown),
        restored: { hasReasoning: false, hasCallState: false },
        toBodyPath: (field) => field,
      },
      format: new SingleCallFormat({ settings: defaultSettings, target, metadata: {}, pads: false }),
    };
  }
}

function noApprovals(): InvalidRequestError {
  return invalidParameter("input", "unsupported_value", "answers a tool call that is waiting for approval");
}

function toSingleCall(read: ReadRequest): SingleCall {
  const { input, settings, target, isStreamed, streamOptions, restoresReasoning } = read;
  const { options, metadata } = input.request;
  const { request = create(RequestSchema), system = "" } = options ?? {};
  const messages = (input.input ?? []).flatMap(({ message }) => message ?? []);
  const conversation = composeConversation({ history: [], input: messages, approvals: [] });
  const fields = { system, conversation, inputPath: "input" };
  const modelRequest = createModelRequest(request, system, conversation);
  return {
    request: {
      request: modelRequest,
      isStreamed,
      // The response object has them.
      warnings: [],
      restored: { hasReasoning: restoresReasoning, hasCallState: false },
      toBodyPath: (field) => read.toBodyPath(toRunField(field, fields)),
    },
    format: new SingleCallFormat({
      settings,
      target,
      metadata,
      pads: streamOptions.includeObfuscation === true,
    }),
  };
}
