import type { CallObserver } from "./call-observer.ts";

/** Counts the calls that are open. */
export class CallCounter implements CallObserver {
  open = 0;

  begin(): void {
    this.open += 1;
  }

  end(): void {
    this.open -= 1;
  }
}
