/** The keys of an issuer of tokens, from a file or an address. They may change while the sidecar runs. */

import { parseMetadata } from "../../config/issuer-metadata.ts";
import type { KeysFile, KeysUrl, TokenIssuer } from "../../config/jwt.ts";
import { readKeyFile } from "../../config/key-files.ts";
import { type KeySet, MAX_KEY_SET_BYTES, parseKeySet } from "../../config/key-set.ts";
import { type Parsed, WatchedFile } from "../../config/watched-file.ts";
import { SDKError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { createHttpTransport, type HttpTransport } from "../../kit/http/transport.ts";

/** The keys of an issuer. */
export interface KeySource {
  /** The current keys: the same object until they change. Undefined if they could not be read yet. */
  current(): KeySet | undefined;
  /**
   * Reads the keys again because a token has an unknown one. Returns undefined if they were read a moment ago, or if
   * too many callers are waiting.
   */
  refresh(): Promise<KeySet | undefined> | undefined;
  /** Reads the keys again in any case. */
  reload(): void;
  /** The reason why the keys could not be read last time; empty if they could. */
  readonly problem: string;
  close(): Promise<void>;
}

/** Opens the keys of an issuer. */
export function openKeys({ issuer, keys }: TokenIssuer, log: Log): KeySource {
  const report = createReport(issuer, log);
  return keys.kind === "file" ? new FileKeys(keys, report) : new UrlKeys(issuer, keys, report);
}

/** Reports changes of keys, and each problem once. */
interface Report {
  problem: string;
  changed(keys: KeySet): void;
  failed(problem: string, hasKeys: boolean): void;
}

function createReport(issuer: string, log: Log): Report {
  return {
    problem: "",
    changed({ keys }) {
      log.info({ issuer, key_ids: keys.map(({ kid = "" }) => kid) }, "using new keys of the issuer");
    },
    failed(problem, hasKeys) {
      if (problem === this.problem) return;
      this.problem = problem;
      const kept = hasKeys
        ? "keeping the previous ones"
        : "its tokens are rejected until the keys can be read";
      log.warn({ issuer, problem }, `cannot read the keys of the issuer, ${kept}`);
    },
  };
}

class FileKeys implements KeySource {
  readonly #file: WatchedFile<KeySet>;
  readonly #report: Report;

  constructor({ path, keys }: KeysFile, report: Report) {
    this.#report = report;
    this.#file = new WatchedFile({
      path,
      maxBytes: MAX_KEY_SET_BYTES,
      value: keys,
      parse(content) {
        const parsed = parseKeySet(content);
        if ("problem" in parsed) return { problem: `${parsed.problem} (${path})` };
        report.problem = "";
        return parsed;
      },
      isSame: (before, now) => before.digest === now.digest,
      onChange: (changed) => report.changed(changed),
      onProblem: (problem) => report.failed(problem, true),
    });
  }

  get problem(): string {
    return this.#report.problem;
  }

  current(): KeySet {
    return this.#file.current();
  }

  /** `current` already checks the file as often as allowed. */
  refresh(): undefined {
    return undefined;
  }

  reload(): void {
    this.#file.reload();
  }

  async close(): Promise<void> {}
}

/** Age at which keys are read again while tokens arrive, in milliseconds. */
const MAX_AGE_MS = 300_000;

/** Shortest time between two reads, in milliseconds, however many tokens with unknown keys arrive. */
const COOLDOWN_MS = 10_000;

/** The same until the keys were read for the first time: no token is accepted before. */
const FIRST_COOLDOWN_MS = 1_000;

/** Time limit of a read, in milliseconds. */
const READ_MS = 5_000;

/** Age at which the metadata of an issuer is read again, in milliseconds. */
const MAX_METADATA_AGE_MS = 3_600_000;

/** Maximum number of calls that wait for a read. */
const MAX_WAITING = 100;

class UrlKeys implements KeySource {
  readonly #issuer: string;
  readonly #options: KeysUrl;
  readonly #report: Report;
  readonly #transport: HttpTransport;
  #other: { readonly origin: string; readonly transport: HttpTransport } | undefined;
  /** The address of the keys from the metadata, and when the metadata was read, by `performance.now()`. */
  #located: { readonly url: URL; readonly at: number } | undefined;
  #keys: KeySet | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<KeySet | undefined> | undefined;
  #waiting = 0;
  #isClosed = false;

  constructor(issuer: string, options: KeysUrl, report: Report) {
    this.#issuer = issuer;
    this.#options = options;
    this.#report = report;
    this.#transport = this.#createTransport(options.url.origin);
    this.reload();
  }

  get problem(): string {
    return this.#report.problem;
  }

  current(): KeySet | undefined {
    if (performance.now() - this.#readAt > MAX_AGE_MS) this.reload();
    return this.#keys;
  }

  async #wait(reading: Promise<KeySet | undefined>): Promise<KeySet | undefined> {
    this.#waiting += 1;
    try {
      return await reading;
    } finally {
      this.#waiting -= 1;
    }
  }

  refresh(): Promise<KeySet | undefined> | undefined {
    const cooldown = this.#keys === undefined ? FIRST_COOLDOWN_MS : COOLDOWN_MS;
    if (this.#reading === undefined && performance.now() - this.#readAt > cooldown) this.reload();
    if (this.#reading === undefined || this.#waiting >= MAX_WAITING) return undefined;
    return this.#wait(this.#reading);
  }

  reload(): void {
    if (this.#reading !== undefined || this.#isClosed) return;
    this.#readAt = performance.now();
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#transport.close(), this.#other?.transport.close()]);
    await this.#reading;
  }

  /** Reads the keys. Returns the current ones, whether that worked or not; never rejects. */
  async #read(): Promise<KeySet | undefined> {
    const read = await this.#fetch();
    if (this.#isClosed) return this.#keys;
    if ("problem" in read) {
      this.#report.failed(read.problem, this.#keys !== undefined);
      return this.#keys;
    }
    this.#report.problem = "";
    if (this.#keys?.digest === read.value.digest) return this.#keys;
    this.#keys = read.value;
    this.#report.changed(read.value);
    return this.#keys;
  }

  async #fetch(): Promise<Parsed<KeySet>> {
    const address = await this.#locate();
    if ("problem" in address) return address;
    if (this.#isClosed) return { problem: "closed" };
    const read = await this.#get(address.value, "application/jwk-set+json, application/json", parseKeySet);
    // The issuer may have moved its keys.
    if ("problem" in read) this.#located = undefined;
    return read;
  }

  /** Returns the address of the keys. It may have to be read from the issuer's metadata. */
  async #locate(): Promise<Parsed<URL>> {
    const { kind, url } = this.#options;
    if (kind === "url") return { value: url };
    const known = this.#located;
    if (known !== undefined && performance.now() - known.at < MAX_METADATA_AGE_MS)
      return { value: known.url };
    const parse = (text: string) => parseMetadata(text, this.#issuer);
    const read = await this.#get(url, "application/json", parse);
    if ("value" in read) this.#located = { url: read.value, at: performance.now() };
    return read;
  }

  async #get<Value>(
    url: URL,
    accept: string,
    parse: (text: string) => Parsed<Value>,
  ): Promise<Parsed<Value>> {
    const { tokenFile, url: given } = this.#options;
    // The token is sent only to the server that the configuration names.
    const isForToken = tokenFile !== undefined && url.origin === given.origin;
    const token = isForToken ? await readKeyFile(tokenFile) : undefined;
    if (token !== undefined && "problem" in token) return token;
    const headers = { accept, ...(token && { authorization: `Bearer ${token.value}` }) };
    const at = `${url.origin}${url.pathname}`;
    try {
      const answer = await this.#getTransport(url).get(`${url.pathname}${url.search}`, { headers });
      if (answer.status !== 200) {
        answer.destroy();
        return { problem: `${at} answered with the HTTP status ${answer.status}; expected 200` };
      }
      const parsed = parse(await answer.text(MAX_KEY_SET_BYTES));
      return "problem" in parsed ? { problem: `${parsed.problem} (${at})` } : parsed;
    } catch (error) {
      return { problem: `cannot read ${at}: ${error instanceof SDKError ? error.message : String(error)}` };
    }
  }

  /** Returns the transport to a server. There are two if the keys and the metadata are on different servers. */
  #getTransport({ origin }: URL): HttpTransport {
    if (origin === this.#options.url.origin) return this.#transport;
    if (this.#other?.origin === origin) return this.#other.transport;
    void this.#other?.transport.close();
    const transport = this.#createTransport(origin);
    this.#other = { origin, transport };
    return transport;
  }

  #createTransport(baseUrl: string): HttpTransport {
    return createHttpTransport({
      baseUrl,
      tls: this.#options.tls?.current,
      timeouts: { connectMs: READ_MS, requestMs: READ_MS, betweenBytesMs: READ_MS },
    });
  }
}
