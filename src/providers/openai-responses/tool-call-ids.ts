import type { ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { ToolCallIdMapper, type ToolCallIdRule } from "../../kit/adapter/tool-call-id-mapper.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { CustomToolCallOutput, FunctionCallOutput } from "../../wire/openai-responses/request.ts";

/** Longer ids are refused, including ids from other providers and from some servers of this API. */
const CALL_IDS: ToolCallIdRule = { pattern: /^.{1,64}$/s, prefix: "call_", length: 32 };

/** Type and call id of the item that holds the result of a call. */
export interface ResultHead {
  readonly type: (FunctionCallOutput | CustomToolCallOutput)["type"];
  readonly call_id: string;
}

/** The tool calls of a conversation: their ids in the form that the API takes, and which calls are of custom tools. */
export class ToolCallIds {
  readonly #ids: ToolCallIdMapper;
  readonly #custom = new Set<string>();

  constructor(loss: LossReport) {
    this.#ids = new ToolCallIdMapper(CALL_IDS, loss);
  }

  /** Records a call and returns its id on the wire. @param field Path of the call, for the warning. */
  ofCall({ id, input }: ToolCall, field: string): string {
    if (input.case === "text") this.#custom.add(id);
    else this.#custom.delete(id);
    return this.#ids.ofCall(id, `${field}.id`);
  }

  /** Returns type and id of the item that holds the result of the call with that id. */
  ofResult(id: string): ResultHead {
    const type = this.#custom.has(id) ? "custom_tool_call_output" : "function_call_output";
    return { type, call_id: this.#ids.ofResult(id) };
  }
}
