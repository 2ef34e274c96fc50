/** The body of a whole answer. */
export interface EchoResponse {
  readonly text: string;
  readonly usage: EchoUsage;
}

/** The tokens of a call. */
export interface EchoUsage {
  readonly input: number;
  readonly output: number;
}
