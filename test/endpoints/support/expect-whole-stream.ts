import { expect } from "vitest";
import { mistakesOfEvent } from "../schemas/validate.ts";
import type { ResponsesEvent } from "./events-in.ts";

/** A text that arrives in deltas, as far as the stream has shown it. */
interface OpenText {
  text: string;
  done: boolean;
}

interface Item {
  readonly type: string;
  readonly id?: string;
  readonly content?: readonly unknown[];
  readonly summary?: readonly unknown[];
  readonly arguments?: string;
  readonly input?: string;
}

interface OpenItem {
  readonly added: Item;
  done: Item | undefined;
  /** Texts by kind and index, such as `output_text 0`. */
  readonly texts: Map<string, OpenText>;
  /** Content and summary parts that were added and not done. */
  readonly openParts: Set<string>;
  contentParts: number;
  summaryParts: number;
}

const terminal = ["response.completed", "response.incomplete", "response.failed"];

/** The field that carries the whole text in the event that ends its deltas, by the event's type without `.done`. */
const wholeText: Readonly<Record<string, string>> = {
  "response.output_text": "text",
  "response.refusal": "refusal",
  "response.reasoning_text": "text",
  "response.reasoning_summary_text": "text",
  "response.function_call_arguments": "arguments",
  "response.mcp_call_arguments": "arguments",
  "response.custom_tool_call_input": "input",
  "response.code_interpreter_call_code": "code",
};

/**
 * Fails the test if a stream of `/v1/responses` is not whole: if an event is not valid by OpenAI's schemas, a
 * sequence number is missing, an index or an item id is wrong, something is opened twice, not closed, or changed after
 * it was closed, deltas are not the text that ends them, or the final response does not have the items of the stream.
 *
 * @param findMistakes Finds the mistakes in an event. By default, fields that OpenAI does not publish are mistakes.
 * @returns The final response.
 */
export function expectWholeStream(
  events: readonly ResponsesEvent[],
  findMistakes: (event: ResponsesEvent) => readonly string[] = mistakesOfEvent,
): Record<string, unknown> {
  expect(events.flatMap(findMistakes)).toEqual([]);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  expect(events[0]?.type).toBe("response.created");
  for (const once of ["response.created", "response.in_progress"]) {
    expect(
      events.filter(({ type }) => type === once),
      once,
    ).toHaveLength(1);
  }
  expect(events.filter(({ type }) => terminal.includes(type))).toEqual(events.slice(-1));
  const items: OpenItem[] = [];
  for (const event of events) follow(event, items);
  for (const [index, item] of items.entries()) {
    expect(item.done, `item ${index} is done`).toBeDefined();
    expect([...item.openParts], `parts of item ${index} that are not done`).toEqual([]);
    expect([...item.texts].filter(([, { done }]) => !done)).toEqual([]);
  }
  const final = events.at(-1)?.response as Record<string, unknown>;
  const output = final.output as Item[];
  expect(output.map(withoutEncrypted)).toEqual(items.map(({ done }) => done && withoutEncrypted(done)));
  return final;
}

function follow(event: ResponsesEvent, items: OpenItem[]): void {
  if (event.output_index === undefined) return;
  const index = Number(event.output_index);
  const at = `event ${event.sequence_number} (${event.type})`;
  if (event.type === "response.output_item.added") {
    expect(index, at).toBe(items.length);
    items.push(openItem(event.item as Item));
    return;
  }
  const item = items[index];
  if (item === undefined) throw new Error(`${at}: output item ${index} was not added`);
  expect(item.done, `${at}: item ${index} is not done yet`).toBeUndefined();
  if (event.item_id !== undefined) expect(event.item_id, at).toBe(item.added.id);
  if (event.type === "response.output_item.done") finishItem(item, event.item as Item, at);
  else if (event.type.includes("_part.")) followPart(item, event, at);
  else followText(item, event, at);
}

function openItem(added: Item): OpenItem {
  return { added, done: undefined, texts: new Map(), openParts: new Set(), contentParts: 0, summaryParts: 0 };
}

function finishItem(item: OpenItem, done: Item, at: string): void {
  expect(done.id, at).toBe(item.added.id);
  expect(done.type, at).toBe(item.added.type);
  if (done.type === "message") expect(done.content?.length, at).toBe(item.contentParts);
  if (item.summaryParts > 0) expect(done.summary?.length, at).toBe(item.summaryParts);
  for (const [key, { text }] of item.texts) expect(collectTexts(done), `${at}: ${key}`).toContain(text);
  item.done = done;
}

function followPart(item: OpenItem, event: ResponsesEvent, at: string): void {
  const isSummary = event.type.includes("reasoning_summary");
  const key = isSummary ? `summary ${event.summary_index}` : `content ${event.content_index}`;
  if (event.type.endsWith(".added")) {
    expect(isSummary ? event.summary_index : event.content_index, at).toBe(
      isSummary ? item.summaryParts++ : item.contentParts++,
    );
    item.openParts.add(key);
    return;
  }
  expect(item.openParts.delete(key), `${at}: the part is open`).toBe(true);
}

function followText(item: OpenItem, event: ResponsesEvent, at: string): void {
  const kind = event.type.replace(/\.(delta|done)$/, "");
  const field = wholeText[kind];
  if (field === undefined) return;
  const key = `${kind} ${event.content_index ?? event.summary_index ?? ""}`;
  const open = item.texts.get(key) ?? { text: "", done: false };
  expect(open.done, `${at}: the text is not done yet`).toBe(false);
  if (event.type.endsWith(".delta")) item.texts.set(key, { text: open.text + event.delta, done: false });
  else {
    expect(event[field], `${at}: the deltas`).toBe(open.text);
    item.texts.set(key, { text: open.text, done: true });
  }
}

/** Every text of an item. */
function collectTexts(item: Item): unknown[] {
  const parts = [...(item.content ?? []), ...(item.summary ?? [])] as Record<string, unknown>[];
  const fields = item as unknown as Record<string, unknown>;
  return [
    ...parts.flatMap(({ text, refusal }) => [text, refusal]),
    fields.arguments,
    fields.input,
    fields.code,
  ];
}

/** The API encrypts reasoning again each time it sends it. */
function withoutEncrypted(item: Item): object {
  return { ...item, encrypted_content: undefined };
}
