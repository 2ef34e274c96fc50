/** Headers of an answer. Names are lower case; a header that came several times is joined by ", ". */
export interface HttpHeaders extends Iterable<[name: string, value: string]> {
  /** Returns the value of a header, whatever the case of its name. Undefined if it is absent. */
  get(name: string): string | undefined;
}

/** Headers by name, each with its value or values, in the form of undici. */
export type HeaderRecord = Readonly<Record<string, string | string[] | undefined>>;

/** Creates headers from a record. */
export function createHeaders(record: HeaderRecord): HttpHeaders {
  return new ReceivedHeaders(
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name.toLowerCase(), value])),
  );
}

/** Headers over a record that is not copied: only a few of the many headers of an answer are read. */
export class ReceivedHeaders implements HttpHeaders {
  readonly #values: HeaderRecord;

  /** @param values By names in lower case, as undici gives them. */
  constructor(values: HeaderRecord) {
    this.#values = values;
  }

  get(name: string): string | undefined {
    const value = this.#values[name] ?? this.#values[name.toLowerCase()];
    if (Array.isArray(value)) return value.join(", ");
    // A name such as `constructor` finds what every object inherits.
    return typeof value === "string" ? value : undefined;
  }

  *[Symbol.iterator](): Generator<[name: string, value: string]> {
    for (const [name, values] of Object.entries(this.#values)) {
      if (values !== undefined) yield [name, Array.isArray(values) ? values.join(", ") : values];
    }
  }
}
