/** The body of a failed answer. */
export interface EchoError {
  readonly error: string;
}
