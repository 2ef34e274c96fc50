/** Messages that wait for the transport, which takes all waiting messages at once. For one reader and one writer. */
export class Outbox<Message> {
  readonly #max: number;
  #messages: Message[] = [];
  #wakeReader: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;

  /** @param max A writer that asks for room waits while this many messages wait. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Adds messages. */
  push(messages: readonly Message[]): void {
    for (const message of messages) this.#messages.push(message);
    this.wake();
  }

  /** Takes all messages. Undefined if there are none. */
  take(): readonly Message[] | undefined {
    if (this.#messages.length === 0) return undefined;
    const messages = this.#messages;
    this.#messages = [];
    const wake = this.#wakeWriter;
    this.#wakeWriter = undefined;
    wake?.();
    return messages;
  }

  /** Resolves when there is work for the reader. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeReader = resolve;
    });
  }

  /** Wakes the reader. */
  wake(): void {
    const wake = this.#wakeReader;
    this.#wakeReader = undefined;
    wake?.();
  }

  /** Resolves when fewer messages than the maximum wait. */
  async room(): Promise<void> {
    while (this.#messages.length >= this.#max)
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
  }
}
