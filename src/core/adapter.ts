import type { Request, ToolChoice_Mode } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { EventStream } from "./event-stream.ts";

/** What a call can be told beside its request. */
export interface CallOptions {
  /** Ends the call, in every phase: the connection to the provider closes at once. */
  readonly signal?: AbortSignal | undefined;
  /** Id of the call, shown as `inference_id`. Given by whoever starts the call; made up where absent. */
  readonly inferenceId?: string | undefined;
}

/**
 * What a provider must be able to do (specification §2.4). One instance serves many calls at
 * once and keeps no state between them but its connections.
 */
export interface ProviderAdapter {
  /** Name under which it is registered, for instance `openai`. */
  readonly name: string;

  /**
   * Sends the request and answers with the whole response. Never retries.
   * @throws SDKError of the kind that fits.
   */
  complete(request: Request, options?: CallOptions): Promise<Response>;

  /**
   * Sends the request and answers with events while the model writes. Never retries. Nothing
   * is sent before the first event is asked for. A failure before the first event throws; a
   * later one is an `error` event, and then throws. Leaving the iteration ends the call.
   */
  stream(request: Request, options?: CallOptions): EventStream;

  /** Checks the configuration. Called once when the adapter is registered. Throws ConfigurationError. */
  initialize?(): void | Promise<void>;

  /** Closes the connections. Called by `Client.close()`. */
  close?(): Promise<void>;

  /** Whether a mode of tool choice works with a model. Absent means that every mode does. */
  supportsToolChoice?(mode: ToolChoice_Mode, model: string): boolean;
}
