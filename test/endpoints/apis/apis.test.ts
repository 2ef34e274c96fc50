/**
 * The tables of docs/apis.md: which parts of a request reach a provider, and what callers get of answers and failures,
 * for each HTTP API of the sidecar and each wire API. `UPDATE_TABLES=1` writes what was found.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { type Column, columns } from "../../providers/support/columns.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";
import { type AnswerField, readField } from "./answers.ts";
import { type ApiName, createBody, FEATURES, type Feature, getPath, getStreamPath } from "./features.ts";

const page = fileURLToPath(new URL("../../../docs/apis.md", import.meta.url));

const APIS: readonly (readonly [ApiName, string])[] = [
  ["responses", "Responses"],
  ["chat", "Chat Completions"],
  ["messages", "Messages"],
  ["gemini", "Gemini"],
];

const servers = useTestServers();

/** Each table takes more than a hundred calls. */
const TABLE_TIMEOUT_MS = 120_000;

/** A request and its effect. */
interface Exchange {
  readonly status: number;
  /** Whether a warning says that something had no effect. */
  readonly isWarned: boolean;
  /** The body that the provider got, as JSON; undefined if it got none. */
  readonly sent: string | undefined;
}

async function exchange(
  server: ApiServer,
  api: ApiName,
  column: Column,
  fields: object = {},
): Promise<Exchange> {
  const { simulator } = server;
  simulator.clearRequests();
  const model = `${column.name}/${column.model}`;
  const response = await server.fetch(getPath(api, model), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...createBody(api, model), ...fields }),
  });
  const answer = (await response.json()) as { readonly warnings?: unknown };
  const isWarned = response.headers.has("outrigger-warnings") || answer.warnings !== undefined;
  const body = simulator.requests.at(-1)?.body;
  return { status: response.status, isWarned, sent: body === undefined ? undefined : JSON.stringify(body) };
}

/** Returns the cell of a feature. @throws Error if the feature was dropped without a word. */
async function findCell(
  server: ApiServer,
  api: ApiName,
  column: Column,
  { name, fields, needs = {} }: Feature,
): Promise<string> {
  const own = fields[api];
  if (own === undefined) return "";
  const plain = await exchange(server, api, column, needs[api]);
  const { status, isWarned, sent } = await exchange(server, api, column, own);
  if (status === 400) return "400";
  expect([name, status]).toEqual([name, 200]);
  if (isWarned && !plain.isWarned) return sent === plain.sent ? "warning" : "changed";
  if (sent === plain.sent) throw new Error(`${api} to ${column.name}: ${name} was dropped without a word`);
  return "✓";
}

/** Replaces the first table after a heading. */
function replaceTable(text: string, heading: string, table: string): string {
  const start = text.indexOf(`# ${heading}\n`);
  if (start < 0) throw new Error(`docs/apis.md has no section "${heading}"`);
  const begin = text.indexOf("\n| ", start) + 1;
  const end = text.indexOf("\n\n", begin);
  return `${text.slice(0, begin)}${table}${text.slice(end < 0 ? text.length - 1 : end)}`;
}

/** A whole answer, or a failure. */
interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** A pair of an HTTP API and a provider. */
class Pair {
  readonly server: ApiServer;
  readonly api: ApiName;
  readonly column: Column;

  constructor(server: ApiServer, api: ApiName, column: Column) {
    this.server = server;
    this.api = api;
    this.column = column;
  }

  /** Calls a model of the simulator. @param needs The name of a feature that the request has. */
  async call(script: string, needs?: string, fields: object = {}): Promise<Answer> {
    const response = await this.#post(script, getPath(this.api, this.#model(script)), needs, fields);
    return { status: response.status, body: await response.json() };
  }

  /** Returns the events of a stream. A connection that breaks is an error. */
  async stream(script: string): Promise<unknown[]> {
    const text = await (await this.open(script)).text();
    return [...text.matchAll(/^data: ?(\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
  }

  open(script: string, signal?: AbortSignal): Promise<Response> {
    const path = getStreamPath(this.api, this.#model(script));
    return this.#post(script, path, undefined, this.api === "gemini" ? {} : { stream: true }, signal);
  }

  read(field: AnswerField, body: unknown): (string | number)[] {
    return readField(this.api, field, body);
  }

  #model(script: string): string {
    return `${this.column.name}/${script}`;
  }

  #post(script: string, path: string, needs?: string, more: object = {}, signal?: AbortSignal) {
    const fields = FEATURES.find(({ name }) => name === needs)?.fields[this.api];
    return this.server.fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...createBody(this.api, this.#model(script)), ...fields, ...more }),
      ...(signal && { signal }),
    });
  }
}

/** The rows about answers: a name, and the function that finds the cell of a pair. */
const ANSWERS: readonly (readonly [name: string, find: (pair: Pair) => Promise<string>])[] = [
  ["text, whole and as a stream", findText],
  ["two tool calls", findCalls],
  ["text of the reasoning", findReasoning],
  ["tokens of input and output", (pair) => findCounts(pair, ["inputTokens", "outputTokens"])],
  ["tokens of the reasoning", (pair) => findCounts(pair, ["reasoningTokens"])],
  ["the limit on the output is reached", (pair) => findFinish(pair, "sim-text:stop=length")],
  ["the provider's filter ends the answer", (pair) => findFinish(pair, "sim-text:stop=content_filter")],
  ["the model refuses", (pair) => findFinish(pair, "sim-refusal")],
  ["the provider refuses the sidecar's key", (pair) => findFailure(pair, "sim-text:status=401")],
  ["the model is unknown", (pair) => findFailure(pair, "sim-text:status=404")],
  ["a rate limit", (pair) => findFailure(pair, "sim-text:status=429")],
  ["the provider fails", (pair) => findFailure(pair, "sim-text:status=500")],
  ["the provider is overloaded", (pair) => findFailure(pair, "sim-text:status=503")],
  ["the connection to the provider breaks in a stream", findCut],
  ["the caller disconnects", findCancellation],
];

async function findText(pair: Pair): Promise<string> {
  const { body } = await pair.call("sim-echo");
  const events = await pair.stream("sim-echo");
  const streamed = events.flatMap((event) => pair.read("delta", event)).join("");
  expect(streamed).toBe(pair.read("text", body).join(""));
  expect(streamed).toBe("How is the weather?");
  return "✓";
}

async function findCalls(pair: Pair): Promise<string> {
  const { body } = await pair.call("sim-tools:calls=2", "tools");
  expect(pair.read("calls", body)).toEqual(["get_weather", "get_weather"]);
  return code(pair.read("finish", body));
}

async function findReasoning(pair: Pair): Promise<string> {
  const { body } = await pair.call("sim-reasoning", "effort of the reasoning");
  expect(pair.read("text", body).join("")).not.toBe("");
  return pair.read("reasoning", body).join("") === "" ? "withheld" : "✓";
}

/** Whether counts are there. An API without a field for one has an empty cell. */
async function findCounts(pair: Pair, fields: readonly AnswerField[]): Promise<string> {
  const { body } = await pair.call("sim-reasoning", "effort of the reasoning");
  const counts = fields.flatMap((field) => pair.read(field, body));
  return counts.length === fields.length && counts.every((count) => Number(count) > 0) ? "✓" : "–";
}

/** The word for the end of an answer, or the failure. */
async function findFinish(pair: Pair, script: string): Promise<string> {
  const { status, body } = await pair.call(script);
  if (status !== 200) return `${status} ${code(pair.read("error", body))}`;
  const words = pair.read("finish", body);
  return pair.read("refusal", body).length > 0 ? `${code(words)}, \`refusal\`` : code(words);
}

async function findFailure(pair: Pair, script: string): Promise<string> {
  const { status, body } = await pair.call(script);
  expect(status).toBeGreaterThanOrEqual(400);
  const [word] = pair.read("error", body);
  return word === undefined ? String(status) : `${status} ${code([word])}`;
}

async function findCut(pair: Pair): Promise<string> {
  const events = await pair.stream("sim-long:tokens=50,cut_events=20");
  expect(events.flatMap((event) => pair.read("delta", event)).join("")).not.toBe("");
  return code(events.flatMap((event) => pair.read("streamError", event)));
}

/** The call of the provider ends when the caller is gone. */
async function findCancellation(pair: Pair): Promise<string> {
  const { simulator } = pair.server;
  simulator.clearRequests();
  const caller = new AbortController();
  const { body } = await pair.open("sim-long:tokens=2000,rate=50", caller.signal);
  await body?.getReader().read();
  caller.abort();
  await vi.waitFor(() => expect(simulator.requests.at(-1)?.aborted).toBe(true), { timeout: 10_000 });
  return "cancelled";
}

/** The first word, as code. */
function code([word]: readonly (string | number)[]): string {
  if (word === undefined) throw new Error("the answer does not say how it ended");
  return `\`${word}\``;
}

function createTable(rows: readonly (readonly string[])[]): string {
  const head = [
    `| | ${columns.map((column) => column.title).join(" | ")} |`,
    `|---|${columns.map(() => "---|").join("")}`,
  ];
  return [...head, ...rows.map((cells) => `| ${cells.join(" | ")} |`)].join("\n");
}

/** Compares a table with the page, or writes it. */
function expectTable(heading: string, rows: readonly (readonly string[])[]): void {
  const found = readFileSync(page, "utf8");
  const expected = replaceTable(found, heading, createTable(rows));
  if (process.env.UPDATE_TABLES === "1") writeFileSync(page, expected);
  else expect(found).toBe(expected);
}

describe("The table of APIs and providers", () => {
  it.each(APIS)(
    "says what %s requests keep",
    async (api, title) => {
      const aliases = Object.fromEntries(columns.map(({ model }) => [model, "sim-text"]));
      const server = await startApi(servers, { aliases });
      const rows: string[][] = [];
      for (const feature of FEATURES) {
        if (feature.fields[api] === undefined) continue;
        const cells: string[] = [];
        for (const column of columns) cells.push(await findCell(server, api, column, feature));
        rows.push([feature.name, ...cells]);
      }
      expectTable(`From ${title}`, rows);
    },
    TABLE_TIMEOUT_MS,
  );

  it.each(APIS)(
    "says what callers of %s get",
    async (api, title) => {
      const server = await startApi(servers);
      const rows: string[][] = [];
      for (const [name, find] of ANSWERS) {
        const cells: string[] = [];
        for (const column of columns) cells.push(await find(new Pair(server, api, column)));
        rows.push([name, ...cells]);
      }
      expectTable(`Answers over ${title}`, rows);
    },
    TABLE_TIMEOUT_MS,
  );
});
