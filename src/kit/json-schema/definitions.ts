import type { JsonObject } from "../json/json.ts";
import { isSchemaObject } from "./keywords.ts";
import { tokensOf } from "./pointer.ts";
import type { Target } from "./references.ts";

/** A schema that references of the result lead to. */
export interface Definition {
  readonly name: string;
  readonly schema: JsonObject;
  readonly pointer: string;
}

/** Gives what references lead to a name in the result's `$defs`: its own where it stands in the root's. */
export class Definitions {
  readonly #named = new Map<JsonObject, Definition>();
  readonly #names = new Set<string>();
  /** Definitions of the root, whose names are theirs, in their order. */
  readonly #own: ReadonlyMap<unknown, string>;

  constructor(root: JsonObject) {
    const own = new Map<unknown, string>();
    for (const definitions of [root.$defs, root.definitions]) {
      for (const [name, schema] of Object.entries(isSchemaObject(definitions) ? definitions : {})) {
        own.set(schema, this.#take(name));
      }
    }
    this.#own = own;
  }

  /** The name of what a reference leads to. */
  nameOf({ schema, pointer }: Target): string {
    const target = schema as JsonObject;
    const known = this.#named.get(target);
    if (known !== undefined) return known.name;
    const name = this.#own.get(target) ?? this.#take(tokensOf(pointer)?.slice(-2).join("_") ?? "");
    this.#named.set(target, { name, schema: target, pointer });
    return name;
  }

  /** Everything that was named: the root's own first, in their order. More may come while it is read. */
  *[Symbol.iterator](): Iterator<Definition> {
    yield* this.#named.values();
  }

  /** Names in the order in which the root has them; those that it does not have come after them. */
  inOrder(names: Iterable<string>): string[] {
    const order = new Map([...this.#own.values()].map((name, index) => [name, index]));
    const rank = (name: string) => order.get(name) ?? order.size;
    return [...names].sort((left, right) => rank(left) - rank(right));
  }

  /** A free name of characters that every provider takes. */
  #take(wanted: string): string {
    const base = wanted.replaceAll(/[^A-Za-z0-9_.-]/g, "_") || "schema";
    let name = base;
    for (let n = 2; this.#names.has(name); n += 1) name = `${base}_${n}`;
    this.#names.add(name);
    return name;
  }
}
