/** The benchmark compares programs that answer alike, so a change of our answers has to reach each program. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import {
  createImplementation,
  ENTRY_POINTS,
  IMPLEMENTATION_NAMES,
  type Implementation,
} from "../../bench/implementations/implementation.ts";
import { killAll } from "../../bench/processes.ts";
import { checkAnswers, type StartUpstream } from "../../bench/self-check.ts";

interface Script {
  readonly headers: Readonly<Record<string, string>>;
  readonly answer: string;
  readonly events: readonly string[];
}

/** Stands for the load generator's upstream, which needs Go. */
function startScripted(change: (script: Script) => Script = (script) => script): StartUpstream {
  return async ({ script: file }) => {
    const { headers, answer, events } = change(JSON.parse(await readFile(file, "utf8")));
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      const isStream = JSON.parse(body).stream === true;
      const type = isStream ? "text/event-stream" : "application/json";
      response.writeHead(200, { ...headers, "content-type": type });
      response.end(isStream ? events.join("") : answer);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return {
      address: `127.0.0.1:${port}`,
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  };
}

const fromSources = (name: (typeof IMPLEMENTATION_NAMES)[number]): Implementation =>
  createImplementation(name, ENTRY_POINTS[name], []);

describe("the programs of the benchmark", () => {
  afterAll(killAll);

  it("answer alike", { timeout: 120_000 }, async () => {
    await checkAnswers(IMPLEMENTATION_NAMES.map(fromSources), startScripted());
  });

  it("are compared by what they answer", { timeout: 120_000 }, async () => {
    // The minimal program knows no refusals.
    const refuse = (text: string) => text.replaceAll('"type":"output_text"', '"type":"refusal"');
    const start = startScripted((script) => ({
      ...script,
      answer: refuse(script.answer),
    }));
    const check = checkAnswers([fromSources("outrigger"), fromSources("minimal")], start);
    await expect(check).rejects.toThrow("minimal answers differently");
  });
});
