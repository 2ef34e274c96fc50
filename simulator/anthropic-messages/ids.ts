import { createHash } from "node:crypto";

/** Returns the id of the message that answers the request of that number. */
export function toMessageId(requestNumber: number): string {
  return `msg_01${hex(requestNumber, 22)}`;
}

/**
 * Returns the id of the tool call at that index of an answer. It encodes the model and the number of thinking blocks
 * before the call, so that the simulator can detect a missing block without storing anything.
 */
export function toToolUseId(
  { requestNumber, model }: { readonly requestNumber: number; readonly model: string },
  index: number,
  thinkingBefore: number,
): string {
  return `toolu_01${hex(requestNumber, 10)}${modelDigest(model)}${hex(index, 4)}${hex(thinkingBefore, 4)}`;
}

/** Returns the id of a hosted tool's call at that index of an answer. */
export function toServerToolUseId(requestNumber: number, index: number): string {
  return `srvtoolu_01${hex(requestNumber, 14)}${hex(index, 8)}`;
}

/**
 * Returns the number of thinking blocks before a tool call. Undefined for an id that no simulator created for that
 * model.
 */
export function parseThinkingBefore(toolUseId: string, model: string): number | undefined {
  const [, digest, thinking] =
    /^toolu_01[0-9a-f]{10}([0-9a-f]{4})[0-9a-f]{4}([0-9a-f]{4})$/.exec(toolUseId) ?? [];
  return digest === modelDigest(model) && thinking !== undefined ? Number.parseInt(thinking, 16) : undefined;
}

/** Returns a model string without its options. */
export function withoutOptions(model: string): string {
  return model.split(":")[0] ?? model;
}

function modelDigest(model: string): string {
  return createHash("sha256").update(model).digest("hex").slice(0, 4);
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
