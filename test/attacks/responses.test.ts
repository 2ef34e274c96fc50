import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { startProvider, WHOLE_ANSWER } from "./support/provider.ts";
import { type AttackedSidecar, expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const MIB = 1024 * 1024;

/** Answers when several requests have arrived. */
function startSlowProvider() {
  return startProvider((response) => {
    setTimeout(() => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(WHOLE_ANSWER);
    }, 1000);
  });
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function post({ url }: AttackedSidecar, path: string, body: object): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

/** Creates a conversation with a large item. Returns both ids. */
async function createConversation(sidecar: AttackedSidecar, bytes: number) {
  const items = [{ type: "message", role: "user", content: "x".repeat(bytes) }];
  const { text } = await post(sidecar, "/v1/conversations", { items });
  const { id } = JSON.parse(text);
  const page = await fetch(`${sidecar.url}/v1/conversations/${id}/items`);
  const { data } = JSON.parse(await page.text());
  return { conversationId: String(id), itemId: String(data[0].id) };
}

/** A request of HTTP/1.1 as it is sent. */
function toRequest(method: string, path: string, body: string): string {
  const head = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n`;
  return `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

function countAnswers(answers: readonly Answer[], ...statuses: number[]): number {
  return answers.filter(({ status }) => statuses.includes(status)).length;
}

const RUNS = { store: "memory", memory_size: "64MiB" };

describe.each(SIZES)("stored responses, with $name", ({ heapMiB, maxPeakMiB }) => {
  it("refuses small requests that continue a large response if too many arrive at once", async () => {
    const slow = await startSlowProvider();
    const sidecar = await attacks.start({ heapMiB, providers: { slow }, config: { runs: RUNS } });
    let answers: Answer[] = [];
    const report = await sidecar.withstand(async () => {
      const first = await post(sidecar, "/v1/responses", { model: "slow/m", input: "x".repeat(3 * MIB) });
      const previous_response_id = JSON.parse(first.text).id;
      const next = { model: "slow/m", input: "Go on.", previous_response_id };
      answers = await Promise.all(Array.from({ length: 100 }, () => post(sidecar, "/v1/responses", next)));
    });
    expectWithstood(report, maxPeakMiB);
    expect(countAnswers(answers, 200)).toBeGreaterThan(0);
    expect(countAnswers(answers, 429)).toBeGreaterThan(0);
    expect(countAnswers(answers, 200, 429)).toBe(answers.length);
  });

  it("refuses small requests that inherit large tools if too many arrive at once", async () => {
    const slow = await startSlowProvider();
    const sidecar = await attacks.start({ heapMiB, providers: { slow }, config: { runs: RUNS } });
    let answers: Answer[] = [];
    const report = await sidecar.withstand(async () => {
      const parameters = { type: "object", properties: {} };
      const tools = [{ type: "function", name: "f", description: "x".repeat(3 * MIB), parameters }];
      const first = await post(sidecar, "/v1/responses", { model: "slow/m", input: "Go.", tools });
      const previous_response_id = JSON.parse(first.text).id;
      const next = { model: "slow/m", input: "Go on.", previous_response_id };
      answers = await Promise.all(Array.from({ length: 100 }, () => post(sidecar, "/v1/responses", next)));
    });
    expectWithstood(report, maxPeakMiB);
    expect(countAnswers(answers, 200)).toBeGreaterThan(0);
    expect(countAnswers(answers, 429)).toBeGreaterThan(0);
    expect(countAnswers(answers, 200, 429)).toBe(answers.length);
  });

  it("refuses a request that refers to one item many times", async () => {
    const slow = await startSlowProvider();
    const sidecar = await attacks.start({ heapMiB, providers: { slow }, config: { runs: RUNS } });
    let answer: Answer | undefined;
    const report = await sidecar.withstand(async () => {
      const { itemId } = await createConversation(sidecar, 2 * MIB);
      const input = Array.from({ length: 5000 }, () => ({ type: "item_reference", id: itemId }));
      answer = await post(sidecar, "/v1/responses", { model: "slow/m", input });
    });
    expectWithstood(report, maxPeakMiB);
    expect(answer?.status).toBe(400);
    expect(answer?.text).toContain("input[1].id");
  });

  it.each([
    ["/v1", (id: string) => toRequest("GET", `/v1/conversations/${id}/items`, "")],
    [
      "Connect",
      (id: string) =>
        toRequest(
          "POST",
          "/outrigger.v1.ThreadService/ListMessages",
          JSON.stringify({ threadId: id.replace("conv_", "thread_") }),
        ),
    ],
  ])("cuts off large answers of %s that nobody reads", async (_api, requestFor) => {
    const sidecar = await attacks.start({ heapMiB, config: { runs: RUNS } });
    let cutOff = 0;
    const report = await sidecar.withstand(async () => {
      const { conversationId } = await createConversation(sidecar, 12 * MIB);
      const request = requestFor(conversationId);
      const sockets: Socket[] = [];
      for (let count = 0; count < 40; count++) {
        const socket = connect(Number(new URL(sidecar.url).port), "127.0.0.1").on("error", () => {});
        socket.write(request);
        sockets.push(socket);
        await sleep(200);
      }
      await sleep(3000);
      for (const socket of sockets) socket.on("close", () => (cutOff += 1)).resume();
      await sleep(2000);
      for (const socket of sockets) socket.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    expect(cutOff).toBeGreaterThan(0);
  });
});
