import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Attempt } from "../../gen/outrigger/v1/attempt_pb.ts";

/** Maximum number of attempts that a result lists: the latest. */
const MAX_ATTEMPTS = 256;

/** The provider calls that a generation has made, in order. */
export class AttemptLog {
  readonly #attempts: Attempt[];

  /** @param earlier The attempts of the generation that is continued. */
  constructor(earlier: readonly Attempt[] = []) {
    this.#attempts = earlier.slice(-MAX_ATTEMPTS);
  }

  /** All attempts so far. */
  get attempts(): readonly Attempt[] {
    return this.#attempts;
  }

  /** Adds an attempt that is over. */
  add(attempt: Attempt): void {
    if (this.#attempts.length === MAX_ATTEMPTS) this.#attempts.shift();
    this.#attempts.push(attempt);
  }

  /** Notes the wait that follows the latest attempt. @param seconds Its duration. */
  noteDelay(seconds: number): void {
    const last = this.#attempts.at(-1);
    if (last !== undefined) last.retryDelay = durationFromMs(Math.round(seconds * 1000));
  }
}
