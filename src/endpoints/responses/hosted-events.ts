/** The events between the start and the end of an item that arrives complete: a tool that the provider executed. */
import { textIn } from "../../kit/json/json.ts";
import type { EventOutput } from "./event-output.ts";
import { emitState, OpenInput, type OutputPosition } from "./open-items.ts";
import type { WrittenItem } from "./write-items.ts";

/** The fields that an item has in its first event, before its tool was executed. */
const EARLY_FIELDS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  web_search_call: {},
  file_search_call: { queries: [], results: null },
  code_interpreter_call: { code: "", outputs: [] },
  image_generation_call: { result: null },
  mcp_call: { arguments: "", error: null, output: null },
  mcp_list_tools: { tools: [] },
};

/** Fields that do not depend on the result of a tool. */
const FIXED_FIELDS = ["id", "type", "call_id", "container_id", "server_label", "name", "approval_request_id"];

/** Returns the state of an item before its tool was executed, for the event that adds the item. */
export function toAddedItem(item: WrittenItem): WrittenItem {
  const early = EARLY_FIELDS[item.type];
  if (early === undefined) return item;
  const fixed = Object.fromEntries(
    FIXED_FIELDS.filter((name) => name in item).map((name) => [name, item[name]]),
  );
  const status = "status" in item ? { status: "in_progress" } : {};
  return { ...fixed, id: item.id, type: item.type, ...status, ...early };
}

/** Writes the progress events of a tool, all at once, since the item arrives complete. */
export function emitProgress(item: WrittenItem, output: EventOutput, position: OutputPosition): void {
  const { type } = item;
  const hasFailed = item.status === "failed" || (item.error !== undefined && item.error !== null);
  const end = hasFailed ? "failed" : "completed";
  const state = (name: string) => emitState(output, `response.${type}.${name}`, position);
  switch (type) {
    case "web_search_call":
    case "file_search_call":
      state("in_progress");
      state("searching");
      return state("completed");
    case "code_interpreter_call":
      state("in_progress");
      // xAI's items have no code.
      if (typeof item.code === "string") emitInput(type, item.code, output, position);
      state("interpreting");
      return state("completed");
    case "image_generation_call":
      state("in_progress");
      state("generating");
      return state("completed");
    case "mcp_call":
      state("in_progress");
      emitInput(type, textIn(item.arguments), output, position);
      return state(end);
    case "mcp_list_tools":
      state("in_progress");
      return state(end);
    default:
      return undefined;
  }
}

/** Writes input that arrived complete. */
export function emitInput(
  form: "code_interpreter_call" | "mcp_call",
  input: string,
  output: EventOutput,
  position: OutputPosition,
): void {
  const open = new OpenInput(position, form);
  if (input !== "") open.append(output, input);
  open.end(output, input);
}
