/** Header names whose values are secrets. */
const SECRET_HEADER = /auth|key|token|secret|password|credential|cookie/i;

/** Shorter values are more likely to be words than keys. */
const SHORTEST_KEY_CHARS = 8;

const MASK = "(key)";

/** Matches the characters of headers that `encodeURIComponent` replaces. */
const ENCODED_IN_URLS = /[ "#$%&+,/:;<=>?@[\\\]^`{|}]/;

/**
 * Replaces the keys of one adapter wherever a provider sends them back: in an error, as a request id, as a model name.
 * Keys are found as they are, in the escaped forms of JSON strings (`\/`, `\u002f`), and in the forms of URLs (`%2F`).
 * A key that reads like a word is masked only as a separate word.
 */
export class KeyMask {
  readonly #keys: readonly Key[];

  /** @param headers The headers of every request, among them those with the keys. */
  constructor(headers: Readonly<Record<string, string>>) {
    const values = Object.entries(headers).flatMap(([name, value]) =>
      SECRET_HEADER.test(name) ? readSecrets(value) : [],
    );
    this.#keys = [...new Set(values)]
      .filter((value) => value.length >= SHORTEST_KEY_CHARS)
      .sort((left, right) => right.length - left.length)
      .map((value) => ({
        value,
        beginning: value.slice(0, SHORTEST_KEY_CHARS),
        bytes: Buffer.from(value),
        pattern: toPattern(value),
        hasUrlForm: ENCODED_IN_URLS.test(value),
      }));
  }

  /** Returns a text without the keys, and without the beginning of a key if the text was cut inside one. */
  readonly apply = (text: string): string => {
    if (text.length < SHORTEST_KEY_CHARS) return text;
    let rest = text;
    // A text with a key, whole or cut off, has the beginning of the key, or escapes that may hide it.
    for (const key of this.#keys)
      if (rest.includes(key.beginning) || mayHoldForms(rest, key))
        rest = withoutCutKey(withoutKey(rest, key), key);
    return rest;
  };

  /** Like `apply`, for UTF-8 that does not end within a key. Returns the same bytes if there is no key in them. */
  readonly applyToBytes = (bytes: Uint8Array): Uint8Array => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // Escapes in JSON may hide characters of a key.
    const isSuspect =
      buffer.includes(ESCAPED_ASCII) ||
      buffer.includes(ESCAPED_SLASH) ||
      this.#keys.some(
        ({ bytes, hasUrlForm }) => buffer.includes(bytes) || (hasUrlForm && buffer.includes("%")),
      );
    if (!isSuspect) return bytes;
    const text = buffer.toString();
    const masked = this.#keys.reduce(withoutKey, text);
    return masked === text ? bytes : Buffer.from(masked);
  };
}

const ESCAPED_ASCII = Buffer.from("\\u00");
const ESCAPED_SLASH = Buffer.from("\\/");

interface Key {
  readonly value: string;
  /** The fewest characters that are masked if the text was cut after them. */
  readonly beginning: string;
  readonly bytes: Buffer;
  readonly pattern: RegExp;
  /** Whether the key has another form in URLs. */
  readonly hasUrlForm: boolean;
}

/** Returns the secrets in a header: the credentials after the scheme, and the parts of a user name with a password. */
function readSecrets(header: string): string[] {
  const [, scheme = "", credentials = ""] = /^(Bearer|Basic|Token) +(.*)$/is.exec(header) ?? [];
  if (scheme === "") return [header];
  if (scheme.toLowerCase() !== "basic") return [credentials];
  const [, password = ""] = Buffer.from(credentials, "base64").toString().split(/:(.*)/s);
  return [credentials, password];
}

function withoutKey(text: string, key: Key): string {
  // The pattern is needed for escapes and words only; most texts have no key at all.
  return text.includes(key.value) || mayHoldForms(text, key) ? text.replace(key.pattern, MASK) : text;
}

/** Reports whether a text has escapes that may hide characters of a key. */
function mayHoldForms(text: string, { hasUrlForm }: Key): boolean {
  return text.includes("\\") || (hasUrlForm && text.includes("%"));
}

function withoutCutKey(text: string, { value }: Key): string {
  for (let length = Math.min(value.length - 1, text.length); length >= SHORTEST_KEY_CHARS; length -= 1)
    if (text.endsWith(value.slice(0, length))) return text.slice(0, text.length - length) + MASK;
  return text;
}

function toPattern(key: string): RegExp {
  const characters = Array.from({ length: key.length }, (_, at) => encodeForms(key.charAt(at))).join("");
  const isWord = /^[A-Za-z_-]{1,24}$/.test(key);
  if (!isWord) return new RegExp(characters, "g");
  // An escape sequence ends in a letter or digit that is not part of the word after it.
  const before = "(?<![\\w-])|(?<=\\\\[bfnrt])|(?<=\\\\u[0-9a-fA-F]{4})";
  return new RegExp(`(?:${before})${characters}(?![\\w-])`, "g");
}

/** Returns a pattern for a UTF-16 code unit in all forms that JSON and URLs have for it. */
function encodeForms(unit: string): string {
  const hex = unit.charCodeAt(0).toString(16).padStart(4, "0");
  const [high, digits] = [hex.slice(0, 2), hex.slice(2)].map((each) =>
    each.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`),
  );
  const inUrl = ENCODED_IN_URLS.test(unit) ? `|%${digits}` : "";
  return `(?:${unit === "/" ? "\\\\?" : ""}\\u${hex}|\\\\u${high}${digits}${inUrl})`;
}
