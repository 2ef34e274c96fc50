/** Bodies of the providers' own APIs, which become much more in memory than they are on the wire. */
import { describe, expect, it } from "vitest";
import { startProvider, WHOLE_ANSWER } from "./support/provider.ts";
import { type AttackedSidecar, expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const MIB = 1024 * 1024;

/** Requests with a content: a text, or JSON text of something else. */
const APIS = [
  ["/v1/responses", (content: string) => `{"model":"sink/m","store":false,"input":${content}}`],
  [
    "/v1/chat/completions",
    (content: string) => `{"model":"sink/m","messages":[{"role":"user","content":${content}}]}`,
  ],
  [
    "/v1/messages",
    (content: string) =>
      `{"model":"sink/m","max_tokens":9,"messages":[{"role":"user","content":${content}}]}`,
  ],
  [
    "/v1/messages/count_tokens",
    (content: string) => `{"model":"sink/m","messages":[{"role":"user","content":${content}}]}`,
  ],
  [
    "/v1beta/models/sink/m:generateContent",
    (content: string) => `{"contents":[{"role":"user","parts":[{"text":${content}}]}]}`,
  ],
  ["/v1/embeddings", (content: string) => `{"model":"sink/m","input":${content}}`],
] as const;

/** Statuses of requests that are refused: too large, a mistake, over a limit, or no memory at the moment. */
const REFUSED = [400, 413, 429, 503, 529];

async function post({ url }: AttackedSidecar, path: string, body: string): Promise<number> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}

describe.each(SIZES)("bodies of HTTP APIs, with $name", ({ heapMiB, maxPeakMiB }) => {
  async function start(): Promise<AttackedSidecar> {
    const sink = await startProvider((response) => response.end(WHOLE_ANSWER));
    return attacks.start({ heapMiB, providers: { sink } });
  }

  it("of 20 MiB are served or refused if eight of them arrive at once", async () => {
    const sidecar = await start();
    const content = `"${"x".repeat(20 * MIB)}"`;
    for (const [path, toBody] of APIS) {
      const body = toBody(content);
      let statuses: number[] = [];
      const report = await sidecar.withstand(async () => {
        statuses = await Promise.all(Array.from({ length: 8 }, () => post(sidecar, path, body)));
      });
      expectWithstood(report, maxPeakMiB);
      expect([path, statuses.filter((status) => status !== 200 && !REFUSED.includes(status))]).toEqual([
        path,
        [],
      ]);
      expect([path, statuses.some((status) => REFUSED.includes(status))]).toEqual([path, true]);
    }
    await sidecar.expectRecovered();
  });

  it("of very many or very deep values are refused", async () => {
    const sidecar = await start();
    const contents = [
      `[${"[],".repeat(3 * MIB)}[]]`,
      `[${'{"":0},'.repeat(MIB)}{}]`,
      "[".repeat(2 * MIB) + "]".repeat(2 * MIB),
    ];
    for (const [path, toBody] of APIS) {
      const statuses: number[] = [];
      const report = await sidecar.withstand(async () => {
        for (const content of contents) statuses.push(await post(sidecar, path, toBody(content)));
      });
      expectWithstood(report, maxPeakMiB);
      expect([path, statuses.filter((status) => !REFUSED.includes(status))]).toEqual([path, []]);
    }
    await sidecar.expectRecovered();
  });
});
