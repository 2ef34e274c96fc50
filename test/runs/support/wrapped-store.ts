import type { RunStore } from "../../../src/runs/store.ts";

/** A store with some methods replaced. */
export function wrapStore(store: RunStore, replacements: Partial<RunStore>): RunStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(replacements, name) ?? Reflect.get(target, name);
      return typeof value === "function"
        ? value.bind(Reflect.has(replacements, name) ? replacements : target)
        : value;
    },
  });
}

/** Wraps a store that several engines use, so that no engine closes it. */
export function sharedStore(store: RunStore): RunStore {
  return wrapStore(store, { close: async () => undefined });
}

/** A store whose process can die: from then on no call reaches the store, and no call ends. */
export function mortalStore(store: RunStore): { readonly store: RunStore; readonly die: () => void } {
  let isDead = false;
  const never = () => new Promise<never>(() => {});
  return {
    store: wrapStore(store, {
      write: (write) => (isDead ? never() : store.write(write)),
      claim: (runId, holder) => (isDead ? never() : store.claim(runId, holder)),
      renewLease: (holder) => (isDead ? never() : store.renewLease(holder)),
      claimQueued: (holder, limit, owners) => (isDead ? never() : store.claimQueued(holder, limit, owners)),
      claimAbandoned: (holder, known, limit) =>
        isDead ? never() : store.claimAbandoned(holder, known, limit),
      close: async () => undefined,
    }),
    die: () => {
      isDead = true;
    },
  };
}
