import type { MemoryAccount } from "../../core/memory-account.ts";
import { LONGEST_TIMER_MS } from "../../kit/http/timeouts.ts";
import type { Limits } from "../base/limits.ts";
import { closeCodes, type SocketChannel } from "./socket-channel.ts";

/** The open WebSockets of a listener. */
export class WebSockets {
  readonly #limits: Limits;
  readonly #account: MemoryAccount;
  /** The open sockets, with the names of their access keys. */
  readonly #open = new Map<SocketChannel, string>();
  #timer: NodeJS.Timeout | undefined;
  #isDraining = false;

  constructor(limits: Limits, account: MemoryAccount) {
    this.#limits = limits;
    this.#account = account;
  }

  /** Whether new sockets are refused. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Reports whether an access key may have another socket: one key must leave some connections to the others. */
  admits(owner: string): boolean {
    const max = this.#account.getOwnerLimit(this.#limits.maxConnections, owner);
    if (this.#open.size < max) return true;
    return [...this.#open.values()].filter((name) => name === owner).length < max;
  }

  /** Watches a socket until `remove`. @param owner Name of its access key; empty if there is none. */
  add(channel: SocketChannel, owner: string): void {
    this.#open.set(channel, owner);
    const { keepaliveIntervalMs, maxConnectionAgeMs } = this.#limits;
    this.#timer ??= setInterval(() => this.#checkAll(), keepaliveIntervalMs);
    if (maxConnectionAgeMs <= LONGEST_TIMER_MS) this.#limitAge(channel, maxConnectionAgeMs);
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
    for (const channel of this.#open.keys()) channel.finish(closeCodes.goingAway, STOPPING);
  }

  /** Closes all sockets after their calls were aborted: each one as soon as its messages have been answered. */
  destroyAll(): void {
    this.#isDraining = true;
    for (const channel of this.#open.keys()) channel.finish(closeCodes.serviceRestart, STOPPING);
  }

  #checkAll(): void {
    const now = performance.now();
    for (const channel of this.#open.keys()) channel.check(now);
  }

  #limitAge(channel: SocketChannel, ageMs: number): void {
    const timer = setTimeout(() => {
      if (this.#open.has(channel)) channel.finish(closeCodes.goingAway, "the connection is too old");
    }, ageMs);
    timer.unref();
  }
}

const STOPPING = "the sidecar is stopping";
