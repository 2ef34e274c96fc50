import { MemoryStore } from "../../../src/runs/stores/memory-store.ts";
import { describeRunStore } from "../store-contract.ts";

describeRunStore("MemoryStore", { open: async () => new MemoryStore() });
