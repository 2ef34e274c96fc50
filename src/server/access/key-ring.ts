import { hash, timingSafeEqual } from "node:crypto";
import type { AccessKey } from "../../config/access-key.ts";

/** The access keys that are valid at one time. */
export class KeyRing {
  readonly #digests: readonly Buffer[];
  readonly #owners: readonly AccessKey[];
  readonly #byName: ReadonlyMap<string, AccessKey>;

  constructor(keys: readonly AccessKey[]) {
    this.#digests = keys.flatMap(({ digests }) => digests);
    this.#owners = keys.flatMap((key) => key.digests.map(() => key));
    this.#byName = new Map(keys.map((key) => [key.name, key]));
  }

  /**
   * Returns the key with this token; undefined if there is none. Takes the same steps in every case: the token is
   * hashed, and its digest is compared with the digest of every key in constant time.
   */
  find(token: string): AccessKey | undefined {
    const digest = hash("sha256", token, "buffer");
    let position = 0;
    for (let index = 0; index < this.#digests.length; index += 1) {
      const isSame = Number(timingSafeEqual(this.#digests[index] ?? NONE, digest));
      position |= -isSame & (index + 1);
    }
    return this.#owners[position - 1];
  }

  /** Returns the key with a name; undefined if there is none. */
  named(name: string): AccessKey | undefined {
    return this.#byName.get(name);
  }
}

const NONE = Buffer.alloc(32);
