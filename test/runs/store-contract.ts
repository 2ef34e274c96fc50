/** The behaviour of every store of runs, in one suite for all stores. */
import { afterEach, beforeEach, describe } from "vitest";
import type { RunStore } from "../../src/runs/store.ts";
import { claimTests } from "./contract/claims.ts";
import { conversationTests } from "./contract/conversations.ts";
import { holder, otherHolder } from "./contract/data.ts";
import { deletionTests } from "./contract/deletion.ts";
import { eventTests } from "./contract/events.ts";
import { listTests } from "./contract/lists.ts";
import { propertyTests } from "./contract/properties.ts";
import { queueTests } from "./contract/queue.ts";
import { runTests } from "./contract/runs.ts";
import { threadTests } from "./contract/threads.ts";

/** A store to test. */
export interface StoreUnderTest {
  /** Opens the store, empty. */
  open(): Promise<RunStore>;
  /** Counts the rows in each of its tables except migrations. Absent if it has no tables. */
  countRows?(store: RunStore): Promise<Readonly<Record<string, number>>>;
  /** Opens the same data as another process would. Absent if only one process can use the data at a time. */
  openAnother?(): Promise<RunStore>;
}

/** The store of the test that runs. */
export interface StoreContext extends Pick<StoreUnderTest, "countRows" | "openAnother"> {
  readonly store: RunStore;
}

/** Adds the tests of a store. Each begins with an empty one. */
export function describeRunStore(name: string, underTest: StoreUnderTest): void {
  describe(name, () => {
    let opened: RunStore | undefined;
    const context: StoreContext = {
      ...underTest,
      get store() {
        if (opened === undefined) throw new Error("the store is not open");
        return opened;
      },
    };
    beforeEach(async () => {
      opened = await underTest.open();
      for (const process of [holder, otherHolder]) await opened.renewLease(process);
    });
    afterEach(async () => {
      await opened?.close();
      opened = undefined;
    });
    const groups = {
      runs: runTests,
      threads: threadTests,
      conversations: conversationTests,
      events: eventTests,
    };
    const more = { claims: claimTests, queue: queueTests, lists: listTests, deletion: deletionTests };
    for (const [title, addTests] of Object.entries({ ...groups, ...more, properties: propertyTests })) {
      describe(title, () => addTests(context));
    }
  });
}
