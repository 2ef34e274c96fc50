/** Which requests may go unchanged to a provider that speaks the API of the caller. */
import { type JsonObject, objectsIn } from "../../kit/json/json.ts";
import type { ModelTarget } from "../models/model-directory.ts";
import type { Fields } from "../openai/fields.ts";
import { placeOfItem } from "../openai/ids.ts";
import { isCompaction } from "./compaction.ts";
import { isCarried } from "./provider-state.ts";

/**
 * Whether a body may be relayed. Not if its provider has another API, or if the sidecar has a part in the answer: it
 * stores the response, executes tools, or knows items that the provider does not.
 */
export function isRelayable(fields: Fields, { served }: ModelTarget): boolean {
  return (
    served.api === "openai-responses" &&
    storesNothing(fields) &&
    !executesTools(fields) &&
    !hasOurItems(fields)
  );
}

function storesNothing(fields: Fields): boolean {
  const isAlone = !fields.has("previous_response_id") && !fields.has("conversation");
  return fields.get("store") === false && isAlone && (fields.get("background") ?? false) === false;
}

function executesTools(fields: Fields): boolean {
  return objectsIn(fields.get("tools")).some(({ type }) => type === "mcp");
}

function hasOurItems(fields: Fields): boolean {
  return objectsIn(fields.get("input")).some(isOurItem);
}

/** Whether only the sidecar understands an item, or might complete it: without its content, reasoning cannot be found. */
function isOurItem({ type, id, encrypted_content: encrypted, content }: JsonObject): boolean {
  if (typeof id === "string" && placeOfItem(id) !== undefined) return true;
  if (typeof encrypted === "string") return isCarried(encrypted) || isCompaction(encrypted);
  return type === "reasoning" && objectsIn(content).length === 0;
}
