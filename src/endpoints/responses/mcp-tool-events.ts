/** The events of MCP tools, which the sidecar executes. */
import type { ToolCall, ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import type { McpTool, McpToolFinish, McpToolList, McpToolStart } from "../../gen/outrigger/v1/run_pb.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import { answerMessageId } from "../../runs/messages.ts";
import { type ItemLocation, toItemId } from "../openai/ids.ts";
import type { EventOutput } from "./event-output.ts";
import { emitInput } from "./hosted-events.ts";
import { emitState, type OutputPosition } from "./open-items.ts";
import type { OutputList } from "./output-list.ts";

/** A call that is being executed. */
interface RunningCall {
  readonly position: OutputPosition;
  readonly fields: McpCallFields;
}

/** The fields that an item of a call has from its start. */
interface McpCallFields {
  readonly id: string;
  readonly type: "mcp_call";
  readonly approval_request_id: string | null;
  readonly arguments: string;
  readonly name: string;
  readonly server_label: string;
}

/** Writes the items of the tools that the sidecar executes in a run. */
export class McpToolEvents {
  readonly #runId: string;
  readonly #output: EventOutput;
  readonly #list: OutputList;
  #tools = new Map<string, McpTool>();
  /** The locations of the run's calls, by their ids. */
  #locations = new Map<string, ItemLocation>();
  /** Calls that the model has written and that have no item yet, by their ids. */
  #open = new Map<string, ToolCall>();
  /** Ids of the requests for approval, by the ids of their calls. */
  readonly #requests: Map<string, string>;
  #running = new Map<string, RunningCall>();
  /** Number of items without a message. */
  #others = 0;

  /** @param approved See ResponseSettings. */
  constructor(
    runId: string,
    output: EventOutput,
    list: OutputList,
    approved: Readonly<Record<string, string>>,
  ) {
    this.#requests = new Map(Object.entries(approved));
    this.#runId = runId;
    this.#output = output;
    this.#list = list;
  }

  /** Returns a copy with the current state. */
  copy(output: EventOutput, list: OutputList): McpToolEvents {
    const copy = new McpToolEvents(this.#runId, output, list, Object.fromEntries(this.#requests));
    copy.#tools = new Map(this.#tools);
    copy.#locations = new Map(this.#locations);
    copy.#open = new Map(this.#open);
    copy.#running = new Map(this.#running);
    copy.#others = this.#others;
    return copy;
  }

  /** Reports whether the sidecar executes the tool with this name. */
  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** Registers tools. */
  register(tools: readonly McpTool[]): void {
    for (const tool of tools) this.#tools.set(tool.name, tool);
  }

  /** Writes that the tools of a server were listed, or could not be listed. */
  list({ serverLabel, tools, error }: McpToolList): void {
    this.register(tools);
    const item = { id: this.#otherId("mcp_list_tools"), type: "mcp_list_tools", server_label: serverLabel };
    const position = this.#list.add({ ...item, tools: [] });
    emitState(this.#output, "response.mcp_list_tools.in_progress", position);
    const end = error === undefined ? "completed" : "failed";
    emitState(this.#output, `response.mcp_list_tools.${end}`, position);
    const failure = error === undefined ? {} : { error: error.message };
    this.#list.finish(position, { ...item, tools: tools.map(toListedTool), ...failure });
  }

  /** Records a call that the model has written. */
  recordCall(call: ToolCall, location: ItemLocation): void {
    if (!this.has(call.name)) return;
    this.#open.set(call.id, call);
    this.#locations.set(call.id, location);
  }

  /** Writes that a call is being executed. */
  start({ call, serverLabel, toolName, approvalRequestId }: McpToolStart): void {
    if (call === undefined) return;
    const approved = this.#requests.get(approvalRequestId) ?? null;
    const fields = this.#toFields(call, { name: toolName, server_label: serverLabel }, approved);
    this.#running.set(call.id, { fields, position: this.#begin(fields) });
  }

  /** Writes that a call was executed. */
  finish({ result }: McpToolFinish): void {
    const running = this.#running.get(result?.toolCallId ?? "");
    if (running === undefined || result === undefined) return;
    this.#running.delete(result.toolCallId);
    const { position, fields } = running;
    emitState(this.#output, `response.mcp_call.${result.failed ? "failed" : "completed"}`, position);
    this.#list.finish(position, { ...fields, ...toOutcome(result) });
  }

  /** Drops the items of the calls that are being executed: they begin again later as other items, or never. */
  interrupt(): void {
    for (const [id, { position, fields }] of this.#running) {
      this.#list.finish(position, { ...fields, error: null, output: null, status: "incomplete" });
      this.#list.drop(position.outputIndex, position.outputIndex + 1);
      this.#locations.delete(id);
    }
    this.#running.clear();
  }

  /** Forgets the calls that the model has written and that were not executed. */
  abandon(): void {
    this.#open.clear();
  }

  /** Writes that calls wait for the caller's approval. */
  requestApprovals(calls: readonly ToolCall[]): void {
    for (const call of calls) {
      const type = "mcp_approval_request";
      const id = this.#toId(type, call);
      this.#requests.set(call.id, id);
      const item = { id, type, arguments: call.input.value ?? "", ...this.#getMcpNames(call.name) };
      this.#list.finish(this.#list.add(item), item);
    }
  }

  /** Ends the calls of a response that ended before they were executed. */
  endUnexecuted(): void {
    for (const call of [...this.#open.values()]) {
      const fields = this.#toFields(call, this.#getMcpNames(call.name), null);
      const position = this.#begin(fields);
      this.#list.finish(position, { ...fields, error: null, output: null, status: "incomplete" });
    }
  }

  #begin(fields: McpCallFields): OutputPosition {
    const state = { arguments: "", error: null, output: null, status: "in_progress" };
    const position = this.#list.add({ ...fields, ...state });
    emitState(this.#output, "response.mcp_call.in_progress", position);
    emitInput("mcp_call", fields.arguments, this.#output, position);
    return position;
  }

  #toFields(call: ToolCall, names: McpNames, approved: string | null): McpCallFields {
    const type = "mcp_call";
    const id = this.#toId(type, call);
    return { id, type, approval_request_id: approved, arguments: call.input.value ?? "", ...names };
  }

  /** Returns the id of a call's item, and removes the call from the open ones. */
  #toId(type: string, { id }: ToolCall): string {
    const location = this.#locations.get(id);
    this.#open.delete(id);
    return location === undefined ? this.#otherId(type) : toItemId(type, location.messageId, location.part);
  }

  #getMcpNames(name: string): McpNames {
    const tool = this.#tools.get(name);
    return { name: tool?.toolName ?? name, server_label: tool?.serverLabel ?? "" };
  }

  /** Creates the id of an item without a message. It contains a message number that no answer has. */
  #otherId(type: string): string {
    this.#others += 1;
    return toItemId(type, answerMessageId(this.#runId, 0, false), this.#others);
  }
}

/** The names of a server and its tool, as the server announced them. */
interface McpNames {
  readonly name: string;
  readonly server_label: string;
}

function toOutcome(result: ToolResult) {
  const text = result.content.map(({ part }) => (part.case === "text" ? part.value : "")).join("");
  if (!result.failed) return { error: null, output: text, status: "completed" };
  const error = { type: "mcp_tool_execution_error", content: [{ type: "text", text }] };
  return { error, output: null, status: "failed" };
}

function toListedTool({ toolName, description, inputSchemaJson, annotationsJson }: McpTool): object {
  return {
    annotations: asObject(tryParseJson(annotationsJson)) ?? null,
    description: description === "" ? null : description,
    input_schema: asObject(tryParseJson(inputSchemaJson)) ?? {},
    name: toolName,
  };
}
