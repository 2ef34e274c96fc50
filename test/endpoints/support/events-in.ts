/** An event of a stream of `/v1/responses`, as far as every event has it. */
export interface ResponsesEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly [field: string]: unknown;
}

/** Reads the events in the body of a stream, without `[DONE]`. Throws if one is not JSON. */
export function eventsIn(body: string): ResponsesEvent[] {
  return [...body.matchAll(/^data: ?(\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
}
