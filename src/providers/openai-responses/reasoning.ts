/** Reasoning: the requested effort, and reading reasoning items and sending them back ("Reasoning models"). */

import type { ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import { effortFor } from "../../kit/adapter/effort.ts";
import { asJson, type JsonObject, objectsIn, textIn } from "../../kit/json/json.ts";
import type { ReasoningItem, ReasoningPart } from "../../wire/openai-responses/items.ts";
import type { CreateRequest } from "../../wire/openai-responses/request.ts";
import type { OutputItem } from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { RequestContext } from "./context.ts";
import { getOrigin, readState } from "./state.ts";

/** Returns `reasoning` of a request; empty if the caller asks for no effort. */
export function reasoningSettings({ request, traits, loss }: RequestContext): JsonObject {
  const effort = effortFor(request.reasoningEffort, traits.reasoningEfforts, loss);
  return effort === undefined ? {} : ({ reasoning: { effort } } satisfies CreateRequest);
}

/** Returns the text of a reasoning item: its summary parts, then its raw reasoning, with a blank line between parts. */
export function reasoningText({ summary, content }: Untrusted<ReasoningItem>): string {
  return [...objectsIn<ReasoningPart>(summary), ...objectsIn<ReasoningPart>(content)]
    .map((part) => textIn(part.text))
    .filter((text) => text !== "")
    .join("\n\n");
}

/** Reports whether a reasoning item hides its text, so that it has only encrypted content. */
export function isRedacted(item: Untrusted<ReasoningItem>): boolean {
  return reasoningText(item) === "" && textIn(item.encrypted_content) !== "";
}

/** Returns the item of a reasoning part, if the requested model wrote it and can accept it back. */
export function toReasoningItem(
  part: ContentPart,
  { provider, request, store }: RequestContext,
): JsonObject | undefined {
  if (getOrigin(part, provider, request.model) !== "current_model") return undefined;
  const item = readState(part.providerState)?.item;
  if (item === undefined) return undefined;
  return store || isSelfContained(item) ? asJson(item) : undefined;
}

/**
 * Reports whether an item can be sent back to an API that stores nothing, which finds reasoning only by its content.
 */
export function isSelfContained({ encrypted_content: encrypted, content }: Untrusted<OutputItem>): boolean {
  return typeof encrypted === "string" || objectsIn(content).length > 0;
}
