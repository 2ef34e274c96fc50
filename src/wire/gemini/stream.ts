/** Streams of `streamGenerateContent` (provider documentation: "streamGenerateContent"). */
import type { ErrorBody } from "./error.ts";
import type { GenerateContentResponse } from "./response.ts";

/**
 * The data of one event: the new part of the answer, or a failure that ends it. With `alt=sse` each is a server-sent
 * event; without it they are the elements of one JSON list (provider documentation: "streamGenerateContent").
 */
export interface StreamChunk extends GenerateContentResponse, Partial<ErrorBody> {}
