import type { ToolCallIdRule } from "../../kit/adapter/tool-call-id-mapper.ts";
import type { ServerProfile } from "./profile.ts";

/** Rules for tool call ids, by the value in the profile. */
export const CALL_ID_RULES: Readonly<Record<ServerProfile["toolCallIdPattern"], ToolCallIdRule>> = {
  any: { pattern: /./s, prefix: "call_", length: 24 },
  forty_characters: { pattern: /^.{1,40}$/s, prefix: "call_", length: 24 },
  nine_alphanumerics: { pattern: /^[a-zA-Z0-9]{9}$/, prefix: "", length: 9 },
};
