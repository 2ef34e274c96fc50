import { expect, it } from "vitest";
import { InvalidRequestError, ServerError } from "../../src/core/errors.ts";
import { StoreFullError, StoreUnreachableError } from "../../src/runs/errors.ts";
import { watchStore } from "../../src/runs/lazy-engine.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import { wrapStore } from "./support/wrapped-store.ts";

it("a watched store reports when it is unavailable or full, and when it can be used again", async () => {
  const store = await openMemory();
  let failure: Error | undefined;
  const fails = async <Result>(work: () => Promise<Result>) => {
    if (failure !== undefined) throw failure;
    return work();
  };
  const told: string[] = [];
  const watched = watchStore(
    wrapStore(store, {
      countQueued: (owner) => fails(() => store.countQueued(owner)),
      appendMessages: () => fails(async () => ({ case: "missing" }) as never),
    }),
    (state, problem) => void told.push(`${state} ${problem}`.trim()),
  );
  const read = () => watched.countQueued("").catch(() => {});
  const write = () => watched.appendMessages("", "", []).catch(() => {});
  await read();
  failure = new StoreUnreachableError("no route");
  await read();
  await read();
  failure = undefined;
  await read();
  failure = new StoreFullError("no space");
  await write();
  failure = undefined;
  await read();
  await write();
  failure = new InvalidRequestError("x");
  await read();
  failure = new ServerError("too busy", { retryable: false });
  await read();
  expect(told).toEqual(["unreachable no route", "ok", "full no space", "ok"]);
  expect(watched.isShared).toBe(false);
  await watched.close();
});

it("a store that refuses writes is not available because reads succeed", async () => {
  const store = await openMemory();
  let failure: Error | undefined = new ServerError("its file was removed");
  const fails = async <Result>(work: () => Promise<Result>) => {
    if (failure !== undefined) throw failure;
    return work();
  };
  const told: string[] = [];
  const watched = watchStore(
    wrapStore(store, {
      appendMessages: () => fails(async () => ({ case: "missing" }) as never),
      renewLease: () => fails(async () => []),
    }),
    (state) => void told.push(state),
  );
  const write = () => watched.appendMessages("", "", []).catch(() => {});
  const renew = () => watched.renewLease({ id: "", timeoutMs: 1 }).catch(() => []);
  await write();
  await watched.countQueued("");
  await renew();
  await watched.countQueued("");
  expect(told).toEqual(["unreachable"]);
  failure = undefined;
  await renew();
  expect(told).toEqual(["unreachable", "ok"]);
  await watched.close();
});
