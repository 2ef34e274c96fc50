/**
 * Newer models refuse thinking if anything before it has changed, while clients edit histories: they change
 * instructions or tools within a turn, or repeat a system message. The API is asked to leave such thinking out, and it
 * reports what it left out (provider documentation: "Preserved thinking", "Prefix checks").
 */
import type { ModelTraits } from "../../catalog/model-traits.ts";
import { asObject, objectsIn } from "../../kit/json/json.ts";
import {
  type ContentBlockParam,
  type MessageCreateParams,
  type MessageParam,
  THINKING_BINDING_BETA,
  type ThinkingConfig,
} from "../../wire/anthropic-messages/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/**
 * Returns the final body with `thinking.block_binding`, if it sends bound thinking back. A value of the caller remains.
 */
export function withBlockBinding(
  body: Untrusted<MessageCreateParams>,
  { preservedThinking }: ModelTraits,
): Untrusted<MessageCreateParams> {
  const thinking: Untrusted<ThinkingConfig> = asObject<ThinkingConfig>(body.thinking) ?? { type: "adaptive" };
  const canBind = thinking.type === "adaptive" || thinking.type === "enabled";
  if (!preservedThinking || !canBind || "block_binding" in thinking || !hasThinking(body)) return body;
  const block_binding = { prefix_mismatch_behavior: "drop_block" };
  return { ...body, thinking: { ...thinking, block_binding } };
}

/** Returns the betas that `thinking` needs. */
export function getBindingBetas({ thinking }: Untrusted<MessageCreateParams>): readonly string[] {
  return "block_binding" in (asObject(thinking) ?? {}) ? [THINKING_BINDING_BETA] : [];
}

function hasThinking({ messages }: Untrusted<MessageCreateParams>): boolean {
  return objectsIn<MessageParam>(messages).some(({ role, content }) => {
    if (role !== "assistant") return false;
    const blocks = objectsIn<ContentBlockParam>(content);
    return blocks.some(({ type }) => type === "thinking" || type === "redacted_thinking");
  });
}
