/** An LRU map. Its size is bounded because callers choose the names of models. */
export class BoundedMap<Value> {
  readonly #values = new Map<string, Value>();
  readonly #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  getOrCreate(key: string, create: () => Value): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const [oldest] = this.#values.keys();
    if (oldest !== undefined && this.#values.size >= this.#maxSize) this.#values.delete(oldest);
    const value = create();
    this.#values.set(key, value);
    return value;
  }
}
