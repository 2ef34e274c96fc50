import { invalidRequest, type Problem } from "../openai/problem.ts";
import type { CheckedItem, CheckedRequest } from "./checked-request.ts";
import { decryptReasoning } from "./encrypted-reasoning.ts";
import { getOrigin } from "./item-ids.ts";
import type { StoredResponses } from "./stored-responses.ts";

/** Types of items that a model writes, besides its messages. */
const writtenByModel = /^(reasoning|\w+_call|program|compaction)$/;

/**
 * Gathers the whole conversation that a request continues, and checks that its items fit together: that calls and their
 * outputs match, that reasoning is in its place and unchanged. Throws the problem that OpenAI would report.
 */
export function gatherConversation(request: CheckedRequest, stored: StoredResponses): readonly CheckedItem[] {
  const previous = previousItems(request, stored);
  const added = inputItems(request).map((item) => resolveReference(item, stored));
  const items = [...previous, ...added];
  checkDuplicates(items);
  checkToolCalls(items);
  added.forEach((item, index) => {
    if (item.type === "reasoning") checkReasoning(item, added[index + 1], stored);
    else checkBelonging(item, items.slice(0, previous.length + index));
  });
  return items;
}

function previousItems(request: CheckedRequest, stored: StoredResponses): readonly CheckedItem[] {
  const id = request.previous_response_id ?? undefined;
  if (id === undefined) return [];
  const items = stored.find(id);
  if (items !== undefined) return items;
  const message = `Previous response with id '${id}' not found.`;
  throw invalidRequest(message, "previous_response_id", "previous_response_not_found");
}

function inputItems(request: CheckedRequest): readonly CheckedItem[] {
  const { input = [] } = request;
  return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
}

function resolveReference(item: CheckedItem, stored: StoredResponses): CheckedItem {
  return item.type === "item_reference" ? findItem(item.id ?? "", stored) : item;
}

function findItem(id: string, stored: StoredResponses): CheckedItem {
  const found = stored.find(getOrigin(id)?.responseId ?? "")?.find((item) => item.id === id);
  if (found === undefined) throw notPersisted(id);
  return found;
}

function checkDuplicates(items: readonly CheckedItem[]): void {
  const seen = new Set<string>();
  for (const item of items) {
    const ids = [item.id ?? "", isCall(item) ? `call ${item.call_id}` : ""].filter(Boolean);
    for (const id of ids) {
      if (seen.has(id)) throw duplicate(id.replace(/^call /, ""));
      seen.add(id);
    }
  }
}

function checkToolCalls(items: readonly CheckedItem[]): void {
  const called = new Set<string | undefined>();
  const answered = new Set<string | undefined>();
  for (const item of items) {
    if (isCall(item)) called.add(item.call_id);
    if (!isOutput(item)) continue;
    if (!called.has(item.call_id)) {
      throw inputProblem(`No tool call found for ${nameCall(item)} output with call_id ${item.call_id}.`);
    }
    answered.add(item.call_id);
  }
  const open = items.find((item) => isCall(item) && !answered.has(item.call_id));
  if (open !== undefined) throw inputProblem(`No tool output found for ${nameCall(open)} ${open.call_id}.`);
}

function checkReasoning(item: CheckedItem, next: CheckedItem | undefined, stored: StoredResponses): void {
  const content = item.encrypted_content ?? undefined;
  if (content !== undefined) checkContent(item, content);
  else if (item.id !== undefined && item.id !== null) findItem(item.id, stored);
  if (next === undefined || !isWrittenByModel(next)) {
    throw inputProblem(
      `Item '${item.id ?? ""}' of type 'reasoning' was provided without its required following item.`,
    );
  }
}

function isWrittenByModel(item: CheckedItem): boolean {
  const { type = "message", role } = item;
  return type === "message" ? role === "assistant" : writtenByModel.test(type);
}

function checkContent(item: CheckedItem, content: string): void {
  const madeFor = decryptReasoning(content);
  if (madeFor === undefined) {
    const shown = `${content.slice(0, 4)}...${content.slice(-4)}`;
    throw unverified(
      `The encrypted content ${shown} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
    );
  }
  if (item.id !== undefined && item.id !== null && item.id !== madeFor) {
    throw unverified(
      `The encrypted content for item ${item.id} could not be verified. Reason: Encrypted content item_id did not match the target item id.`,
    );
  }
}

/** An item that followed reasoning may only be sent back after that reasoning. */
function checkBelonging(item: CheckedItem, before: readonly CheckedItem[]): void {
  const reasoningId = getOrigin(item.id ?? "")?.reasoningId;
  if (reasoningId === undefined || before.some((each) => each.id === reasoningId)) return;
  const message = `Item '${item.id}' of type '${item.type}' was provided without its required 'reasoning' item: '${reasoningId}'.`;
  throw inputProblem(message);
}

function isCall(item: CheckedItem): boolean {
  return item.type === "function_call" || item.type === "custom_tool_call";
}

function isOutput(item: CheckedItem): boolean {
  return item.type === "function_call_output" || item.type === "custom_tool_call_output";
}

function nameCall(item: CheckedItem): string {
  return item.type?.startsWith("custom") === true ? "custom tool call" : "function call";
}

function inputProblem(message: string): Problem {
  return invalidRequest(message, "input", null);
}

function duplicate(id: string): Problem {
  return inputProblem(
    `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
  );
}

function unverified(message: string): Problem {
  return invalidRequest(message, null, "invalid_encrypted_content");
}

function notPersisted(id: string): Problem {
  const message = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
  return invalidRequest(message, "input", null, 404);
}
