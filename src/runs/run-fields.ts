import { withFieldPaths } from "../client/field-paths.ts";
import type { SDKError } from "../core/errors.ts";
import type { Conversation } from "./conversation.ts";

const MESSAGE = /^messages\[(\d+)\](.*)$/;

/** Maps fields of the model request to fields of the caller's request. */
export interface RunFields {
  /** Messages before those of the conversation: the system message. */
  readonly before: number;
  readonly conversation: Pick<Conversation, "messages">;
  /** Path of the messages of the input: `options.request.messages`. */
  readonly inputPath: string;
}

/** Names the fields of the model's request as the caller of the run knows them. */
export function withRunFields(error: SDKError, fields: RunFields): SDKError {
  return withFieldPaths(error, (field) => toPath(field, fields));
}

function toPath(field: string, { before, conversation, inputPath }: RunFields): string {
  if (field === "mcp_servers" || field.startsWith("mcp_servers[")) return field;
  if (field === "request") return "options.request";
  const [, index, rest = ""] = MESSAGE.exec(field) ?? [];
  if (index === undefined) return `options.request.${field}`;
  if (Number(index) < before) return "options.system";
  const own = conversation.messages[Number(index) - before]?.inputIndex;
  // A message of the thread cannot be named by the request.
  return own === undefined ? "previous_run_id" : `${inputPath}[${own}]${rest}`;
}
