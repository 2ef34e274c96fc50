import type { EchoUsage } from "./response.ts";

/** An event of a stream: some text, or the end. */
export interface EchoEvent {
  readonly delta?: string;
  readonly usage?: EchoUsage;
}
