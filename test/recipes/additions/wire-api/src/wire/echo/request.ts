/** The body of `POST /echo`. */
export interface EchoRequest {
  readonly model: string;
  readonly prompt: string;
  /** Server-sent events instead of one object. */
  readonly stream: boolean;
}
