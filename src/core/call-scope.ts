import { AbortError } from "./errors.ts";

/** The signal of one streamed call: it follows the caller's, and is aborted when the stream is closed before its end. */
export class CallScope {
  readonly #parent: AbortSignal | undefined;
  #controller: AbortController | undefined;
  #isReleased = false;

  constructor(parent: AbortSignal | undefined) {
    this.#parent = parent;
  }

  /**
   * The signal for the options of the call. The first use subscribes to the caller's signal, until `release` or
   * `abort`.
   */
  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    if (this.#parent?.aborted) controller.abort(this.#parent.reason);
    else this.#parent?.addEventListener("abort", this.#follow, { once: true });
    return controller.signal;
  }

  /** Ends the call. Has no effect after `release`. */
  readonly abort = (reason?: unknown): void => {
    if (this.#isReleased) return;
    this.release();
    this.#controller?.abort(reason ?? new AbortError("the stream was closed before its end"));
  };

  /** Unsubscribes from the caller's signal. Call it when the stream has ended. */
  readonly release = (): void => {
    this.#isReleased = true;
    this.#parent?.removeEventListener("abort", this.#follow);
  };

  readonly #follow = (): void => this.abort(this.#parent?.reason);
}
