import type { ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import { ToolCallIdMapper, type ToolCallIdRule } from "../../kit/adapter/tool-call-id-mapper.ts";

/** Longer ids are refused: those of other providers, and of some of the API's own servers. */
const CALL_IDS: ToolCallIdRule = { pattern: /^.{1,64}$/s, prefix: "call_", length: 32 };

/** The tool calls of a conversation, as their results need to know them. */
export class Calls {
  readonly #ids: ToolCallIdMapper;
  readonly #custom = new Set<string>();

  constructor(loss: LossReport) {
    this.#ids = new ToolCallIdMapper(CALL_IDS, loss);
  }

  /** Takes note of a call and gives its id on the wire. @param field Path of the call, for the warning. */
  add({ id, input }: ToolCall, field: string): string {
    if (input.case === "text") this.#custom.add(id);
    else this.#custom.delete(id);
    return this.#ids.ofCall(id, `${field}.id`);
  }

  /** Kind and id of the item that answers a call. */
  answerTo(id: string): { type: string; call_id: string } {
    const type = this.#custom.has(id) ? "custom_tool_call_output" : "function_call_output";
    return { type, call_id: this.#ids.ofResult(id) };
  }
}
