import { describeRunStore } from "../../store-contract.ts";
import { countRows, newKey, openFile, openMemory } from "./open-store.ts";

describeRunStore("a SQLite store in a file", { open: async () => openFile(), countRows });
describeRunStore("a SQLite store in memory", { open: async () => openMemory(), countRows });
describeRunStore("an encrypted SQLite store", {
  open: async () => openFile({ keys: [newKey()] }),
  countRows,
});
