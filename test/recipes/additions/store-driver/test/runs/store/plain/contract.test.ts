import { expect, it } from "vitest";
import { openRunStore } from "../../../../src/config/open-run-store.ts";
import { parseStoreLocation } from "../../../../src/config/runs-schema.ts";
import { openPlainStore } from "../../../../src/runs/store/plain.ts";
import { describeRunStore } from "../../store-contract.ts";

const maxBodyBytes = 32 * 1024 * 1024;

describeRunStore("a plain store", { open: () => openPlainStore({ maxBodyBytes, onProblem: () => {} }) });

it("is a store of a configuration", async () => {
  const location = parseStoreLocation("plain");
  expect(location).toEqual({ kind: "plain" });
  const store = await openRunStore(
    { store: { kind: "plain" }, maxBodyBytes, keys: [], limits: {} },
    () => {},
  );
  await store.close();
});
