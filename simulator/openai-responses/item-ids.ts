import type { Part } from "../script/turn.ts";

/** The prefix of an item's id, by the kind of the part. */
const prefixByKind: Readonly<Record<Part["kind"], string>> = {
  reasoning: "rs",
  text: "msg",
  refusal: "msg",
  tool_call: "fc",
  web_search: "ws",
  image: "ig",
};

/** The facts that an item's id encodes, so that the simulator knows the origin of an item without storing it. */
export interface ItemOrigin {
  /** Id of the response that contained the item. */
  readonly responseId: string;
  /** Id of the reasoning item that it belongs to, if there was one. */
  readonly reasoningId: string | undefined;
}

/** Returns the id of the response to the request of that number. */
export function toResponseId(requestNumber: number): string {
  return `resp_${hex(requestNumber, 16)}${hex(0, 16)}`;
}

/**
 * Creates the ids of a response's items from the request's number, the item's place, and the place of its reasoning
 * item.
 */
export function createItemIds(requestNumber: number, parts: readonly Part[]): string[] {
  let reasoning = 0;
  return parts.map((part, index) => {
    const place = index + 1;
    if (part.kind === "reasoning") reasoning = place;
    const belongsTo = part.kind === "reasoning" ? 0 : reasoning;
    return `${getPrefix(part)}_${hex(requestNumber, 16)}${hex(place, 8)}${hex(belongsTo, 8)}`;
  });
}

/** Returns the call id of the tool call at that place of a response. */
export function getCallId(requestNumber: number, index: number): string {
  return `call_${hex(requestNumber, 16)}${hex(index + 1, 8)}`;
}

/** Reads an item's origin from its id. Returns undefined for an id that the simulator did not create. */
export function getOrigin(itemId: string): ItemOrigin | undefined {
  const [, request, , belongsTo] = /^[a-z]+_([0-9a-f]{16})([0-9a-f]{8})([0-9a-f]{8})$/.exec(itemId) ?? [];
  if (request === undefined || belongsTo === undefined) return undefined;
  const reasoning = Number.parseInt(belongsTo, 16);
  const reasoningId = reasoning === 0 ? undefined : `rs_${request}${hex(reasoning, 8)}${hex(0, 8)}`;
  return { responseId: `resp_${request}${hex(0, 16)}`, reasoningId };
}

function getPrefix(part: Part): string {
  return part.kind === "tool_call" && part.freeform ? "ctc" : prefixByKind[part.kind];
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
