/** Content type of server-sent events. */
export const EVENT_STREAM = "text/event-stream";

/** Content type of lines of JSON. */
export const NDJSON = "application/x-ndjson";
