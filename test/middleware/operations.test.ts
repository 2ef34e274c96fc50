/** Embeddings and counts of tokens go through the same middleware as answers, as far as that makes sense. */
import {
  createBudget,
  createCache,
  createFallback,
  createRetry,
  ErrorKind,
  type Middleware,
  userMessage,
} from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import type { Caller } from "../../src/core/caller.ts";
import { createModelAccess } from "../../src/middleware/model-access.ts";
import { useSimulator } from "../simulator/support.ts";
import { getClient, listAsked, toFailure } from "./support/providers.ts";

const simulator = useSimulator();

afterEach(() => simulator().clearRequests());

const embedding = { model: "sim-text", texts: ["a", "b"] };
const counted = { model: "sim-text", messages: [userMessage("Hello")] };

const nobody: Caller = { name: "nobody", isRestricted: true, allowsModel: () => false };

async function use<Result>(
  middleware: readonly Middleware[],
  call: (client: ReturnType<typeof getClient>) => Promise<Result>,
): Promise<Result> {
  const client = getClient(simulator(), middleware);
  try {
    return await call(client);
  } finally {
    await client.close();
  }
}

describe("Client.embed and Client.countTokens", () => {
  it("are refused for a caller who may not use the model", async () => {
    const options = { caller: nobody };
    for (const call of [
      use([createModelAccess()], (client) => client.embed(embedding, options)),
      use([createModelAccess()], (client) => client.countTokens(counted, options)),
    ])
      expect((await toFailure(call)).kind).toBe(ErrorKind.ACCESS_DENIED);
    expect(simulator().requests).toEqual([]);
  });

  it("are retried", async () => {
    const model = "sim-text:status=503,times=1";
    const retry = [createRetry({ maxRetries: 2, baseDelay: 0 })];
    await use(retry, (client) => client.embed({ ...embedding, model }));
    expect(listAsked(simulator())).toEqual([`/v1/embeddings ${model}`, `/v1/embeddings ${model}`]);
  });

  it("go to no fallback and are not answered from a cache", async () => {
    const middleware = [
      createFallback({ targets: [{ provider: "one", model: "sim-tools" }] }),
      createCache(),
    ];
    const failed = use(middleware, (client) => client.embed({ ...embedding, model: "sim-text:status=503" }));
    expect((await toFailure(failed)).kind).toBe(ErrorKind.SERVER);
    simulator().clearRequests();
    await use(middleware, async (client) => {
      await client.complete(counted);
      await client.embed({ ...embedding, texts: ["Hello"] });
      await client.embed({ ...embedding, texts: ["Hello"] });
      const { estimated } = await client.countTokens(counted);
      expect(estimated).toBe(false);
    });
    expect(listAsked(simulator()).map((asked) => asked.split(" ")[0])).toEqual([
      "/v1/responses",
      "/v1/embeddings",
      "/v1/embeddings",
      "/v1/responses/input_tokens",
    ]);
  });

  it("spend a budget with embeddings, and not with counts", async () => {
    await use([createBudget({ window: "day", requests: 1 })], async (client) => {
      await client.countTokens(counted);
      await client.embed(embedding);
      await client.countTokens(counted);
      expect((await toFailure(client.embed(embedding))).kind).toBe(ErrorKind.QUOTA_EXCEEDED);
    });
    await use([createBudget({ window: "day", tokens: 5 })], async (client) => {
      const failure = await toFailure(
        client.embed({ model: "sim-text", tokenSequences: [{ ids: [1, 2, 3, 4, 5, 6] }] }),
      );
      expect(failure.kind).toBe(ErrorKind.QUOTA_EXCEEDED);
    });
  });

  it("say that a middleware answered in place of the provider", async () => {
    const answering: Middleware = async (request, next, options) =>
      options.operation === undefined ? next(request) : next({ ...request, model: "sim-text" });
    await use([answering], (client) => client.embed({ ...embedding, model: "sim-tools" }));
    expect(listAsked(simulator())).toEqual(["/v1/embeddings sim-text"]);
    const silent: Middleware = async (request, next) => next({ ...request, ...counted });
    const kept: Middleware = { complete: async () => use([silent], (client) => client.complete(counted)) };
    const failure = await toFailure(use([kept], (client) => client.embed(embedding)));
    expect(failure.message).toContain("instead of passing it on");
  });
});
