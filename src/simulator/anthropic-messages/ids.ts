import { createHash } from "node:crypto";

/** Id of the message that answers the request of that number. */
export function messageIdOf(requestNumber: number): string {
  return `msg_01${hex(requestNumber, 22)}`;
}

/**
 * Id of the tool call at that place of an answer. It says which model calls, and how many blocks of thinking stand before
 * the call, so that the simulator needs no memory to know when one of them is missing.
 */
export function toolUseIdOf(
  { requestNumber, model }: { readonly requestNumber: number; readonly model: string },
  index: number,
  thinkingBefore: number,
): string {
  return `toolu_01${hex(requestNumber, 10)}${markOf(model)}${hex(index, 4)}${hex(thinkingBefore, 4)}`;
}

/** Id of the call of a hosted tool at that place of an answer. */
export function serverToolUseIdOf(requestNumber: number, index: number): string {
  return `srvtoolu_01${hex(requestNumber, 14)}${hex(index, 8)}`;
}

/** How many blocks of thinking stood before a tool call. Returns undefined for an id that no simulator gave as that model. */
export function thinkingBeforeOf(toolUseId: string, model: string): number | undefined {
  const [, mark, thinking] =
    /^toolu_01[0-9a-f]{10}([0-9a-f]{4})[0-9a-f]{4}([0-9a-f]{4})$/.exec(toolUseId) ?? [];
  return mark === markOf(model) && thinking !== undefined ? Number.parseInt(thinking, 16) : undefined;
}

/** A model string without its options: what counts as one model. */
export function withoutOptions(model: string): string {
  return model.split(":")[0] ?? model;
}

function markOf(model: string): string {
  return createHash("sha256").update(model).digest("hex").slice(0, 4);
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
