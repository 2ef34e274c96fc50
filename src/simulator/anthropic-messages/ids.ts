/** Id of the message that answers the request of that number. */
export function messageIdOf(requestNumber: number): string {
  return `msg_01${hex(requestNumber, 22)}`;
}

/**
 * Id of the tool call at that place of an answer. It says how many blocks of thinking stand before the call, so that
 * the simulator needs no memory to know when one of them is missing.
 */
export function toolUseIdOf(requestNumber: number, index: number, thinkingBefore: number): string {
  return `toolu_01${hex(requestNumber, 14)}${hex(index, 4)}${hex(thinkingBefore, 4)}`;
}

/** Id of the call of a hosted tool at that place of an answer. */
export function serverToolUseIdOf(requestNumber: number, index: number): string {
  return `srvtoolu_01${hex(requestNumber, 14)}${hex(index, 8)}`;
}

/** How many blocks of thinking stood before a tool call. Returns undefined for an id that no simulator gave. */
export function thinkingBeforeOf(toolUseId: string): number | undefined {
  const found = /^toolu_01[0-9a-f]{18}([0-9a-f]{4})$/.exec(toolUseId)?.[1];
  return found === undefined ? undefined : Number.parseInt(found, 16);
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
