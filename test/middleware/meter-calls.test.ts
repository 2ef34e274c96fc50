import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { AbortError, Client, NetworkError, RequestTimeoutError, ServerError, StreamError } from "outrigger";
import { describe, expect, it } from "vitest";
import type { SDKError } from "../../src/core/errors.ts";
import { UsageSchema } from "../../src/gen/outrigger/v1/usage_pb.ts";
import { meterCalls, type Spent } from "../../src/middleware/meter-calls.ts";
import { refusal } from "../../src/middleware/refusals.ts";
import { type Script, ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { requestFor } from "./support/providers.ts";

const estimateUsage = (inputTokens: number, outputTokens: number) =>
  create(UsageSchema, { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });

const estimate = estimateUsage(100, 50);

/** A client whose calls are metered, and what was settled. The adapter answers with 3 and 2 tokens in 6 events. */
function metered(script: Script = {}) {
  const settled: Spent[] = [];
  let reserved = 0;
  const meter = meterCalls(() => {
    reserved += 1;
    return { estimate, settle: (spent) => void settled.push(spent) };
  });
  const client = new Client({ providers: { one: new ScriptedAdapter("one", script) }, middleware: [meter] });
  return { client, settled, reserved: () => reserved };
}

async function readUpTo(client: Client, events: number): Promise<void> {
  let read = 0;
  for await (const _event of client.stream(requestFor("m"))) {
    read += 1;
    if (read === events) return;
  }
}

const reported = estimateUsage(7, 8);

describe("meterCalls()", () => {
  it.each([
    ["a failure before output", new ServerError("down"), 0],
    ["a broken connection before output", new NetworkError("lost"), 0],
    ["a failure with known usage", new ServerError("down", { usage: reported }), 15],
    ["a failure after output", new ServerError("down", { outputStarted: true }), 150],
    ["a call that its caller left", new AbortError("left"), 150],
    ["a call that ran into a time limit", new RequestTimeoutError("late"), 150],
  ] as [string, SDKError, number][])(
    "settles %s of a whole answer by the known facts",
    async (_name, error, tokens) => {
      const { client, settled } = metered({ failures: [error] });
      await expect(client.complete(requestFor("m"))).rejects.toThrow();
      expect(settled).toMatchObject([{ wasSent: true, usage: { totalTokens: tokens } }]);
    },
  );

  it("settles a call that was not sent by nothing", async () => {
    const { client, settled } = metered({ failures: [refusal(new ServerError("open"))] });
    await expect(client.complete(requestFor("m"))).rejects.toThrow();
    expect(settled).toMatchObject([{ wasSent: false, usage: { totalTokens: 0 } }]);
  });

  it.each([
    [1, 120],
    [3, 130],
  ])("settles a stream that is left after %i events by its prompt and its events", async (events, tokens) => {
    const { client, settled } = metered();
    await readUpTo(client, events);
    expect(settled).toMatchObject([{ wasSent: true, usage: { totalTokens: tokens } }]);
  });

  it("settles each call exactly once, however it ends", async () => {
    const endings = fc.record({
      isStream: fc.boolean(),
      failure: fc.constantFrom("none", "before", "after"),
      readEvents: fc.integer({ min: 1, max: 20 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(endings, { maxLength: 8 }), async (calls) => {
        for (const { isStream, failure, readEvents } of calls) {
          const script: Script = {
            ...(failure === "before" ? { failures: [new ServerError("down")] } : {}),
            ...(failure === "after" ? { breaksWith: new StreamError("cut") } : {}),
          };
          const { client, settled, reserved } = metered(script);
          const call = isStream ? readUpTo(client, readEvents) : client.complete(requestFor("m"));
          await call.then(
            () => {},
            () => {},
          );
          expect([reserved(), settled.length]).toEqual([1, 1]);
        }
      }),
      { numRuns: 50 },
    );
  });
});
