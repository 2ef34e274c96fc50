import { create } from "@bufbuild/protobuf";
import { checkToolResult } from "../client/validate-messages.ts";
import { quote, Violations } from "../client/violations.ts";
import { userMessage } from "../core/message.ts";
import { GenerationOptionsSchema } from "../gen/outrigger/v1/generation_pb.ts";
import type { Message } from "../gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../gen/outrigger/v1/request_pb.ts";
import {
  type McpServer,
  McpServerSchema,
  type McpTool,
  type Run,
  type ToolApproval,
} from "../gen/outrigger/v1/run_pb.ts";
import type { CreateRunRequest, SubmitToolResultsRequest } from "../gen/outrigger/v1/run_service_pb.ts";
import { type Generation, readOptions } from "../generation/contract/options.ts";
import { openCallIds } from "./conversation.ts";
import type { NewMessage, RunInput } from "./engine.ts";
import type { RunLimits } from "./limits.ts";
import type { StoredRun } from "./store.ts";

/** Maximum number of labels of a run or a thread, and their maximum lengths. */
const METADATA = { entries: 16, key: 64, value: 512 };

/** Maximum number of MCP servers of a run. */
const MAX_SERVERS = 16;

/** Path of the messages in a request, unless an HTTP API passes them separately. */
export const INPUT_PATH = "options.request.messages";

/** A run to create, read from its request. */
export interface RunDraft {
  /** The request to store: with inherited tools, without messages and credentials of MCP servers. */
  readonly request: CreateRunRequest;
  readonly generation: Generation;
  /** The MCP servers, with their secrets. */
  readonly servers: readonly McpServer[];
  /** Tools of these servers that are known from an earlier turn. */
  readonly knownTools: readonly McpTool[];
  readonly input: readonly NewMessage[];
  /** Path of the input messages in the caller's request, for errors. */
  readonly inputPath: string;
  readonly origin: RunInput["origin"];
  readonly isStored: boolean;
  /** Whether only this process can run it, since secrets are not stored. */
  readonly hasSecrets: boolean;
}

/**
 * Reads and checks a request to create a run.
 * @param previous The run that is continued, if it is known.
 * @throws InvalidRequestError with every invalid field.
 */
export async function readRunInput(
  { request, input: given, origin }: RunInput,
  previous: StoredRun | undefined,
  { maxSteps }: Pick<RunLimits, "maxSteps">,
): Promise<RunDraft> {
  const { options = create(GenerationOptionsSchema), approvals } = request;
  const { request: modelRequest = create(RequestSchema), prompt } = options;
  const messages: readonly Message[] = prompt === "" ? modelRequest.messages : [userMessage(prompt)];
  const input = given ?? messages.map((message) => ({ message, originJson: "" }));
  checkRequest(request, input, previous?.run);
  const continues = request.previousRunId !== "" || request.threadId !== "";
  const mayHaveNoMessages = (given?.length ?? 0) > 0 || approvals.length > 0 || continues;
  const settings = { toolRounds: maxSteps, mayHaveNoMessages };
  const generation = await readOptions(request.options, "options", { maxSteps }, settings);
  const { tools, servers, knownTools } = chooseTools(request, previous);
  return {
    request: {
      ...request,
      options: { ...options, prompt: "", request: { ...modelRequest, messages: [], tools } },
      mcpServers: servers.map(redacted),
    },
    generation: { ...generation, request: { ...generation.request, tools } },
    servers,
    knownTools,
    input,
    inputPath: given === undefined ? INPUT_PATH : "input",
    origin,
    isStored: request.store ?? true,
    hasSecrets: servers.some(hasSecrets),
  };
}

/** Returns the tools of a request, or else of the run that it continues, without credentials. */
function chooseTools(request: CreateRunRequest, previous: StoredRun | undefined) {
  const tools = request.options?.request?.tools ?? [];
  const { mcpServers: servers, inheritTools } = request;
  const isInherited = inheritTools && tools.length === 0 && servers.length === 0;
  if (!isInherited || previous === undefined) return { tools, servers, knownTools: [] };
  const { options, mcpServers } = previous.request;
  return {
    tools: options?.request?.tools ?? [],
    servers: mcpServers.map((server) => create(McpServerSchema, { ...server, headers: {} })),
    knownTools: previous.run.mcpTools,
  };
}

/** Reports whether a server needs credentials. They are not stored, but their existence is. */
export function hasSecrets({ authorization, headers }: McpServer): boolean {
  return authorization !== "" || Object.keys(headers).length > 0;
}

/** Reports whether a run can continue in another process. */
export function isResumable({ run, request }: Pick<StoredRun, "run" | "request">): boolean {
  return run.background && run.stored && !request.mcpServers.some(hasSecrets);
}

/** Returns a server without its credentials: only the names of its headers are left. */
function redacted(server: McpServer): McpServer {
  const names = [...Object.keys(server.headers), ...(server.authorization === "" ? [] : ["authorization"])];
  const headers = Object.fromEntries(names.map((name) => [name, ""]));
  return create(McpServerSchema, { ...server, authorization: "", headers });
}

function checkRequest(request: CreateRunRequest, input: readonly NewMessage[], previous?: Run): void {
  const violations = new Violations();
  const { previousRunId, threadId, background, store, metadata, mcpServers, approvals } = request;
  if (previousRunId !== "" && threadId !== "")
    violations.add("thread_id", "expected none together with previous_run_id");
  if (store === false) {
    const reason =
      "expected none with store: false, since such a run is not stored and cannot continue another";
    if (previousRunId !== "") violations.add("previous_run_id", reason);
    if (threadId !== "") violations.add("thread_id", reason);
    if (background) violations.add("background", reason);
  }
  checkMetadata(metadata, violations);
  if (mcpServers.length > MAX_SERVERS)
    violations.add("mcp_servers", `expected at most ${MAX_SERVERS}, found ${mcpServers.length}`);
  if (approvals.length > 0) {
    const required = previous?.requiredApprovals.map(({ id }) => id) ?? [];
    // A caller that keeps the conversation itself sends the calls along with the answers to them.
    const sent = openCallIds(input.flatMap(({ message }) => message ?? []));
    checkApprovals(approvals, [...required, ...sent], violations);
  }
  violations.throwIfAny();
}

/** Checks labels of a run or a thread. */
export function checkMetadata(metadata: Readonly<Record<string, string>>, violations: Violations): void {
  const entries = Object.entries(metadata);
  if (entries.length > METADATA.entries)
    violations.add("metadata", `expected at most ${METADATA.entries} labels, found ${entries.length}`);
  for (const [key, value] of entries.slice(0, METADATA.entries)) {
    if (key.length > METADATA.key)
      violations.add("metadata", `expected keys of at most ${METADATA.key} characters, found ${key.length}`);
    if (value.length > METADATA.value) {
      const field = `metadata[${quote(key)}]`;
      violations.add(field, `expected at most ${METADATA.value} characters, found ${value.length}`);
    }
  }
}

/** Checks that each approval is for a different one of the calls that wait for approval. */
function checkApprovals(
  approvals: readonly ToolApproval[],
  waiting: readonly string[],
  violations: Violations,
): void {
  const open = new Set(waiting);
  for (const [index, { toolCallId }] of approvals.entries())
    if (!open.delete(toolCallId)) {
      const description = `${quote(toolCallId)} is not a call that waits for approval`;
      violations.add(`approvals[${index}].tool_call_id`, description);
    }
}

/** Checks that each call that waits gets one result or approval. @throws InvalidRequestError */
export function checkSubmission(
  { results, approvals }: SubmitToolResultsRequest,
  { requiredResults, requiredApprovals }: Run,
): void {
  const violations = new Violations();
  const open = new Set(requiredResults.map(({ id }) => id));
  for (const [index, result] of results.entries()) {
    const field = `results[${index}]`;
    checkToolResult(result, field, "", violations);
    if (!open.delete(result.toolCallId)) {
      const description = `${quote(result.toolCallId)} is not a call of the run that waits for a result`;
      violations.add(`${field}.tool_call_id`, description);
    }
  }
  for (const id of open) violations.add("results", `expected one for the call ${quote(id)}`);
  const waiting = requiredApprovals.map(({ id }) => id);
  checkApprovals(approvals, waiting, violations);
  const answered = new Set(approvals.map(({ toolCallId }) => toolCallId));
  for (const id of waiting)
    if (!answered.has(id)) violations.add("approvals", `expected one for the call ${quote(id)}`);
  violations.throwIfAny();
}
