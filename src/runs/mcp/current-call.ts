import { AsyncLocalStorage } from "node:async_hooks";

/** One request to an MCP server, which may take several HTTP exchanges. */
export interface McpCall {
  /** Ends the exchanges of the call. */
  readonly signal: AbortSignal;
  /** Whether the server lets the answer be taken up again where a connection ends. */
  isResumable: boolean;
  /** Status of the last HTTP answer where that was no success. */
  failedStatus: number | undefined;
  /** An exchange begins. */
  onExchange(): void;
  /**
   * The body of an answer has ended.
   * @param failure Why the call fails if the answer was not in that body.
   */
  onAnswerEnd(failure: unknown): void;
}

/**
 * The call that an HTTP exchange belongs to. The client package has one fetch for everything it sends and, with servers
 * of the protocol's earlier revisions, hands no signal to it that ends a single call.
 */
export const currentCall = new AsyncLocalStorage<McpCall>();
