import http from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { openRawSocket, textFrame } from "./support/raw-web-socket.ts";
import { type AttackedSidecar, expectWithstood, useSidecars } from "./support/sidecar.ts";
import { startSizedProvider } from "./support/sized-provider.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const MIB = 1024 * 1024;

interface Answer {
  readonly status: number;
  readonly bytes: number;
  /** The beginning of the body. */
  readonly head: string;
  /** Whether the body came to its end. */
  readonly isWhole: boolean;
  readonly retryAfter: string | undefined;
}

/** Sends a request and reads the answer without keeping it: many large ones would fill this process. */
function send({ url }: AttackedSidecar, method: string, path: string, body?: object): Promise<Answer> {
  return new Promise((resolve) => {
    const headers = { "content-type": "application/json" };
    const request = http.request(`${url}${path}`, { method, headers, agent: false }, (response) => {
      let [bytes, head] = [0, ""];
      response.on("data", (chunk: Buffer) => {
        if (bytes === 0) head = chunk.subarray(0, 1000).toString();
        bytes += chunk.byteLength;
      });
      const retryAfter = response.headers["retry-after"];
      const status = response.statusCode ?? 0;
      response.on("error", () => {});
      response.on("close", () => resolve({ status, bytes, head, isWhole: response.complete, retryAfter }));
    });
    request.on("error", (error) =>
      resolve({ status: 0, bytes: 0, head: String(error), isWhole: false, retryAfter: undefined }),
    );
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function complete(sidecar: AttackedSidecar, chars: number): Promise<Answer> {
  const messages = [{ role: "ROLE_USER", content: [{ text: "Go on." }] }];
  return send(sidecar, "POST", "/outrigger.v1.InferenceService/Complete", {
    provider: "sized",
    model: `m-${chars}`,
    messages,
  });
}

function respond(sidecar: AttackedSidecar, chars: number, fields: object = {}): Promise<Answer> {
  return send(sidecar, "POST", "/v1/responses", { model: `sized/m-${chars}`, input: "Go on.", ...fields });
}

function times<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

/** Callers who read get a whole answer, or a refusal that says when to come back. None is cut off. */
function expectWholeOrRefused(answers: readonly Answer[], bytes: number): void {
  for (const answer of answers) {
    expect(answer.isWhole, answer.head).toBe(true);
    expect([200, 429], answer.head).toContain(answer.status);
    if (answer.status === 200) expect(answer.bytes).toBeGreaterThanOrEqual(bytes);
    else expect(answer.retryAfter, answer.head).toBeDefined();
  }
}

async function openSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/responses`);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return socket;
}

/** Sends a message and waits for the last event of its answer. */
function ask(socket: WebSocket, message: object): Promise<{ type: string; response?: { id: string } }> {
  socket.send(JSON.stringify({ type: "response.create", ...message }));
  return new Promise((resolve, reject) => {
    const onMessage = (data: Buffer) => {
      const type = /^\{"type":"([\w.]+)"/.exec(data.subarray(0, 60).toString())?.[1];
      if (type !== "error" && type !== "response.completed" && type !== "response.failed") return;
      socket.off("message", onMessage);
      resolve(JSON.parse(data.toString()));
    };
    socket.on("message", onMessage);
    socket.once("close", (code) => reject(new Error(`closed with ${code}`)));
  });
}

describe.each(SIZES)("memory, with $name", ({ heapMiB, maxPeakMiB }) => {
  const isSmall = heapMiB === 128;

  async function start() {
    const sized = await startSizedProvider();
    return attacks.start({ heapMiB, providers: { sized } });
  }

  it("is not exhausted by messages of WebSockets", async () => {
    const sidecar = await start();
    const message = textFrame(Buffer.alloc(31 * MIB, 0x20));
    const report = await sidecar.withstand(async () => {
      const sockets = await times(isSmall ? 8 : 64, () => openRawSocket(sidecar.url));
      for (const socket of sockets) for (const part of message) socket.write(part);
      await sleep(4000);
      for (const socket of sockets) socket.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });

  it("is not exhausted by responses that idle WebSockets may continue", async () => {
    const sidecar = await start();
    const [count, chars] = isSmall ? [28, 3 * MIB] : [37, 12 * MIB];
    const types: string[] = [];
    const report = await sidecar.withstand(async () => {
      const sockets: WebSocket[] = [];
      for (let index = 0; index < count; index++) {
        const socket = await openSocket(sidecar.url);
        const input = "x".repeat(chars);
        types.push((await ask(socket, { model: "sized/m-10", input, store: false })).type);
        sockets.push(socket);
      }
      await sleep(500);
      for (const socket of sockets) socket.terminate();
    });
    expectWithstood(report, maxPeakMiB);
    expect(new Set(types)).toEqual(new Set(["response.completed"]));
    await sidecar.expectRecovered();
  });

  it("suffices for whole answers, and refuses answers that are too large", async () => {
    const sidecar = await start();
    const chars = isSmall ? 30 * MIB : 60 * MIB;
    let answers: Answer[] = [];
    const report = await sidecar.withstand(async () => {
      answers = await times(4, () => complete(sidecar, chars));
    });
    expectWithstood(report, maxPeakMiB);
    for (const { status, head, isWhole } of answers) {
      expect(isWhole).toBe(true);
      if (status !== 200) expect(head).toMatch(/max_answer_bytes|memory/);
    }
    await sidecar.expectRecovered();
  });

  it("suffices for many callers who read large answers", async () => {
    const sidecar = await start();
    let answers: Answer[] = [];
    const report = await sidecar.withstand(async () => {
      answers = await times(isSmall ? 12 : 24, () => complete(sidecar, 4 * MIB));
    });
    expectWithstood(report, maxPeakMiB);
    expectWholeOrRefused(answers, 4 * MIB);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(2);
    await sidecar.expectRecovered();
  });

  it("suffices for many responses of a megabyte", async () => {
    const sidecar = await start();
    let answers: Answer[] = [];
    const report = await sidecar.withstand(async () => {
      answers = await times(200, () => respond(sidecar, MIB));
    });
    expectWithstood(report, maxPeakMiB);
    expectWholeOrRefused(answers, MIB);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(2);
  });

  it("is not exhausted by answers to WebSockets that do not read", async () => {
    const sidecar = await start();
    const body = { type: "response.create", model: `sized/m-${MIB}`, input: "Go on.", store: false };
    const message = textFrame(Buffer.from(JSON.stringify(body)));
    const report = await sidecar.withstand(async () => {
      const sockets = await times(200, () => openRawSocket(sidecar.url));
      for (const socket of sockets) for (const part of message) socket.write(part);
      await sleep(8000);
      for (const socket of sockets) socket.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });

  it("suffices for a large stored response and its later reads", async () => {
    const sidecar = await start();
    const answers: Answer[] = [];
    const report = await sidecar.withstand(async () => {
      const first = await respond(sidecar, isSmall ? 3 * MIB : 12 * MIB);
      expect(first.status, first.head).toBe(200);
      const id = /"id":"(resp_\w+)"/.exec(first.head)?.[1];
      answers.push(await send(sidecar, "GET", `/v1/responses/${id}`));
      answers.push(...(await times(4, () => send(sidecar, "GET", `/v1/responses/${id}`))));
      answers.push(await respond(sidecar, 30 * MIB));
    });
    expectWithstood(report, maxPeakMiB);
    expect(answers[0]?.status).toBe(200);
    expectWholeOrRefused(answers.slice(0, -1), 3 * MIB);
    expect(answers.at(-1)?.isWhole).toBe(true);
    await sidecar.expectRecovered();
  });

  it("suffices for bursts of reads of stored responses, which do not delay probes", async () => {
    const sidecar = await start();
    let answers: Answer[] = [];
    const report = await sidecar.withstand(async () => {
      const first = await respond(sidecar, 4 * MIB);
      const id = /"id":"(resp_\w+)"/.exec(first.head)?.[1];
      answers = await times(100, () => send(sidecar, "GET", `/v1/responses/${id}`));
    });
    expectWithstood(report, maxPeakMiB);
    expectWholeOrRefused(answers, 4 * MIB);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(10);
    await sidecar.expectRecovered();
  });

  it("remains available to callers who read while others do not", async () => {
    const sidecar = await start();
    let answers: Answer[] = [];
    const report = await sidecar.withstand(async () => {
      const first = await respond(sidecar, 4 * MIB);
      const id = /"id":"(resp_\w+)"/.exec(first.head)?.[1];
      const unread: Socket[] = [];
      for (let count = 0; count < 12; count++) {
        const socket = connect(Number(new URL(sidecar.url).port), "127.0.0.1").on("error", () => {});
        socket.write(`GET /v1/responses/${id} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
        unread.push(socket);
      }
      await sleep(500);
      answers = await times(4, () => send(sidecar, "GET", `/v1/responses/${id}`));
      for (const socket of unread) socket.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expectWholeOrRefused(answers, 4 * MIB);
  });
});
