import { isDeepStrictEqual } from "node:util";
import type { MiddlewareMethods } from "../client/middleware.ts";
import type { ProviderAdapter } from "../core/adapter.ts";
import type { BudgetStore } from "../middleware/budget-window.ts";
import type { KeyFile } from "./key-files.ts";

interface Kept<Part> {
  readonly settings: unknown;
  readonly part: Part;
}

/**
 * Parts that stay in use when other settings of a configuration change: connections stay open, and limits continue
 * counting.
 */
export class ReusableParts<Part> {
  readonly #parts = new Map<string, Kept<Part>>();
  #earlier: ReadonlyMap<string, Kept<Part>>;

  /** @param earlier The parts of the previous configuration. They are not changed. */
  constructor(earlier?: ReusableParts<Part>) {
    this.#earlier = earlier === undefined ? new Map() : earlier.#parts;
  }

  /**
   * Returns the earlier part with this name if it was created from equal settings; otherwise creates one.
   * @param name Unique within a configuration.
   */
  keep(name: string, settings: unknown, create: () => Part): Part {
    const earlier = this.#earlier.get(name);
    const isSame = earlier !== undefined && isDeepStrictEqual(earlier.settings, settings);
    const part = isSame ? earlier.part : create();
    this.#parts.set(name, { settings, part });
    return part;
  }

  /** Forgets the earlier parts that are no longer in use. */
  forgetEarlier(): void {
    this.#earlier = new Map();
  }

  get parts(): readonly Part[] {
    return [...this.#parts.values()].map(({ part }) => part);
  }
}

/** Parts of a Client that the next one may reuse. */
export class ReusableClientParts {
  readonly adapters: ReusableParts<ProviderAdapter>;
  /** By providers. */
  readonly keyFiles: ReusableParts<KeyFile>;
  readonly middleware: ReusableParts<MiddlewareMethods>;
  readonly sums: ReusableParts<BudgetStore>;

  /** @param earlier The parts of the previous configuration. They are not changed. */
  constructor(earlier?: ReusableClientParts) {
    this.adapters = new ReusableParts(earlier?.adapters);
    this.keyFiles = new ReusableParts(earlier?.keyFiles);
    this.middleware = new ReusableParts(earlier?.middleware);
    this.sums = new ReusableParts(earlier?.sums);
  }

  /** Forgets the earlier parts that are no longer in use. */
  forgetEarlier(): void {
    for (const parts of [this.adapters, this.keyFiles, this.middleware, this.sums]) parts.forgetEarlier();
  }
}
