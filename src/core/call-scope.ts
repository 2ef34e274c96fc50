import { AbortError } from "./errors.ts";

/** The signal of one streamed call: it follows the caller's, and is aborted when the stream is closed before its end. */
export class CallScope {
  readonly #parent: AbortSignal | undefined;
  readonly #controller = new AbortController();
  /** The signal for the options of the call. */
  readonly signal: AbortSignal = this.#controller.signal;
  #isReleased = false;

  /** @param parent The caller's signal, to which the scope subscribes until `release` or `abort`. */
  constructor(parent: AbortSignal | undefined) {
    this.#parent = parent;
    if (parent?.aborted) this.#controller.abort(parent.reason);
    else parent?.addEventListener("abort", this.#follow, { once: true });
  }

  /** Ends the call. Has no effect after `release`. */
  abort(reason?: unknown): void {
    if (this.#isReleased) return;
    this.release();
    this.#controller.abort(reason ?? new AbortError("the stream was closed before its end"));
  }

  /** Unsubscribes from the caller's signal. Call it when the stream has ended. */
  release(): void {
    this.#isReleased = true;
    this.#parent?.removeEventListener("abort", this.#follow);
  }

  readonly #follow = (): void => this.abort(this.#parent?.reason);
}
