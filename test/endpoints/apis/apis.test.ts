/**
 * The table of docs/apis.md: which parts of a request reach a provider, for each HTTP API of the sidecar and each wire API.
 * `UPDATE_TABLES=1` writes what was found.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Column, columns } from "../../providers/support/columns.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";
import { type ApiName, createBody, FEATURES, type Feature, getPath } from "./features.ts";

const page = fileURLToPath(new URL("../../../docs/apis.md", import.meta.url));

const APIS: readonly (readonly [ApiName, string])[] = [
  ["responses", "Responses"],
  ["chat", "Chat Completions"],
  ["messages", "Messages"],
  ["gemini", "Gemini"],
];

const servers = useTestServers();

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

function replaceTable(text: string, title: string, table: string): string {
  const start = text.indexOf(`## From ${title}\n`);
  if (start < 0) throw new Error(`docs/apis.md has no section "From ${title}"`);
  const begin = text.indexOf("\n| ", start) + 1;
  const end = text.indexOf("\n\n", begin);
  return `${text.slice(0, begin)}${table}${text.slice(end < 0 ? text.length - 1 : end)}`;
}

describe("The table of APIs and providers", () => {
  it.each(APIS)("says what %s requests keep", async (api, title) => {
    const aliases = Object.fromEntries(columns.map(({ model }) => [model, "sim-text"]));
    const server = await startApi(servers, { aliases });
    const lines = [
      `| | ${columns.map((column) => column.title).join(" | ")} |`,
      `|---|${columns.map(() => "---|").join("")}`,
    ];
    for (const feature of FEATURES) {
      if (feature.fields[api] === undefined) continue;
      const cells: string[] = [];
      for (const column of columns) cells.push(await findCell(server, api, column, feature));
      lines.push(`| ${feature.name} | ${cells.join(" | ")} |`);
    }
    const found = readFileSync(page, "utf8");
    const expected = replaceTable(found, title, lines.join("\n"));
    if (process.env.UPDATE_TABLES === "1") writeFileSync(page, expected);
    else expect(found).toBe(expected);
  });
});
