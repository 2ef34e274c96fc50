import { createHash } from "node:crypto";
import type { ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import type { LossReport } from "../../kit/loss-report.ts";

/** The tool calls of a conversation, as their results need to know them. */
export class Calls {
  readonly #loss: LossReport;
  readonly #custom = new Set<string>();

  constructor(loss: LossReport) {
    this.#loss = loss;
  }

  /** Takes note of a call and gives its id on the wire. @param field Path of the call, for the warning. */
  add({ id, type }: ToolCall, field: string): string {
    if (type === "custom") this.#custom.add(id);
    else this.#custom.delete(id);
    const callId = callIdOf(id);
    if (callId !== id) {
      const message = `the API takes ids of at most ${MAX_CHARS} characters; this one was rewritten to ${callId}, here and in its result`;
      this.#loss.note(`${field}.id`, "converted_content", message);
    }
    return callId;
  }

  /** Kind and id of the item that answers a call. */
  answerTo(id: string): { type: string; call_id: string } {
    const type = this.#custom.has(id) ? "custom_tool_call_output" : "function_call_output";
    return { type, call_id: callIdOf(id) };
  }
}

/** Longest `call_id` that the API takes; other providers' are longer, and some of its own servers' too. */
const MAX_CHARS = 64;

/** The same for the same id in every turn, also where the call itself is not in the request. */
function callIdOf(id: string): string {
  if (id.length <= MAX_CHARS) return id;
  return `call_${createHash("sha256").update(id).digest("base64url")}`;
}
