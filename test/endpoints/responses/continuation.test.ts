/** A response in the background that continues after its latest complete step, in the same stream. */
import { ServerError } from "outrigger";
import { describe, expect, it } from "vitest";
import type { RunWrite } from "../../../src/runs/store.ts";
import { openMemory } from "../../runs/store/sqlite/open-store.ts";
import { wrapStore } from "../../runs/support/wrapped-store.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { startApi } from "../support/api-server.ts";
import type { ResponsesEvent } from "../support/events-in.ts";

const servers = useTestServers();

/** Reports whether a write has text of the model. */
function hasText({ events = [] }: RunWrite): boolean {
  return events.some(({ event }) => event.case === "modelEvent" && event.value.event.case === "textDelta");
}

describe("a response in the background whose store fails while the model writes", () => {
  it("ends the open item as incomplete, and has only the items of the answer that follows", async () => {
    const memory = await openMemory();
    let [isAway, wasAway] = [false, false];
    const store = wrapStore(memory, {
      write: async (write) => {
        if (isAway) throw new ServerError("the store cannot be reached");
        const result = await memory.write(write);
        // The outage begins here and not when the reader gets the text: the model could have finished by then.
        if (!wasAway && hasText(write)) {
          isAway = wasAway = true;
          setTimeout(() => {
            isAway = false;
          }, 300);
        }
        return result;
      },
    });
    const { openai } = await startApi(servers, { store });
    const stream = openai.responses.stream({
      model: "openai/sim-long:tokens=40,rate=40",
      input: "Count.",
      background: true,
    });
    const events: ResponsesEvent[] = [];
    for await (const event of stream) events.push(event as unknown as ResponsesEvent);
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
  });
});
