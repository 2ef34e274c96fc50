import { describe, expect, it } from "vitest";
import {
  parseItemId,
  toConversationId,
  toItemId,
  toResponseId,
  toRunId,
  toThreadId,
} from "../../../src/endpoints/openai/ids.ts";

const hex = "0123456789abcdef".repeat(2);
const message = "ab".repeat(18);

describe("The ids of the API", () => {
  it("name runs and threads of the engine, both ways", () => {
    expect(toResponseId(`run_${hex}`)).toBe(`resp_${hex}`);
    expect(toRunId(`resp_${hex}`)).toBe(`run_${hex}`);
    expect(toConversationId(`thread_${hex}`)).toBe(`conv_${hex}`);
    expect(toThreadId(`conv_${hex}`)).toBe(`thread_${hex}`);
  });

  it.each([
    "",
    "resp_",
    "resp_1",
    `resp_${hex}0`,
    `resp_0${hex}`,
    `resp_${hex.toUpperCase()}`,
    `conv_${hex}`,
    hex,
  ])("are no ids of responses: %j", (id) => {
    expect(toRunId(id)).toBeUndefined();
  });

  it.each(["", `resp_${hex}`, `conv_${hex.slice(1)}`])("are no ids of conversations: %j", (id) => {
    expect(toThreadId(id)).toBeUndefined();
  });

  it.each([
    ["message", "msg"],
    ["reasoning", "rs"],
    ["function_call", "fc"],
    ["function_call_output", "fco"],
    ["custom_tool_call", "ctc"],
    ["custom_tool_call_output", "ctco"],
    ["mcp_list_tools", "mcpl"],
    ["mcp_call", "mcp"],
    ["mcp_approval_request", "mcpr"],
    ["mcp_approval_response", "mcpa"],
    ["image_generation_call", "ig"],
    ["web_search_call", "ws"],
    ["file_search_call", "fs"],
    ["code_interpreter_call", "ci"],
    ["computer_call", "cu"],
    ["local_shell_call", "lsh"],
    ["shell_call", "sh"],
    ["apply_patch_call", "apc"],
    ["compaction", "cmp"],
    ["tool_search_call", "tsc"],
    ["tool_search_output", "tso"],
    ["a_type_of_next_year", "item"],
    ["toString", "item"],
  ])("of an item of type %s begin with %s", (type, prefix) => {
    expect(toItemId(type, `msg_${message}`, 10)).toBe(`${prefix}_${message}00a`);
    expect(parseItemId(`${prefix}_${message}00a`)).toEqual({ messageId: `msg_${message}`, part: 10 });
  });

  it("hold parts up to 4095", () => {
    expect(toItemId("message", `msg_${message}`, 4095)).toBe(`msg_${message}fff`);
    expect(toItemId("message", `msg_${message}`, 5000)).toBe(`msg_${message}fff`);
  });

  it.each(["", "msg_1", `msg_${message}`, `m_${message}000`, `MSG_${message}000`, `msg_${message}0000`])(
    "are no ids of items: %j",
    (id) => {
      expect(parseItemId(id)).toBeUndefined();
    },
  );
});
