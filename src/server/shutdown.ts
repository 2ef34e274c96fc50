import type { Logger } from "pino";
import { LONGEST_TIMER_MS } from "../kit/http/timeouts.ts";
import { describeFault } from "./telemetry/logging.ts";

/** A part of a program that is closed at shutdown. */
export interface ShutdownPart {
  /** Name in the log, for instance `data listener`. */
  readonly name: string;
  /**
   * Stops accepting new work. Resolves when the current work is done, at the latest when `deadline` is aborted: the
   * part is then closed anyway. Absent if the part has no work to finish.
   */
  drain?(deadline: AbortSignal): Promise<void>;
  /** Aborts the current work, and frees the resources of the part. Called once. */
  close(): void | Promise<void>;
}

/** Options of a Shutdown. */
export interface ShutdownOptions {
  /** Drained together; closed in this order, one after the other. */
  readonly parts: readonly ShutdownPart[];
  /** Longest wait for the parts to drain. */
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Longest wait for a part to close. */
const CLOSE_TIMEOUT_MS = 5000;

/** Ends the parts of a program: waits for their work, then closes them. Both happen once and never reject. */
export class Shutdown {
  readonly #options: ShutdownOptions;
  readonly #closing = new Map<ShutdownPart, Promise<void>>();
  #draining: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: ShutdownOptions) {
    this.#options = options;
  }

  /** Waits for the work of all parts. A part that is not done in time is named in the log and closed. */
  drain(): Promise<void> {
    this.#draining ??= this.#drainAll();
    return this.#draining;
  }

  /** Closes all parts. */
  close(): Promise<void> {
    this.#closed ??= this.#closeAll();
    return this.#closed;
  }

  async #drainAll(): Promise<void> {
    const { parts, timeoutMs, logger } = this.#options;
    logger.info({ timeout_ms: timeoutMs }, "draining");
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), Math.min(timeoutMs, LONGEST_TIMER_MS));
    await Promise.all(parts.map((part) => this.#drainPart(part, deadline.signal)));
    clearTimeout(timer);
    logger.info("drained");
  }

  async #drainPart(part: ShutdownPart, deadline: AbortSignal): Promise<void> {
    const { timeoutMs, logger } = this.#options;
    const late = new Promise<"late">((resolve) => {
      deadline.addEventListener("abort", () => resolve("late"), { once: true });
    });
    const drained = this.#attempt(part, "drain", () => part.drain?.(deadline));
    if ((await Promise.race([drained, late])) !== "late") return;
    logger.warn(
      { part: part.name, timeout_ms: timeoutMs },
      "drain timed out, closing a part that did not finish",
    );
    await this.#closePart(part);
  }

  async #closeAll(): Promise<void> {
    for (const part of this.#options.parts) await this.#closePart(part);
  }

  #closePart(part: ShutdownPart): Promise<void> {
    const known = this.#closing.get(part);
    if (known !== undefined) return known;
    const closing = this.#closeInTime(part);
    this.#closing.set(part, closing);
    return closing;
  }

  async #closeInTime(part: ShutdownPart): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#options.logger.warn({ part: part.name, timeout_ms: CLOSE_TIMEOUT_MS }, "close timed out");
      resolve();
    }, CLOSE_TIMEOUT_MS);
    await Promise.race([this.#attempt(part, "close", () => part.close()), late]);
    clearTimeout(timer);
  }

  /** Runs a method of a part. A failing part must not keep the others from ending. */
  async #attempt(
    { name }: ShutdownPart,
    step: "drain" | "close",
    run: () => void | Promise<void>,
  ): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.#options.logger.error({ part: name, fault: describeFault(error) }, `${step} failed`);
    }
  }
}
