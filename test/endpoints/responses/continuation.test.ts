/** A response in the background whose sidecar stops: another one continues it, in the same stream. */
import { describe, expect, it } from "vitest";
import { createRunEngine } from "../../../src/runs/run-engine.ts";
import { openMemory } from "../../runs/store/sqlite/open-store.ts";
import { sharedStore } from "../../runs/support/wrapped-store.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { startApi } from "../support/api-server.ts";
import type { ResponsesEvent } from "../support/events-in.ts";

const servers = useTestServers();

describe("a response in the background whose sidecar stops while the model writes", () => {
  it("ends the open item as incomplete, and has only the items of the answer that follows", async () => {
    const store = await openMemory();
    const { openai, engine, client } = await startApi(servers, { store: sharedStore(store) });
    const stream = openai.responses.stream({
      model: "openai/sim-long:tokens=40,rate=100",
      input: "Count.",
      background: true,
    });
    const events: ResponsesEvent[] = [];
    let drained: Promise<void> | undefined;
    for await (const event of stream) {
      events.push(event as unknown as ResponsesEvent);
      if (event.type !== "response.output_text.delta" || drained !== undefined) continue;
      drained = engine.drain();
      const other = createRunEngine({ client, store: sharedStore(store) });
      servers.onEnd(() => other.close());
    }
    await drained;
    const final = await stream.finalResponse();
    expect(final.status).toBe("completed");
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    const items = events.filter(({ type }) => type === "response.output_item.done");
    expect(items).toMatchObject([
      { output_index: 0, item: { type: "message", status: "incomplete" } },
      { output_index: 1, item: { type: "message", status: "completed" } },
    ]);
    const ids = items.map(({ item }) => (item as { id: string }).id);
    expect(new Set(ids).size).toBe(2);
    expect(final.output).toMatchObject([items[1]?.item]);
    const { output } = await openai.responses.retrieve(final.id);
    expect(output).toEqual([items[1]?.item]);
    const { data } = await openai.responses.inputItems.list(final.id);
    expect(data).toHaveLength(1);
    const next = await openai.responses.create({
      model: "openai/sim-text",
      input: [
        { type: "item_reference", id: ids[1] ?? "" },
        { role: "user", content: "And?" },
      ],
    });
    expect(next.status).toBe("completed");
    servers.onEnd(() => store.close());
  });
});
