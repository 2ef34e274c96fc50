/** Calls `/v1/responses` of a sidecar, for measurements that need its answers. */
import { Pool } from "undici";

/** A caller of one sidecar. */
export interface ResponsesCaller {
  /** Creates a response. @returns Its id. */
  create(settings: object): Promise<string>;
  /** Status of a response. */
  status(id: string): Promise<string>;
  /** Waits until a response has ended. @returns Its status. */
  ended(id: string): Promise<string>;
  /** Streams a completed response. Throws if an event is missing. @returns The number of its events. */
  countEvents(id: string): Promise<number>;
  /** Reads a path, or posts JSON to it. Throws if that fails. @returns The milliseconds that it took. */
  time(path: string, body?: object): Promise<number>;
}

const POLL_MS = 250;
const CONNECTIONS = 50;

/** @param address Host and port. */
export function responsesCaller(address: string): ResponsesCaller {
  const pool = new Pool(`http://${address}`, { connections: CONNECTIONS });
  const text = async (path: string, body?: object): Promise<string> => {
    const answer = await pool.request({
      path,
      method: body === undefined ? "GET" : "POST",
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
    const content = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${content}`);
    return content;
  };
  const status = async (id: string): Promise<string> => JSON.parse(await text(`/v1/responses/${id}`)).status;
  return {
    status,
    async create(settings) {
      const body = { model: "gpt-4.1-mini", input: "Write.", ...settings };
      return JSON.parse(await text("/v1/responses", body)).id;
    },
    async ended(id) {
      for (;;) {
        const found = await status(id);
        if (found !== "queued" && found !== "in_progress") return found;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    async countEvents(id) {
      const body = await text(`/v1/responses/${id}?stream=true`);
      const numbers = [...body.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
      const gap = numbers.findIndex((number, index) => number !== index);
      if (gap !== -1) throw new Error(`${id}: event ${gap} has number ${numbers[gap]}`);
      if (!body.includes('"type":"response.completed"')) throw new Error(`${id} has no last event`);
      return numbers.length;
    },
    async time(path, body) {
      const start = performance.now();
      await text(path, body);
      return performance.now() - start;
    },
  };
}

/** Does something a number of times, some at once. @returns The results, in order. */
export async function inParallel<Result>(
  times: number,
  concurrency: number,
  run: (index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < times) {
      const index = next;
      next += 1;
      results[index] = await run(index);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return results;
}
