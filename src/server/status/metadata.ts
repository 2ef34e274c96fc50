import type { OutgoingHttpHeaders } from "node:http2";

/**
 * Metadata of a call, with the interface of the web's Headers, which Connect's contexts have. Node's `Headers` loads
 * its fetch, 17 MB of memory for a map of strings. Values of names that end in `-bin` are base64, as everywhere in
 * Connect.
 */
export class Metadata implements Headers {
  readonly #values = new Map<string, string[]>();

  /** Creates metadata from the headers of a request. */
  static from(headers: Readonly<Record<string, string | string[] | undefined>>): Metadata {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) {
      if (value === undefined || name.startsWith(":")) continue;
      metadata.#values.set(name, typeof value === "string" ? [value] : [...value]);
    }
    return metadata;
  }

  append(name: string, value: string): void {
    const key = checkFieldName(name);
    const values = this.#values.get(key);
    if (values === undefined) this.#values.set(key, [checkFieldValue(key, value)]);
    else values.push(checkFieldValue(key, value));
  }

  delete(name: string): void {
    this.#values.delete(checkFieldName(name));
  }

  get(name: string): string | null {
    return this.#values.get(checkFieldName(name))?.join(", ") ?? null;
  }

  getSetCookie(): string[] {
    return [...(this.#values.get(SET_COOKIE) ?? [])];
  }

  has(name: string): boolean {
    return this.#values.has(checkFieldName(name));
  }

  set(name: string, value: string): void {
    const key = checkFieldName(name);
    this.#values.set(key, [checkFieldValue(key, value)]);
  }

  forEach(visit: (value: string, name: string, parent: Headers) => void, thisArg?: unknown): void {
    for (const [name, value] of this) visit.call(thisArg, value, name, this);
  }

  *entries(): ReturnType<Headers["entries"]> {
    for (const name of [...this.#values.keys()].sort()) {
      // Cookies contain commas, so they are not joined (Fetch standard, "sort and combine").
      if (name === SET_COOKIE) for (const cookie of this.getSetCookie()) yield [name, cookie];
      else yield [name, this.get(name) ?? ""];
    }
  }

  *keys(): ReturnType<Headers["keys"]> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): ReturnType<Headers["keys"]> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): ReturnType<Headers["entries"]> {
    return this.entries();
  }

  /** Adds all fields to headers that are about to be sent, one field for each value. */
  writeTo(headers: OutgoingHttpHeaders): void {
    for (const [name, values] of this.#values) headers[name] = values.length === 1 ? values[0] : values;
  }
}

const SET_COOKIE = "set-cookie";

// RFC 9110 §5.6.2 (token) and §5.5 (field-value, in Latin-1 like the web's Headers).
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function checkFieldName(name: string): string {
  if (NAME.test(name)) return name.toLowerCase();
  throw new TypeError(`${JSON.stringify(name)} is not a header name`);
}

function checkFieldValue(name: string, value: string): string {
  const trimmed = String(value).trim();
  if (VALUE.test(trimmed)) return trimmed;
  throw new TypeError(`the header ${name} has a value that HTTP does not allow`);
}
