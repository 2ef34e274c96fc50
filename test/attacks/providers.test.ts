/** Providers that never stop, or send data that takes many times its size once it is parsed. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";

const attacks = useSidecars();

/** The smallest heap in which a sidecar is meant to run: the heap of the image in a container with 256 MiB. */
const HEAP_MIB = 160;

interface Attack {
  readonly name: string;
  /** Protocol of the provider. Default Chat Completions. */
  readonly api?: "gemini" | "anthropic-messages";
  /** The answer is one whole body instead of a stream. */
  readonly isWhole?: boolean;
  /** The text that is written first, before the text that is repeated without end. */
  readonly head: string;
  readonly piece: (index: number) => string;
  readonly includeRaw?: boolean;
  /** Setting that the error names. */
  readonly limit: string;
  /**
   * Limits of the sidecar. By default the limit on the bytes of an answer is reached first, since it follows the heap.
   */
  readonly limits?: Readonly<Record<string, string | number>>;
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (delta: object) => event({ model: "m", choices: [{ index: 0, delta }] });
const call = (id: string) => chunk({ tool_calls: [{ id, function: { name: "f", arguments: "{}" } }] });

const geminiEvent = (candidate: object) => event({ modelVersion: "m", candidates: [candidate] });
const answerPart = (part: object) => ({ content: { role: "model", parts: [part] } });
const grounded = (index: number) => ({
  ...answerPart({ text: "a" }),
  groundingMetadata: {
    groundingChunks: Array.from({ length: 300 }, (_, at) => ({
      web: { uri: `u${index}-${at}`, title: "t" },
    })),
  },
});
const message = { id: "a", type: "message", role: "assistant", model: "m", content: [], usage: {} };
const messageStart = event({ type: "message_start", message });
const messageDelta = (fields: object) => event({ type: "message_delta", delta: {}, ...fields });

const ATTACKS: readonly Attack[] = [
  {
    name: "a stream of text",
    head: "",
    piece: () => chunk({ content: "x".repeat(10_000) }),
    limit: "max_answer_bytes",
  },
  {
    name: "a line",
    head: "data: ",
    piece: () => "x".repeat(10_000),
    limit: "max_answer_event_bytes",
    limits: { max_answer_event_bytes: "4MiB" },
  },
  {
    name: "an event of many lines",
    head: "",
    piece: () => "data: xxxxxxxxxxxxxxxx\n",
    limit: "max_answer_event_bytes",
    limits: { max_answer_event_bytes: "4MiB" },
  },
  {
    name: "chunks before a model's name, with include_raw",
    head: "",
    piece: (index) => event({ choices: [], index }),
    includeRaw: true,
    limit: "max_answer_events",
    limits: { max_answer_events: 100_000 },
  },
  { name: "tool calls with one id", head: "", piece: () => call("a"), limit: "max_answer_parts" },
  { name: "tool calls", head: "", piece: (index) => call(`a${index}`), limit: "max_answer_parts" },
  {
    name: "fields of one tool call",
    head: call("a"),
    piece: (index) => chunk({ tool_calls: [{ id: "a", [`field${index}`]: 1 }] }),
    limit: "max_answer_bytes",
  },
  {
    name: "small values in a stream",
    head: "",
    piece: () => event({ model: "m", list: Array.from({ length: 2000 }, () => ({})) }),
    limit: "max_answer_json_values",
  },
  {
    name: "citations of no content",
    head: chunk({ content: "a" }),
    piece: () => chunk({ annotations: Array.from({ length: 2000 }, () => ({})) }),
    limit: "max_answer_parts",
  },
  {
    name: "sources that are repeated in every event of Gemini",
    api: "gemini",
    head: "",
    piece: () => geminiEvent(grounded(0)),
    limit: "max_answer_json_values",
    limits: { max_answer_json_values: 100_000 },
  },
  {
    name: "sources that are new in every event of Gemini",
    api: "gemini",
    head: "",
    piece: (index) => geminiEvent(grounded(index)),
    limit: "max_answer_parts",
  },
  {
    name: "a segment of Gemini's with very many sources",
    api: "gemini",
    head: "",
    piece: () => {
      const groundingChunkIndices = Array.from({ length: 20_000 }, (_, index) => index);
      const groundingMetadata = { groundingSupports: [{ groundingChunkIndices }] };
      return geminiEvent({ ...answerPart({ text: "a" }), groundingMetadata });
    },
    limit: "max_answer_bytes",
  },
  {
    name: "new fields of a candidate of Gemini's",
    api: "gemini",
    head: "",
    piece: (index) => geminiEvent({ [`field${index}`]: 1 }),
    limit: "max_answer_parts",
  },
  {
    name: "new fields of one tool call of Gemini's",
    api: "gemini",
    head: geminiEvent(answerPart({ functionCall: { name: "f", willContinue: true } })),
    piece: (index) => geminiEvent(answerPart({ functionCall: { willContinue: true, [`field${index}`]: 1 } })),
    limit: "max_answer_bytes",
  },
  {
    name: "new fields of a message of Anthropic's",
    api: "anthropic-messages",
    head: messageStart,
    piece: (index) => messageDelta({ [`field${index}`]: 1 }),
    limit: "max_answer_bytes",
  },
  {
    name: "new counts of Anthropic's, with include_raw",
    api: "anthropic-messages",
    head: messageStart,
    piece: (index) => messageDelta({ usage: { [`field${index}`]: 1 } }),
    includeRaw: true,
    limit: "max_answer_bytes",
  },
  {
    name: "new fields of a block of Anthropic's",
    api: "anthropic-messages",
    head:
      messageStart + event({ type: "content_block_start", index: 0, content_block: { type: "compaction" } }),
    piece: (index) =>
      event({
        type: "content_block_delta",
        index: 0,
        delta: { type: "compaction_delta", [`field${index}`]: 1 },
      }),
    limit: "max_answer_bytes",
  },
  {
    name: "small values in a whole answer",
    isWhole: true,
    head: '{"choices":[',
    piece: () => "{},".repeat(5000),
    limit: "max_answer_bytes",
  },
];

/** A provider that writes answers without end, as fast as they are read. */
async function serve({ isWhole, head, piece }: Attack): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    response.on("error", () => {});
    response.writeHead(200, { "content-type": isWhole ? "application/json" : "text/event-stream" });
    response.write(head);
    let index = 0;
    const write = () => {
      while (!response.destroyed) {
        let text = "";
        while (text.length < 65_536) text += piece(index++);
        if (!response.write(text)) return;
      }
    };
    response.on("drain", write);
    write();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Serves attacks. Returns their entries of `providers` in the configuration, and a function that ends the attacks. */
async function serveAll(list: readonly Attack[]) {
  const servers = await Promise.all(list.map(serve));
  const providers = servers.map((server, index) => {
    const { port } = server.address() as AddressInfo;
    const api = list[index]?.api ?? "openai-chat";
    // The adapters of the other APIs add the version themselves.
    const path = api.startsWith("openai") ? "/v1" : "";
    const entry = { api, api_key: "sk-attacker", base_url: `http://127.0.0.1:${port}${path}` };
    return [`attacker-${index}`, entry];
  });
  const close = () => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  };
  return { providers: Object.fromEntries(providers), close };
}

/** Calls an attacker. Returns the text of the answer, which has the error. */
async function ask(url: string, provider: string, { isWhole, includeRaw = false }: Attack): Promise<string> {
  const request = {
    provider,
    model: "m",
    messages: [{ role: "ROLE_USER", content: [{ text: "hi" }] }],
  };
  const body = Buffer.from(JSON.stringify({ ...request, includeRaw }));
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]);
  frame.writeUInt32BE(body.length, 1);
  const method = isWhole ? "Complete" : "Stream";
  const response = await fetch(`${url}/outrigger.v1.InferenceService/${method}`, {
    method: "POST",
    headers: { "content-type": isWhole ? "application/json" : "application/connect+json" },
    body: isWhole ? body : frame,
  });
  const tail: string[] = [];
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    tail.push(decoder.decode(bytes, { stream: true }));
    if (tail.length > 8) tail.shift();
  }
  return tail.join("");
}

/** Attacks whose sidecars have the same limits. */
const GROUPS = Object.entries(Object.groupBy(ATTACKS, ({ limits = {} }) => JSON.stringify(limits)));

describe.each(GROUPS)("an endless answer, with the limits %s", (limits, list = []) => {
  let close: (() => void) | undefined;
  const shared = attacks.share(async () => {
    const served = await serveAll(list);
    close = served.close;
    return { heapMiB: HEAP_MIB, providers: served.providers, config: { limits: JSON.parse(limits) } };
  });
  afterAll(() => close?.());

  it.each(list.map((attack, index) => ({ ...attack, index })))(
    "is aborted at a limit: $name",
    async (attack) => {
      const sidecar = shared();
      let told = "";
      expectWithstood(
        await sidecar.withstand(async () => {
          told = await ask(sidecar.url, `attacker-${attack.index}`, attack);
        }),
      );
      expect(told).toContain(attack.limit);
      await sidecar.expectRecovered();
    },
  );
});
