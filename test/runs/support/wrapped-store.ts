import type { RunStore } from "../../../src/runs/store.ts";

/** A store with some methods in place of its own. */
export function wrapStore(store: RunStore, own: Partial<RunStore>): RunStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(Reflect.has(own, name) ? own : target) : value;
    },
  });
}

/** A store as a process sees it that can die: from then on nothing that it does reaches the store, or ends. */
export function mortalStore(store: RunStore): { readonly store: RunStore; readonly die: () => void } {
  let isDead = false;
  const whileAlive =
    <Parameters extends unknown[], Result>(method: (...parameters: Parameters) => Promise<Result>) =>
    (...parameters: Parameters): Promise<Result> =>
      isDead ? new Promise(() => {}) : method(...parameters);
  return {
    store: wrapStore(store, {
      write: whileAlive((write) => store.write(write)),
      take: whileAlive((runId, lease) => store.take(runId, lease)),
      renewLeases: whileAlive((lease) => store.renewLeases(lease)),
      takeAbandoned: whileAlive((lease, limit) => store.takeAbandoned(lease, limit)),
      close: async () => undefined,
    }),
    die: () => {
      isDead = true;
    },
  };
}
