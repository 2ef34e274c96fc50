/** Names and values of headers. */
export type HeaderList = Iterable<readonly [name: string, value: string]>;

/** The beginning of an answer that is relayed. */
export interface RelayedHead {
  readonly status: number;
  /** All headers of the provider. */
  readonly headers: HeaderList;
  /** Masks the keys of the request in a value of a header. */
  readonly withoutKeys: (value: string) => string;
}

const NOTHING = new Uint8Array();

/**
 * The answer of a provider on its way to a caller who speaks the same API. The adapter adds the bytes that it has
 * decoded, and the caller's API takes them whenever it has read events. Holds the answer of the latest attempt only.
 */
export class AnswerRelay {
  #head: RelayedHead | undefined;
  #chunks: Uint8Array[] = [];
  #isFailed = false;
  #followed: AnswerRelay | undefined;

  /** Forgets the answer of an earlier attempt. Called before each attempt. */
  restart(): void {
    this.#head = undefined;
    this.#chunks = [];
    this.#isFailed = false;
    this.#followed = undefined;
  }

  /** Relays what another relay gets: the one of the call that counts, among several calls for one answer. */
  follow(relay: AnswerRelay): void {
    this.#followed = relay;
  }

  /** Begins an answer. */
  begin(head: RelayedHead): void {
    this.#head = head;
  }

  /** Adds bytes of the answer: of a stream, whole events. */
  add(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.#chunks.push(bytes);
  }

  /** Notes that the provider itself says in the answer why it failed, so that the caller needs no other error. */
  fail(): void {
    this.#isFailed = true;
  }

  /** The beginning of the answer; undefined if the answer is not relayed. */
  get head(): RelayedHead | undefined {
    return this.#followed === undefined ? this.#head : this.#followed.head;
  }

  /** Whether the provider itself says in the answer why it failed. */
  get isFailed(): boolean {
    return this.#followed?.isFailed ?? this.#isFailed;
  }

  /** Whether there are bytes to take. */
  get hasBytes(): boolean {
    return this.#followed?.hasBytes ?? this.#chunks.length > 0;
  }

  /** Returns the bytes that were added since the last call; empty if there are none. */
  take(): Uint8Array {
    if (this.#followed !== undefined) return this.#followed.take();
    const chunks = this.#chunks;
    const [first = NOTHING] = chunks;
    this.#chunks = [];
    return chunks.length <= 1 ? first : Buffer.concat(chunks);
  }
}
