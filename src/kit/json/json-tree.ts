import type { JsonValue } from "./json.ts";

type Container = JsonValue[] | Record<string, JsonValue>;

/** A list or an object that is not closed yet. */
interface Level {
  readonly container: Container;
  /** Key of the object's newest member, or of the next one. */
  key: string;
}

/** A JSON value under construction. */
export class JsonTree {
  readonly #open: Level[] = [];
  #root: JsonValue | undefined;
  #version = 0;

  /** The value so far; undefined before there is one. It grows in place. */
  get root(): JsonValue | undefined {
    return this.#root;
  }

  get version(): number {
    return this.#version;
  }

  /** Number of lists and objects that are not closed. */
  get depth(): number {
    return this.#open.length;
  }

  get isInList(): boolean {
    return Array.isArray(this.#open.at(-1)?.container);
  }

  /** Sets the key of the next member of the innermost object. */
  setKey(key: string): void {
    const level = this.#open.at(-1);
    if (level !== undefined) level.key = key;
  }

  /** Adds a value to the innermost list or object; the first one is the root. */
  add(value: JsonValue): void {
    const level = this.#open.at(-1);
    if (level === undefined) this.#root = value;
    else if (Array.isArray(level.container)) level.container.push(value);
    else setMember(level.container, level.key, value);
    this.#version += 1;
  }

  /** Replaces the value that was added last. */
  replace(value: JsonValue): void {
    const level = this.#open.at(-1);
    if (level === undefined) this.#root = value;
    else setNewest(level, value);
    this.#version += 1;
  }

  /** Adds an empty list or object, to which the next values belong. */
  open(container: Container): void {
    this.add(container);
    this.#open.push({ container, key: "" });
  }

  /** Closes the innermost list or object. */
  close(): void {
    this.#open.pop();
  }

  /**
   * Returns the value so far in a form that does not grow: the open lists and objects are copied, closed ones shared.
   */
  snapshot(): JsonValue | undefined {
    let inner: JsonValue | undefined;
    for (const { container, key } of this.#open.toReversed()) {
      const copy = Array.isArray(container) ? container.slice() : { ...container };
      if (inner !== undefined) setNewest({ container: copy, key }, inner);
      inner = copy;
    }
    return inner ?? this.#root;
  }
}

function setNewest({ container, key }: Level, value: JsonValue): void {
  if (Array.isArray(container)) container[container.length - 1] = value;
  else setMember(container, key, value);
}

/** Sets a property of the object itself. An assignment to a new `__proto__` would change the prototype instead. */
function setMember(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
