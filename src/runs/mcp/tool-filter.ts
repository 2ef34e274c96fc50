/** Which tools of an MCP server a run may use, and which calls wait for approval. */
import {
  ApprovalPolicy,
  type McpServer,
  type McpTool,
  type McpToolFilter,
} from "../../gen/outrigger/v1/run_pb.ts";
import { objectIn, tryReadJson } from "../../kit/json/json.ts";

/** Whether a run may use a tool. */
export function isAllowed({ allowedTools }: McpServer, tool: McpTool): boolean {
  return allowedTools === undefined || selects(allowedTools, tool);
}

/** Whether a call of a tool waits for the caller's approval. What is not exempted does. */
export function needsApproval({ approval, alwaysApprove, neverApprove }: McpServer, tool: McpTool): boolean {
  if (alwaysApprove !== undefined && selects(alwaysApprove, tool)) return true;
  // A filter without conditions was hardly meant to exempt every tool.
  if (neverApprove !== undefined && hasCondition(neverApprove) && selects(neverApprove, tool)) return false;
  return approval !== ApprovalPolicy.NEVER;
}

function selects({ toolNames, readOnly }: McpToolFilter, tool: McpTool): boolean {
  if (toolNames.length > 0 && !toolNames.includes(tool.toolName)) return false;
  return readOnly === undefined || readOnly === isReadOnly(tool);
}

function hasCondition({ toolNames, readOnly }: McpToolFilter): boolean {
  return toolNames.length > 0 || readOnly !== undefined;
}

function isReadOnly({ annotationsJson }: McpTool): boolean {
  return objectIn(tryReadJson(annotationsJson)).readOnlyHint === true;
}
