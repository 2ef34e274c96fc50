import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { StoreContext } from "../store-contract.ts";
import { commands, expectSame, StoreModel } from "./model.ts";

/** Random sequences of calls, compared with a model. */
export function propertyTests(context: StoreContext): void {
  it("agrees with a simple model over random conversations, forks and ends of runs", async () => {
    const { store } = context;
    const property = fc.asyncProperty(commands, async (list) => {
      const model = new StoreModel();
      await fc.asyncModelRun(() => ({ model, real: store }), list);
      await nextTurn();
      await expectSame(model, store);
      await nextTurn();
      await clear(context);
    });
    // Shrinking would run smaller lists on a store that is not empty.
    await fc.assert(property, { numRuns: 60, endOnFailure: true });
  }, 120_000);

  /** Deletes everything through the store's methods, and expects that nothing is left. */
  async function clear({ store, countRows }: StoreContext): Promise<void> {
    for (;;) {
      await nextTurn();
      const page = await store.listRuns("owner", { threadId: "", statuses: [], after: "", limit: 100 });
      if (page.elements.length === 0) break;
      for (const { id } of page.elements) await store.deleteRun("owner", id);
    }
    while ((await store.removeOld(new Date(8.64e15), 100)) > 0);
    const rows = (await countRows?.(store)) ?? {};
    expect(Object.values(rows).filter((count) => count > 0)).toEqual([]);
  }
}
