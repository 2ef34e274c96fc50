import type { Limits } from "../options.ts";
import { closeCodes } from "./close-codes.ts";
import type { SocketChannel } from "./socket-channel.ts";

/** The open WebSockets of a listener. */
export class WebSockets {
  readonly #limits: Limits;
  readonly #open = new Set<SocketChannel>();
  #timer: NodeJS.Timeout | undefined;
  #isDraining = false;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Whether new sockets are refused. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Watches a socket until `remove`. */
  add(channel: SocketChannel): void {
    this.#open.add(channel);
    const { keepaliveIntervalMs, maxConnectionAgeMs } = this.#limits;
    this.#timer ??= setInterval(() => this.#checkAll(), keepaliveIntervalMs);
    if (maxConnectionAgeMs <= MAX_TIMER_MS) this.#limitAge(channel, maxConnectionAgeMs);
    if (this.#isDraining) channel.finish(closeCodes.goingAway, STOPPING);
  }

  remove(channel: SocketChannel): void {
    this.#open.delete(channel);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Closes each socket when its current message has been answered. */
  drain(): void {
    this.#isDraining = true;
    for (const channel of this.#open) channel.finish(closeCodes.goingAway, STOPPING);
  }

  /** Closes all sockets at once. */
  cutOff(): void {
    this.#isDraining = true;
    for (const channel of this.#open) channel.close(closeCodes.serviceRestart, STOPPING);
  }

  #checkAll(): void {
    const now = performance.now();
    for (const channel of this.#open) channel.check(now);
  }

  #limitAge(channel: SocketChannel, ageMs: number): void {
    const timer = setTimeout(() => {
      if (this.#open.has(channel)) channel.finish(closeCodes.goingAway, "the connection is too old");
    }, ageMs);
    timer.unref();
  }
}

const STOPPING = "the sidecar is stopping";

/** The longest timer of Node, 24.8 days. Longer limits are ignored. */
const MAX_TIMER_MS = 2 ** 31 - 1;
