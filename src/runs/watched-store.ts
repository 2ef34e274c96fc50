import { toSdkError } from "../core/errors.ts";
import { isOutage, StoreFullError } from "./errors.ts";
import type { RunStore } from "./store.ts";

/** How a store is: `full` has no space for new content, `away` cannot be reached. */
export type StoreState = "ok" | "full" | "away";

/** Methods that write new content, so that their success means that there is space. */
const WRITES: ReadonlySet<string | symbol> = new Set<keyof RunStore>([
  "createRun",
  "createThread",
  "appendMessages",
  "write",
]);

/**
 * Returns a store that tells how it is, as far as its use shows.
 * @param onChange Called when the state changes, with the problem if there is one. The first state is `ok`.
 */
export function watchStore(
  store: RunStore,
  onChange: (state: StoreState, problem: string) => void,
): RunStore {
  let state: StoreState = "ok";
  const change = (next: StoreState, problem = "") => {
    if (next === state) return;
    state = next;
    onChange(next, problem);
  };
  const succeed = (method: string | symbol) => {
    if (state !== "ok" && (state === "away" || WRITES.has(method))) change("ok");
  };
  const fail = (thrown: unknown) => {
    if (thrown instanceof StoreFullError) change("full", thrown.message);
    else if (isOutage(thrown)) change("away", toSdkError(thrown).message);
  };
  const watched = new Map<string | symbol, unknown>();
  return new Proxy(store, {
    get(target, name) {
      const known = watched.get(name);
      if (known !== undefined) return known;
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      const method = (...parameters: unknown[]): unknown => {
        const result: unknown = member.apply(target, parameters);
        if (!(result instanceof Promise)) return result;
        result.then(() => succeed(name), fail);
        return result;
      };
      watched.set(name, method);
      return method;
    },
  });
}
