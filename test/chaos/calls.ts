/** Calls of RunService in the JSON form of the contract, as a client without libraries makes them. */

/** A run. */
export interface JsonRun {
  readonly id: string;
  readonly status: string;
  readonly background?: boolean;
  readonly lastSequence?: number;
  readonly error?: { readonly message?: string };
}

/** An event of a run. */
export interface JsonEvent {
  readonly sequence: number;
  /** The run, in events that tell its status. */
  readonly run: JsonRun | undefined;
  /** The line as it was received. */
  readonly text: string;
}

/** Whether a run with this status has ended. */
export function isTerminal(status: string | undefined): boolean {
  return /COMPLETED|FAILED|CANCELLED|INCOMPLETE/.test(status ?? "");
}

/** Longest wait for an answer or for the next event, in milliseconds. */
const TIMEOUT_MS = 20_000;

/** A failed call. */
export class CallError extends Error {
  /** HTTP status. */
  readonly status: number;

  constructor(status: number, text: string) {
    super(`${status} ${text.slice(0, 300)}`);
    this.status = status;
  }
}

function post(url: string, method: string, request: object, accept: string, signal: AbortSignal) {
  return fetch(`${url}/outrigger.v1.RunService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept },
    body: JSON.stringify(request),
    signal,
  });
}

/** Calls a method with one answer. */
export async function call<Answer>(url: string, method: string, request: object): Promise<Answer> {
  const response = await post(url, method, request, "application/json", AbortSignal.timeout(TIMEOUT_MS));
  const text = await response.text();
  if (!response.ok) throw new CallError(response.status, text);
  return JSON.parse(text);
}

/** Calls a method that answers with events. Throws if the connection breaks or is silent for long. */
export async function* readEvents(url: string, method: string, request: object): AsyncGenerator<JsonEvent> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error("no event came in time")), TIMEOUT_MS);
  try {
    const response = await post(url, method, request, "application/x-ndjson", silence.signal);
    if (!response.ok) throw new CallError(response.status, await response.text());
    let rest = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      timer.refresh();
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const text of lines.filter((line) => line !== "")) {
        const event = JSON.parse(text);
        // The events of a run that failed are followed by its status, and the events of a stream that failed by the
        // status of the stream.
        if (!("status" in event)) yield { sequence: event.sequence ?? 0, run: event.run, text };
      }
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}
